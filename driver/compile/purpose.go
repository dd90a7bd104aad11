package compile

// What a workbench compiles for decides what it may leave out: a build proves what it takes, a
// search measures first.

// A purpose is what a workbench compiles for.
type purpose uint8

const (
	forBuild       purpose = iota // the whole file, proved; the zero value
	forOne                        // a file with the one kernel that is asked for
	forMeasuring                  // the same, of variants that nobody vouches for yet
	forDraft                      // the same, of variants that may be drafts (draft.go)
	forPlainCopy                  // the same, with guards inside the kernel that never hold
	forProof                      // what was made for measuring is to be proved
	forDraftsProof                // what was made from a draft, as what it is
	forPin                        // proved, in the file; kernels without a recipe need not be in it
)

// oneKernel: a file with the one kernel, and what ptxas -v says of it.
func (m purpose) oneKernel() bool { return m != forBuild && m != forPin }

// measures: variants that nobody vouches for are compiled all the same.
func (m purpose) measures() bool {
	return m == forMeasuring || m == forDraft || m == forPlainCopy
}

// drafts: source variants may be drafts.
func (m purpose) drafts() bool { return m == forDraft || m == forDraftsProof || m == forPin }

// proof is the mode in which what was made in this one is proved.
func (m purpose) proof() purpose {
	if m.drafts() {
		return forDraftsProof
	}
	return forProof
}
