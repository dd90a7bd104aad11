package policy

import (
	"fmt"
	"strings"

	"gnvcc/rewrite"
)

// Cache hints on loads: what streams through once should not push out what is used again (L1::no_allocate, L1::evict_first, cs),
// what is used again should stay (L1::evict_last), and what is read in a row can come in bigger pieces (L2::128B, L2::256B;
// L2::64B where it is not). They are hints: the same bits by construction. The fetch sizes of L2 were the most useful.
//
// A kernel has streams beside data that is used again, so every load of a kernel with few is also tried alone; and a hint that
// won for all is tried with each load left out, and together with a fetch size that won.

const fewLoads = 6

// noLoads is why nothing is tried of levers that work on loads.
const noLoads = "no plain load from global memory"

var _ = register(Lever{
	Name: "ld", Idea: "loads with", Gain: 1.030,
	Try: func(s *Situation) []rewrite.Recipe {
		if s.Kernel.Loads == 0 {
			return nil
		}
		var out []rewrite.Recipe
		for _, v := range []string{"L2::256B", "L1::no_allocate", "L2::128B", "L1::evict_last", "L1::evict_first", "cs", "L2::64B"} {
			out = append(out, term("ld", v))
		}
		if n := s.Kernel.Loads; n > 1 && n <= fewLoads {
			for i := 0; i < n; i++ {
				out = append(out, rewrite.Recipe{}.With(ldAt(i, "L1::no_allocate")))
			}
		}
		return out
	},
	Around: func(s *Situation, best Trial) []rewrite.Recipe {
		all, ok := best.Recipe.Get("ld", "")
		if !ok {
			return nil
		}
		var out []rewrite.Recipe
		if n := s.Kernel.Loads; n > 1 && n <= fewLoads {
			for i := 0; i < n; i++ {
				if _, ok := best.Recipe.Get("ld", fmt.Sprint(i)); !ok {
					out = append(out, best.Recipe.With(ldAt(i, "none")))
				}
			}
		}
		if !strings.Contains(all, "L2::") {
			for _, size := range []string{"L2::256B", "L2::128B", "L2::64B"} {
				if tr := s.Trial("ld=" + size); tr != nil && tr.usable() && tr.Ratio < 1 {
					out = append(out, best.Recipe.With(rewrite.Term{Lever: "ld", Value: all + "." + size}))
				}
			}
		}
		return out
	},
	Why: func(s *Situation) string { return noLoads },
	Words: func(k *Kernel, t rewrite.Term) string {
		switch {
		case t.Site == "":
			return "loads with " + t.Value
		case t.Value == "none":
			return "load " + t.Site + " without"
		}
		return "load " + t.Site + " with " + t.Value
	},
})

func ldAt(i int, hint string) rewrite.Term {
	return rewrite.Term{Lever: "ld", Site: fmt.Sprint(i), Value: hint}
}
