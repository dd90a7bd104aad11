package lever

import (
	"gnvcc/rewrite/recipe"
)

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
