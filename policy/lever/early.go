package lever

import (
	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// Loads in front of the stores that stand before them. A loop that stores in each turn asks memory
// once a turn: the turns that cicc unrolls wait one after the other, since a load may be of what
// was just stored. Under the lever they ask together, and so more turns at once are worth a try
// from the beginning: unrolled alone they bring nothing.

var _ = register(Lever{
	Name: "early", Idea: "loads in front of stores to other addresses:", Gain: 1.02,
	With: []string{"unroll"},
	Try: func(s *Situation) []recipe.Recipe {
		if s.Kernel.Early == 0 {
			return nil
		}
		out := []recipe.Recipe{Term("early", "on")}
		if len(freeLoops(s.Kernel)) > 0 {
			for _, r := range unrolls("", 8, 16) {
				out = append(out, Join(r, out[0]))
			}
		}
		return out
	},
	Words: func(k *policy.Kernel, t recipe.Term) string {
		return "loads in front of stores to other addresses"
	},
	Why: func(s *Situation) string {
		return "no plain load behind a store, with addresses that are known before"
	},
})
