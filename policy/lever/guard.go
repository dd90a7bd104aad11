package lever

import (
	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// The form of specialisation with both copies in one kernel (spec.go), for kernels that can't have
// a second entry.

var _ = register(Lever{
	Name: recipe.Inside, Idea: "a copy for", Gain: 1.060,
	Try: func(s *Situation) []recipe.Recipe {
		if s.Kernel.NoSpec != "" || s.Kernel.NoSecond == "" {
			return nil
		}
		return specs(s, recipe.Inside)
	},
	Around: func(s *Situation, best policy.Trial) []recipe.Recipe {
		if s.Kernel.NoSpec != "" || s.Kernel.NoSecond == "" {
			return nil
		}
		return specsAround(s, best, recipe.Inside)
	},
	Why: func(s *Situation) string {
		if s.Kernel.NoSecond == "" {
			return "a second entry (spec) takes its place"
		}
		return s.Kernel.NoSpec
	},
	Words: func(k *policy.Kernel, t recipe.Term) string {
		g, err := t.Guard()
		if err != nil {
			return "a copy inside"
		}
		return "a copy inside for launches with " + conditions(k, g)
	},
})
