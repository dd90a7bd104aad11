package lever

import (
	"slices"

	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// A name that ptxas reads (rewrite/name.go). Of 17 kernels of HeCBench it made one faster
// (bench/results/2026-11-24-order), so that it is tried only where the user names it: --levers
// name.

var _ = register(Lever{
	Name: "name", Idea: "a second entry's name with the word", Gain: 1,
	Try: func(s *Situation) []recipe.Recipe {
		host := ofKind(s.Values, policy.HostValue)
		if !slices.Contains(s.Options.Levers, "name") || len(host) == 0 || s.Kernel.NoSecond != "" ||
			rewrite.HasCutlass(s.Kernel.Name) {
			return nil
		}
		return []recipe.Recipe{Join(spec(recipe.Second, host), Term("name", "cutlass"))}
	},
	Why: func(s *Situation) string {
		switch {
		case s.Kernel.NoSecond != "":
			return "it needs a second entry: " + s.Kernel.NoSecond
		case rewrite.HasCutlass(s.Kernel.Name):
			return "its own name has the word that ptxas reads"
		}
		return "it is tried only where it is asked for: --levers name"
	},
})
