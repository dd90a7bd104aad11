package lever

import (
	"strings"

	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// SFU-driven approximation (Li, ICS 2016), for those who ask for it (gnvcc tune --exact=approximate). Of
// f64 functions, those with a Newton step too: their error is that of the accurate form in most programs'
// eyes.

// SFU is what the lever approx could replace (rewrite.SFU).
var SFU = policy.NewFact(func(c policy.Code) map[string]int { return rewrite.SFU(c.Entry) })

const approx = "approx"

var _ = register(Lever{
	Name: approx, Idea: "approximated by special function units:", Gain: 1.033,
	Try: func(s *Situation) []recipe.Recipe {
		if s.Options.Exact < rewrite.Approximate {
			return nil
		}
		var singles, doubles []string
		found := SFU.Of(s.Kernel)
		for _, name := range []string{"div", "rcp", "sqrt", "rsqrt"} {
			if found[name] > 0 {
				singles = append(singles, name)
			}
			if found[name+".f64"] > 0 {
				doubles = append(doubles, name)
			}
		}
		var out []recipe.Recipe
		add := func(value string) { out = append(out, Term(approx, value)) }
		if len(singles) > 0 {
			add("all")
			add("all.ftz")
			if found["div"] > 0 {
				add("div.full")
			}
			if len(singles) > 1 {
				for _, name := range singles {
					add(name + ".ftz")
				}
			}
		}
		if len(doubles) > 0 {
			add("all.f64+1")
			add("all.f64")
		}
		if len(singles) > 0 && len(doubles) > 0 {
			add("all.ftz,all.f64+1")
			add("all.ftz,all.f64")
		}
		return out
	},
	Words: approximated,
})

// approximated explains a list of functions.
func approximated(k *policy.Kernel, t recipe.Term) string {
	return "approximate " + strings.ReplaceAll(t.Value, ",", ", ")
}

// Approximation for functions that reach PTX as library code: sin, cos, exp, log, pow
// in f32, renamed in the source. A variant costs a cicc run, so that only all of them, each by
// itself, and all with lever approx are tried.

var _ = register(Lever{
	Name: recipe.FastMath, Idea: "by special function units:", Gain: 1.033,
	Try: func(s *Situation) []recipe.Recipe {
		if s.Options.Exact < rewrite.Approximate || len(s.Kernel.Math) == 0 {
			return nil
		}
		out := []recipe.Recipe{Term(recipe.FastMath, "all.ftz"), Term(recipe.FastMath, "all")}
		found := SFU.Of(s.Kernel)
		if found["div"]+found["rcp"]+found["sqrt"]+found["rsqrt"] > 0 &&
			s.Options.Allows(approx) {
			out = append(out, Join(Term(approx, "all.ftz"), Term(recipe.FastMath, "all.ftz")))
		}
		if len(s.Kernel.Math) > 1 {
			for _, name := range []string{"sin", "cos", "exp", "log", "pow"} {
				if s.Kernel.Math[name] > 0 {
					out = append(out, Term(recipe.FastMath, name+".ftz"))
				}
			}
		}
		return out
	},
	Words: approximated,
})
