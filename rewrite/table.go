package rewrite

import (
	"fmt"
	"slices"
	"sort"
)

// The table of levers, and the order of the PTX passes with its reasons.

// Exactness says how sure it is that a changed kernel computes the same bits.
type Exactness uint8

// From the strongest promise to the weakest.
const (
	ByConstruction Exactness = iota // the arithmetic instructions are the same: hints, register counts
	Checked                         // a compiler works on the arithmetic anew: compared on the launches that were seen
	Approximate                     // other results are intended, within a bound
)

func (e Exactness) String() string {
	switch e {
	case ByConstruction:
		return "construction"
	case Checked:
		return "checked"
	}
	return "approximate"
}

// ParseExactness reads what String prints.
func ParseExactness(s string) (Exactness, error) {
	for e := ByConstruction; e <= Approximate; e++ {
		if e.String() == s {
			return e, nil
		}
	}
	return 0, fmt.Errorf("exactness %q: it is construction, checked or approximate", s)
}

// Stage says where a lever acts.
type Stage uint8

// In the order of a build.
const (
	Source Stage = iota + 1 // the preprocessed device code, in front of cicc
	PTX                     // in front of ptxas
	Flag                    // a flag of ptxas: holds for all kernels of the file
)

// A Pass is one lever.
type Pass struct {
	Lever string
	Stage Stage
	Exact Exactness
	Sites bool                                // takes lever@site=value
	Doc   string                              // one sentence, for people
	apply func(k *kernel, terms []Term) error // PTX stage: all terms of the lever together
}

// passes, in the order in which those of the PTX stage run.
var passes = []*Pass{
	{Lever: "unroll", Stage: Source, Exact: Checked, Sites: true, Doc: "unroll loops by a factor"},
	{Lever: "spec", Stage: Source, Exact: Checked, Doc: "a second entry for values that launches have, chosen by the host; the recipe is for that entry alone"},
	{Lever: "guard", Stage: Source, Exact: Checked, Doc: "a copy of the body for values that launches have, behind a guard inside the kernel"},
	{Lever: "maxnreg", Stage: PTX, Exact: ByConstruction, Doc: "registers per thread", apply: maxnreg},
	{Lever: "nounroll", Stage: PTX, Exact: Checked, Doc: "off: ptxas may unroll loops that cicc told it not to", apply: nounroll},
	{Lever: "ld", Stage: PTX, Exact: ByConstruction, Sites: true, Doc: "cache policy of loads from global memory", apply: cacheLoads},
	{Lever: "st", Stage: PTX, Exact: ByConstruction, Sites: true, Doc: "cache policy of stores to global memory", apply: cacheStores},
	{Lever: "bypass", Stage: PTX, Exact: Checked, Doc: "warps from this number on load past the L1 cache", apply: bypass},
	{Lever: "smemspill", Stage: PTX, Exact: ByConstruction, Doc: "on: registers are spilled to shared memory first", apply: smemspill},
	{Lever: "ptxas", Stage: Flag, Exact: Checked, Doc: "flags of ptxas, for the whole file"},
}

// order says which pass must run before which, and why; init checks the table against it.
var order = []struct{ before, after, because string }{
	{"ld", "bypass", "a load that was given a policy of its own keeps it; bypass takes the others"},
	{"ld", "smemspill", "access numbers count the loads of the kernel as nvcc gave it"},
	{"st", "smemspill", "access numbers count the stores of the kernel as nvcc gave it"},
	{"bypass", "smemspill", "the pragma stands in front of everything"},
	{"maxnreg", "smemspill", "what is spilled is decided by the register count"},
}

var byLever = make(map[string]*Pass, len(passes))

func init() {
	at := make(map[string]int)
	for i, p := range passes {
		if _, ok := byLever[p.Lever]; ok {
			panic("rewrite: lever " + p.Lever + " stands twice in the table")
		}
		if (p.Stage == PTX) != (p.apply != nil) {
			panic("rewrite: lever " + p.Lever + " has a pass where it should have none, or none where it should")
		}
		byLever[p.Lever], at[p.Lever] = p, i
	}
	for _, o := range order {
		b, okB := at[o.before]
		a, okA := at[o.after]
		if !okB || !okA || b >= a {
			panic(fmt.Sprintf("rewrite: %s must run before %s, because %s", o.before, o.after, o.because))
		}
	}
}

// Levers returns the table, for reports.
func Levers() []Pass {
	out := make([]Pass, len(passes))
	for i, p := range passes {
		out[i] = *p
	}
	return out
}

// Exactness is the weakest promise among the recipe's terms; ByConstruction for nvcc's own compile, Approximate where a
// lever is not known.
func (r Recipe) Exactness() Exactness {
	worst := ByConstruction
	for _, t := range r.Terms {
		e := Approximate
		if p := byLever[t.Lever]; p != nil {
			e = p.Exact
		}
		worst = max(worst, e)
	}
	return worst
}

// Source returns the terms that act on the source.
func (r Recipe) Source() Recipe { return r.at(Source) }

// PTX returns the terms that act on the PTX.
func (r Recipe) PTX() Recipe { return r.at(PTX) }

// Flag returns the terms that act as flags of ptxas.
func (r Recipe) Flag() Recipe { return r.at(Flag) }

func (r Recipe) at(s Stage) Recipe {
	var out Recipe
	for _, t := range r.Terms {
		if p := byLever[t.Lever]; p != nil && p.Stage == s {
			out.Terms = append(out.Terms, t)
		}
	}
	return out
}

// Check tells whether every lever of a recipe is known and takes a site where one is given. A recipe of a newer gnvcc
// fails here.
func (r Recipe) Check() error {
	for _, t := range r.Terms {
		p := byLever[t.Lever]
		if p == nil {
			return fmt.Errorf("recipe %q: lever %s is not known; known are %v", r, t.Lever, names())
		}
		if t.Site != "" && !p.Sites {
			return fmt.Errorf("recipe %q: %s is for the whole kernel and takes no @%s", r, t.Lever, t.Site)
		}
	}
	entries, err := r.Entries()
	if err != nil {
		return err
	}
	if len(entries) > 1 {
		for _, e := range entries {
			if err := e.Check(); err != nil {
				return err
			}
		}
	} else if len(entries) == 1 && entries[0].String() != r.String() {
		return entries[0].Check()
	}
	return nil
}

func names() []string {
	var out []string
	for _, p := range passes {
		out = append(out, p.Lever)
	}
	sort.Strings(out)
	return slices.Compact(out)
}
