package policy

import "gnvcc/rewrite"

// cicc's pragmas that keep ptxas from unrolling, taken out: 1.002 alone, so last.

var _ = register(Lever{
	Name: "nounroll", Idea: "cicc's .pragma \"nounroll\"", Gain: 1.002,
	Try: func(s *Situation) []rewrite.Recipe {
		if s.Kernel.NoUnrolls == 0 {
			return nil
		}
		return []rewrite.Recipe{term("nounroll", "off")}
	},
})
