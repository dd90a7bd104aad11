package lever

import (
	"fmt"
	"slices"
	"strings"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// Cache hints on loads: what streams through once should not push out what is used again
// (L1::no_allocate, L1::evict_first, cs), what is used again should stay (L1::evict_last), and what
// is read in a row can come in bigger pieces (L2::128B, L2::256B; L2::64B where it is not). They
// are hints: the same bits by construction. The fetch sizes of L2 were the most useful.
//
// A kernel has streams beside data that is used again. So the loads from each array
// (rewrite.Streams) are also tried by themselves, and every load of a kernel with few. What won for
// some is then tried for one array more at a time, and what won for all with each array, or each
// load of few, left out, and together with a fetch size that won: greedily, a round at a time while
// a round gains (policy/search).
//
// On an H200, programs of HeCBench, alone: iso2dfd 1.17 by one array, knn 1.13 by one (all loads:
// 1.11; beside a copy for known values 1.48 against 1.39), damage 1.11 by its only stream.

const fewLoads = 6

// noLoads is why nothing is tried of levers that work on loads.
const noLoads = "no plain load from global memory"

var _ = register(Lever{
	Name: "ld", Idea: "loads with", Gain: 1.030,
	Try: func(s *Situation) []recipe.Recipe {
		if s.Kernel.Loads == 0 {
			return nil
		}
		out := terms("ld", "L2::256B", "L1::no_allocate", "L2::128B", "L1::evict_last",
			"L1::evict_first", "cs", "L2::64B")
		for _, sites := range ldParts(s.Kernel) {
			out = append(out, ldOn(recipe.Recipe{}, sites, "L1::no_allocate"))
		}
		return out
	},
	Around: func(s *Situation, best policy.Trial) []recipe.Recipe {
		if !Has(best.Recipe, "ld") {
			return nil
		}
		all, whole := best.Recipe.Get("ld", "")
		hint := "none"
		if !whole {
			hint = "L1::no_allocate"
		}
		var out []recipe.Recipe
		for _, sites := range ldParts(s.Kernel) {
			if !slices.ContainsFunc(sites, func(i int) bool { _, ok := best.Recipe.Get("ld", fmt.Sprint(i)); return ok }) {
				out = append(out, ldOn(best.Recipe, sites, hint))
			}
		}
		if !whole {
			return out
		}
		if !strings.Contains(all, "L2::") {
			for _, size := range []string{"L2::256B", "L2::128B", "L2::64B"} {
				if tr := s.Trial("ld=" + size); tr != nil && tr.Usable() && tr.Ratio < 1 {
					out = append(out, best.Recipe.With(recipe.Term{Lever: "ld", Value: all + "." + size}))
				}
			}
		}
		return out
	},
	Why: func(s *Situation) string { return noLoads },
	Sites: func(sites []string, value string) string {
		what := "load " + sites[0]
		switch {
		case len(sites) > 4: // they are counted in the PTX: nobody looks at so many
			what = fmt.Sprintf("%d loads", len(sites))
		case len(sites) > 1:
			what = "loads " + strings.Join(sites, ", ")
		}
		if value == "none" {
			return what + " without"
		}
		return what + " with " + value
	},
})

// ldParts are the sets of loads that hints are tried on: those from one array, where there are a
// few arrays, and the single ones of few.
func ldParts(k *policy.Kernel) [][]int {
	var arrays [][]int
	for i, n := range k.Streams {
		for n >= len(arrays) {
			arrays = append(arrays, nil)
		}
		if n >= 0 {
			arrays[n] = append(arrays[n], i)
		}
	}
	if len(arrays) > fewLoads || len(arrays) == 1 && len(arrays[0]) == len(k.Streams) {
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

// ldOn returns a recipe with a hint on some loads.
func ldOn(r recipe.Recipe, sites []int, hint string) recipe.Recipe {
	for _, i := range sites {
		r = r.With(ldAt(i, hint))
	}
	return r
}

func ldAt(i int, hint string) recipe.Term {
	return recipe.Term{Lever: "ld", Site: fmt.Sprint(i), Value: hint}
}

// Cache hints on stores: results that nobody reads again soon need no place in the caches. Hints,
// the same bits by construction.

var _ = register(Lever{
	Name: "st", Idea: "stores with", Gain: 1.010,
	Try: func(s *Situation) []recipe.Recipe {
		if s.Kernel.Stores == 0 {
			return nil
		}
		return terms("st", "cs", "L1::no_allocate", "L1::evict_last")
	},
	Why: func(s *Situation) string { return "no plain store to global memory" },
})
