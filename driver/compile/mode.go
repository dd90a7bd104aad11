package compile

// What a workbench compiles for decides what it may leave out: a build proves what it takes, a
// search measures first.

// A Mode is what a workbench compiles for.
type Mode uint8

const (
	ForBuild       Mode = iota // the whole file, proved; the zero value
	ForOne                     // a file with the one kernel that is asked for
	ForMeasuring               // the same, of variants that nobody vouches for yet
	ForDraft                   // the same, of variants that may be drafts (draft.go)
	ForPlainCopy               // the same, with guards inside the kernel that never hold
	ForProof                   // what was made for measuring is to be proved
	ForDraftsProof             // what was made from a draft, as what it is
	ForPin                     // proved, in the file; kernels without a recipe need not be in it
)

// oneKernel: a file with the one kernel, and what ptxas -v says of it.
func (m Mode) oneKernel() bool { return m != ForBuild && m != ForPin }

// measures: variants that nobody vouches for are compiled all the same.
func (m Mode) measures() bool {
	return m == ForMeasuring || m == ForDraft || m == ForPlainCopy
}

// proves: what is compiled is to be proved.
func (m Mode) proves() bool { return m == ForProof || m == ForDraftsProof || m == ForPin }

// drafts: source variants may be drafts.
func (m Mode) drafts() bool { return m == ForDraft || m == ForDraftsProof || m == ForPin }

// proof is the mode in which what was made in this one is proved.
func (m Mode) proof() Mode {
	if m.drafts() {
		return ForDraftsProof
	}
	return ForProof
}
