package lever

import (
	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// Integer divisions by arguments (rewrite/dividearg.go). No GPU has measured it. Of machine
// instructions (sm_90, CUDA 13.0, counted in the emulator) a division of 32 bits takes 3 to 7 less
// in each turn, one of 64 bits some 60; at entry it takes what two to four turns save.

var _ = register(Lever{
	Name: "divide", Idea: "integer divisions by arguments:", Gain: 1,
	Try: func(s *Situation) []recipe.Recipe {
		if s.Kernel.Divided == 0 {
			return nil
		}
		return []recipe.Recipe{Term("divide", "on")}
	},
	Words: func(k *policy.Kernel, t recipe.Term) string {
		return "integers divided by arguments with multiplications"
	},
	Why: func(s *Situation) string {
		return "no integer is divided by an argument in a loop, or six times"
	},
})
