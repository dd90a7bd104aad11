package lever

import (
	"fmt"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// Adaptive bypassing (Li et al., SC 2015): the first warps of a block use L1, the others go past
// it, so that fewer of them share the cache. The threshold is the number of warps that use it. All
// or none of them are the unconditional hints' (hint@ld). Pruned: every threshold up to 4
// warps, then the powers of two and the three quarters.

const bypass = "bypass"

var _ = register(Lever{
	Name: bypass, Idea: "loads bypass L1 except in warps below", Gain: 1.016,
	Try: func(s *Situation) []recipe.Recipe {
		warps := (s.Shape.Threads() + 31) / 32
		if s.Kernel.Loads == 0 {
			return nil
		}
		var out []recipe.Recipe
		for _, n := range thresholds(warps) {
			out = append(out, Term(bypass, fmt.Sprint(n)))
		}
		return out
	},
	Why: func(s *Situation) string {
		if s.Kernel.Loads == 0 {
			return noLoads
		}
		return "blocks of one warp"
	},
	Caches: []string{bypass},
	// As many warps share the cache: those of the resident blocks.
	Recount: func(s *Situation, n int, from, together recipe.Recipe) (int, bool) {
		was, is := s.ShapeFor(from).Threads(), s.ShapeFor(together).Threads()
		before, after := s.blocks(from), s.blocks(together)
		if before == 0 || after == 0 { // not known: as many as the threads allow
			before, after = is, was
		}
		n = (n*before + after/2) / after
		return n, n >= 1 && n < (is+warp-1)/warp
	},
	Words: func(k *policy.Kernel, t recipe.Term) string {
		return fmt.Sprintf("loads bypass L1 except in warps below %s", t.Value)
	},
})

// thresholds are those worth trying for blocks of so many warps.
func thresholds(warps int) []int {
	var out []int
	for n := 1; n < min(warps, 33); n++ {
		if n <= 4 || n&(n-1) == 0 || 4*n == 3*warps {
			out = append(out, n)
		}
	}
	return out
}
