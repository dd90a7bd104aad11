package lever

import (
	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// Loads in the order of the text. ptxas loads first what is stored first; in a kernel that
// exchanges the contents of two arrays each store then overtakes the load of its own line. What
// ptxas=-O1 gains there is this and nothing else, and -O1 is for the whole file. On an H200 (CUDA
// 13.0) such a kernel of che of HeCBench took 0.65 of its time under -O1, and its own time again
// where a register cap brought the other order back.

var _ = register(Lever{
	Name: "inorder", Idea: "loads in the order of the text:", Gain: 1.01,
	Try: func(s *Situation) []recipe.Recipe {
		if s.Kernel.Loads < 2 || s.Kernel.Stores == 0 {
			return nil
		}
		return []recipe.Recipe{Term("inorder", "on")}
	},
	Words: func(k *policy.Kernel, t recipe.Term) string { return "loads in the order of the text" },
	Why:   func(s *Situation) string { return "no two plain loads from global memory beside a store" },
})
