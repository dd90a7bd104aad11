package lever

import (
	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// Loads in the order of the text. ptxas loads first what is stored first; in a kernel that
// exchanges the contents of two arrays a line is then stored to while it may still be loaded. ptxas
// -O1 gains there by the order and nothing else, and is for a file.
//
// On an H200 (CUDA 13.0), the time in two programs of HeCBench: che's exchange 0.64 of it, as under
// -O1, and 0.61 in blocks of another shape, which alone gave 0.87; ace's 0.82, and 0.43 in other
// blocks, alone 0.63.

// Ordered is the number of loads from global memory that the lever keeps in their order.
var Ordered = policy.NewFact(func(c policy.Code) int { return rewrite.Ordered(c.Entry) })

const inorder = "inorder"

var _ = register(Lever{
	Name: inorder, Idea: "loads kept in program order:", Gain: 1.01,
	Try: func(s *Situation) []recipe.Recipe {
		if Ordered.Of(s.Kernel) < 2 || s.Kernel.Stores == 0 {
			return nil
		}
		return []recipe.Recipe{Term(inorder, "on")}
	},
	Words: func(k *policy.Kernel, t recipe.Term) string { return "loads kept in program order" },
	Why:   func(s *Situation) string { return "no two plain loads from global memory next to a store" },
})
