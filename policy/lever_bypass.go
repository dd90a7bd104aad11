package policy

import (
	"fmt"

	"gnvcc/rewrite"
)

// Adaptive bypassing (Li et al., SC 2015): the first warps of a block use L1, the others go past it, so that fewer of
// them share the cache. The threshold is the number of warps that use it. All or none of them are the unconditional hints'
// (lever ld) values. Pruned: every threshold up to 4 warps, then the powers of two and the three quarters.

var _ = register(Lever{
	Name: "bypass", Idea: "past L1 but for warps below", Gain: 1.016,
	Try: func(s *Situation) []rewrite.Recipe {
		warps := (s.Shape.Threads() + 31) / 32
		if s.Kernel.Loads == 0 || warps < 2 {
			return nil
		}
		var out []rewrite.Recipe
		for n := 1; n < warps; n++ {
			if n <= 4 || n&(n-1) == 0 || 4*n == 3*warps {
				out = append(out, term("bypass", fmt.Sprint(n)))
			}
		}
		return out
	},
	Why: func(s *Situation) string {
		if s.Kernel.Loads == 0 {
			return noLoads
		}
		return "blocks of one warp"
	},
})
