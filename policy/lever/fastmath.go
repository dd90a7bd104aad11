package lever

import (
	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// Approximation (approx.go) for functions that reach PTX as library code: sin, cos, exp, log, pow
// in f32, renamed in the source. A variant costs a cicc run, so that only all of them, each by
// itself, and all beside lever approx are tried.

var _ = register(Lever{
	Name: "fastmath", Idea: "by special function units:", Gain: 1.033,
	Try: func(s *Situation) []recipe.Recipe {
		if s.Options.Exact < rewrite.Approximate || len(s.Kernel.Math) == 0 {
			return nil
		}
		out := []recipe.Recipe{Term("fastmath", "all.ftz"), Term("fastmath", "all")}
		if s.Kernel.SFU["div"]+s.Kernel.SFU["rcp"]+s.Kernel.SFU["sqrt"]+s.Kernel.SFU["rsqrt"] > 0 &&
			s.Options.Allows("approx") {
			out = append(out, Join(Term("approx", "all.ftz"), Term("fastmath", "all.ftz")))
		}
		if len(s.Kernel.Math) > 1 {
			for _, name := range []string{"sin", "cos", "exp", "log", "pow"} {
				if s.Kernel.Math[name] > 0 {
					out = append(out, Term("fastmath", name+".ftz"))
				}
			}
		}
		return out
	},
	Words: func(k *policy.Kernel, t recipe.Term) string { return approximated(t, "approximate ") },
})
