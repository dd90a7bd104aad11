package lever

import (
	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// Numbers of threads and blocks computed from the index over the grid: what shape needs for kernels
// that read their own (rewrite/index.go). It is nothing by itself, and comes with shape's values.

var _ = register(Lever{
	Name: "index", Idea: "thread and block numbers of", Gain: 1,
	Try: func(s *Situation) []recipe.Recipe { return nil },
	Why: func(s *Situation) string {
		if s.Kernel.Shapeable && !s.Kernel.Numbered {
			return "the kernel sees nothing of its blocks"
		}
		return "it comes with shape"
	},
	Words: func(k *policy.Kernel, t recipe.Term) string { return "its numbers computed from the index" },
})
