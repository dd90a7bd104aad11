package lever

import (
	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// Specialisation in PTX: spec's sets of values, without those for alignments. It asks for no run of
// cicc and no reading of the source, so that kernels take it of which no variant can be proved, or
// whose source is not understood. What the other levers on PTX gain is joined with it as ever.

var _ = register(Lever{
	Name: recipe.Known, Idea: "a copy in PTX for", Gain: 1,
	Try: func(s *Situation) []recipe.Recipe {
		if s.Kernel.NoSecond != "" {
			return nil
		}
		return specs(s, recipe.Known)
	},
	Why: func(s *Situation) string { return s.Kernel.NoSecond },
	Around: func(s *Situation, best policy.Trial) []recipe.Recipe {
		if s.Kernel.NoSecond != "" || HasStage(best.Recipe, rewrite.Source) {
			return nil
		}
		out := specsAround(s, best, recipe.Known)
		if Has(best.Recipe, recipe.Known) && s.Kernel.NoUnrolls > 0 { // their turns may be known now
			out = append(out, Join(best.Recipe, Term("nounroll", "off")))
		}
		return out
	},
	Words: copyWords,
})
