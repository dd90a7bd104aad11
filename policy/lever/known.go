package lever

import (
	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// Specialisation in PTX: spec's sets of values, without those for alignments, for kernels that spec
// refuses: whose source is not understood, or of which no variant can be proved. Elsewhere it has
// nothing that spec has not: of ten kernels of HeCBench it alone made one 1.12 times as fast, two
// 1.01 and 1.03 (bench/results/2026-11-24-known).

var _ = register(Lever{
	Name: recipe.Known, Idea: "a copy in PTX for", Gain: 1,
	Try: func(s *Situation) []recipe.Recipe {
		if s.Kernel.NoSecond != "" || s.Kernel.NoSpec == "" {
			return nil
		}
		return specs(s, recipe.Known)
	},
	Why: func(s *Situation) string {
		if s.Kernel.NoSecond != "" {
			return s.Kernel.NoSecond
		}
		return "spec takes these values"
	},
	Around: func(s *Situation, best policy.Trial) []recipe.Recipe {
		if s.Kernel.NoSecond != "" || HasStage(best.Recipe, rewrite.Source) || !specRefused(s) {
			return nil
		}
		if !Has(best.Recipe, recipe.Known) {
			if s.Kernel.NoSpec != "" {
				return nil // tried alone
			}
			var out []recipe.Recipe
			for _, r := range specs(s, recipe.Known) {
				out = append(out, Join(best.Recipe, r))
			}
			return out
		}
		out := specsAround(s, best, recipe.Known)
		if s.Kernel.NoUnrolls > 0 { // their turns may be known now
			out = append(out, Join(best.Recipe, Term("nounroll", "off")))
		}
		return out
	},
	Words: copyWords,
})

// specRefused tells whether no set of values can be had by spec.
func specRefused(s *Situation) bool {
	if s.Kernel.NoSpec != "" {
		return true
	}
	for _, r := range specs(s, recipe.Second) {
		if t := s.Trial(r.String()); t == nil || t.Refused == "" {
			return false
		}
	}
	return true
}
