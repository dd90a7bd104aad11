package lever

import (
	"fmt"
	"slices"
	"strings"

	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// Cache hints: what streams through once should not push out what is used again (L1::no_allocate,
// L1::evict_first, cs), what is used again should stay (L1::evict_last), and what is read in a row
// can come in bigger pieces (L2::128B, L2::256B; L2::64B where it is not). They are hints: the same
// bits by construction. The fetch sizes of L2 were the most useful. Results that are not read again
// soon need no place in the caches: so much for stores.
//
// A kernel has streams and data that is used again. So the loads from each array
// (rewrite.Streams) are also tried by themselves, and every load of a kernel with few. What won for
// some is then tried for one array more at a time, and what won for all with each array, or each
// load of few, left out, and together with a fetch size that won: greedily, a round at a time while
// a round gains (policy/search).
//
// On an H200, programs of HeCBench, alone: iso2dfd 1.17 by one array, knn 1.13 by one (all loads:
// 1.11; with a copy for known values 1.48 against 1.39), damage 1.11 by its only stream.

const fewLoads = 6

// What hints are for: the sites of all loads, and of all stores.
const (
	loads  = "ld"
	stores = "st"
)

// LoadHints and StoreHints are the groups of their terms.
const (
	LoadHints  = rewrite.Hint + "@" + loads
	StoreHints = rewrite.Hint + "@" + stores
)

// Streams says of each load that a hint can be given to which array it reads: equal numbers, the same
// one; -1: not known.
var Streams = policy.NewFact(func(c policy.Code) []int { return rewrite.Streams(c.Entry) })

// noLoads is why nothing is tried of levers that work on loads.
const noLoads = "no plain load from global memory"

var _ = register(Lever{
	Name: rewrite.Hint, Idea: "cache hints", Gain: 1.030,
	Try: func(s *Situation) (out []recipe.Recipe) {
		if s.Kernel.Loads > 0 {
			out = terms(LoadHints, "L2::256B", "L1::no_allocate", "L2::128B", "L1::evict_last", "L1::evict_first", "cs",
				"L2::64B")
			for _, sites := range loadParts(s.Kernel) {
				out = append(out, hintOn(recipe.Recipe{}, sites, "L1::no_allocate"))
			}
		}
		if s.Kernel.Stores > 0 {
			out = append(out, terms(StoreHints, "cs", "L1::no_allocate", "L1::evict_last")...)
		}
		return out
	},
	Around: func(s *Situation, best policy.Trial) []recipe.Recipe {
		if !Has(best.Recipe, LoadHints) {
			return nil
		}
		all, whole := best.Recipe.Get(rewrite.Hint, loads)
		value := "none"
		if !whole {
			value = "L1::no_allocate"
		}
		var out []recipe.Recipe
		for _, sites := range loadParts(s.Kernel) {
			if !slices.ContainsFunc(sites, func(i int) bool { _, ok := best.Recipe.Get(rewrite.Hint, load(i)); return ok }) {
				out = append(out, hintOn(best.Recipe, sites, value))
			}
		}
		if whole && !strings.Contains(all, "L2::") {
			for _, size := range []string{"L2::256B", "L2::128B", "L2::64B"} {
				if tr := s.Trial(LoadHints + "=" + size); tr != nil && tr.Usable() && tr.Ratio < 1 {
					out = append(out, best.Recipe.With(recipe.Term{Lever: rewrite.Hint, Site: loads, Value: all + "." + size}))
				}
			}
		}
		return out
	},
	Why: func(s *Situation) string { return "no plain access to global memory" },
	Group: func(t recipe.Term) string {
		if len(t.Site) < len(loads) {
			return t.Lever
		}
		return t.Lever + "@" + t.Site[:len(loads)]
	},
	Caches: []string{StoreHints, LoadHints},
	Sites: func(sites []string, value string) string {
		what := "load"
		if strings.HasPrefix(sites[0], stores) {
			what = "store"
		}
		numbers := slices.Clone(sites)
		for i := range numbers {
			numbers[i] = strings.TrimLeft(numbers[i], loads+stores)
		}
		switch {
		case numbers[0] == "":
			what += "s"
		case len(numbers) > 4: // they are counted in the PTX: too many to read
			what = fmt.Sprintf("%d %ss", len(numbers), what)
		case len(numbers) > 1:
			what += "s " + strings.Join(numbers, ", ")
		default:
			what += " " + numbers[0]
		}
		if value == "none" {
			return what + " without"
		}
		return what + " with " + value
	},
})

// loadParts are the sets of loads that hints are tried on: those from one array, where there are a
// few arrays, and the single ones of few.
func loadParts(k *policy.Kernel) [][]int {
	var arrays [][]int
	streams := Streams.Of(k)
	for i, n := range streams {
		for n >= len(arrays) {
			arrays = append(arrays, nil)
		}
		if n >= 0 {
			arrays[n] = append(arrays[n], i)
		}
	}
	if len(arrays) > fewLoads || len(arrays) == 1 && len(arrays[0]) == len(streams) {
		arrays = nil // too many to try, or all loads
	}
	if k.Loads > 1 && k.Loads <= fewLoads {
		for i := 0; i < k.Loads; i++ {
			if !slices.ContainsFunc(arrays, func(a []int) bool { return len(a) == 1 && a[0] == i }) {
				arrays = append(arrays, []int{i})
			}
		}
	}
	return arrays
}

// hintOn returns a recipe with a policy for some loads.
func hintOn(r recipe.Recipe, sites []int, policy string) recipe.Recipe {
	for _, i := range sites {
		r = r.With(recipe.Term{Lever: rewrite.Hint, Site: load(i), Value: policy})
	}
	return r
}

// load is the site of one load.
func load(i int) string { return fmt.Sprint(loads, i) }
