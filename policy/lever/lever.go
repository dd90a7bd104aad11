package lever

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"

	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// The table of levers. A lever is one file here (and one pass in rewrite/): which of its values are
// worth a compile and a measurement, for which kernels. It enters itself into the table, which
// is written down nowhere else; All shows it. CONTRIBUTING.md has the steps (Adding a lever).

// A Lever is one entry of the table.
type Lever struct {
	Name string // as its terms are called in recipes: a lever of rewrite's table
	Idea string // what it does, in a few words, for reports
	// what it gained alone on 84 programs, geometric mean; orders the search, nothing
	// else
	Gain float64

	// Try returns what to try on the default build.
	Try func(s *Situation) []recipe.Recipe
	// Around returns what to try around the best recipe so far, complete recipes; nil: only the lever's
	// own winner is combined.
	Around func(s *Situation, best policy.Trial) []recipe.Recipe
	With   []string // levers whose terms may stand in this one's own values: a cap with a demotion
	// Recount returns a value that was measured alone anew for a recipe with others that act on the
	// same (Combine); false: it has none there. nil: it stays as it is.
	Recount func(s *Situation, n int, from, together recipe.Recipe) (int, bool)

	// Refuse says why a term that a user gives is not for a kernel, "" if it may be; nil: it may.
	Refuse func(k *policy.Kernel, t recipe.Term) string
	// Outvotes names the hint in the source that a term takes the place of, "" for none; nil: none.
	Outvotes func(k *policy.Kernel, t recipe.Term) string
	// Group names the terms of which a recipe has one value or another (Group); nil: all of the lever.
	Group func(t recipe.Term) string
	// Caches are the lever's groups that only say what the caches shall keep: what one keeps out of
	// them may be missed later.
	Caches []string

	// Why says why there is nothing to try, for reports; it is asked only where Try returns nothing.
	// nil or "": no reason is given.
	Why func(s *Situation) string
	// Sites says what one value at several places means; nil: each term for itself, by Words.
	Sites func(sites []string, value string) string
	// Words says what a term means, in the words of the source where there are any; nil: Idea and the
	// value.
	Words func(k *policy.Kernel, t recipe.Term) string
	// Source says how a term would be written in the source, "" where it can't be; nil: none can.
	Source func(t recipe.Term) string

	// what a value costs: PTX a ptxas run (20 ms to 1 s), Source a cicc run more (0.3 to 3 s)
	Stage rewrite.Stage
}

// registered is what the levers' files hand in, at the start of every process: the table is made
// when it is asked for.
var registered []*Lever

// register enters a lever; each lever's file calls it once.
func register(l Lever) *Lever {
	registered = append(registered, &l)
	return &l
}

var levers = sync.OnceValue(func() map[string]*Lever {
	levers := make(map[string]*Lever, len(registered))
	for _, l := range registered {
		if levers[l.Name] != nil {
			panic("policy: two levers called " + l.Name)
		}
		for _, p := range rewrite.Levers() {
			if p.Lever == l.Name {
				l.Stage = p.Stage
			}
		}
		if l.Stage != 0 { // else rewrite has no such lever (yet): it is not offered; a test names those
			levers[l.Name] = l
		}
	}
	return levers
})

// All returns the table, most promising first, dear ones behind cheap ones of the same promise.
func All() []*Lever {
	out := make([]*Lever, 0, len(levers()))
	for _, l := range levers() {
		out = append(out, l)
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if a.Gain != b.Gain {
			return a.Gain > b.Gain
		}
		return a.Name < b.Name
	})
	return out
}

// Names are those of the table, sorted.
func Names() []string {
	return slices.Sorted(maps.Keys(levers()))
}

// Named returns the lever of a name, nil if there is none.
func Named(name string) *Lever { return levers()[name] }

// Words explains a recipe, in the words of the source where there are any.
func Words(k *policy.Kernel, r recipe.Recipe) string {
	if r.IsDefault() {
		return "as nvcc builds it"
	}
	var parts []string
	seen := map[string]bool{}
	for _, t := range r.Terms {
		l := levers()[t.Lever]
		switch {
		case l != nil && l.Sites != nil && t.Site != "":
			if same := Group(t) + "=" + t.Value; !seen[same] {
				seen[same] = true
				parts = append(parts, l.Sites(sitesOf(r, t), t.Value))
			}
		case l == nil:
			parts = append(parts, t.String())
		case l.Words != nil:
			parts = append(parts, l.Words(k, t))
		default:
			parts = append(parts, fmt.Sprintf("%s %s", l.Idea, t.Value))
		}
	}
	return strings.Join(parts, "; ")
}
