package lever

import (
	"slices"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/source"
)

// cicc's pragmas that keep ptxas from unrolling, taken out: 1.002 alone, so last. The PTX does not
// tell them from the source's own unroll pragmas, which are hints.

var _ = register(Lever{
	Name: "nounroll", Idea: "cicc's .pragma \"nounroll\"", Gain: 1.002,
	Try: func(s *Situation) []recipe.Recipe {
		if s.Kernel.NoUnrolls == 0 || asked(s.Kernel) && s.Options.Keep {
			return nil
		}
		return []recipe.Recipe{Term("nounroll", "off")}
	},
	Why: func(s *Situation) string {
		if s.Kernel.NoUnrolls == 0 {
			return "cicc left no such pragma"
		}
		return "the source's own unroll pragmas are kept"
	},
})

// asked tells whether the source has an unroll pragma in the kernel.
func asked(k *policy.Kernel) bool {
	return slices.ContainsFunc(k.Loops, func(l source.Loop) bool { return l.Pragma })
}
