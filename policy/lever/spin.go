package lever

import (
	"gnvcc/policy"
	"gnvcc/rewrite/ptx/ir"
	"gnvcc/rewrite/recipe"
)

// Spin loops on shared memory (Li, thesis, chapter 7): a test before the swap keeps the waiting
// threads from each other's way, a sleep leaves the issue slots to those who have the lock.
// Measured (H200, CUDA 13.0, 1,056 blocks of 256 threads, times over the loop's own): where all
// threads of a block want one lock, test 0.26, a growing delay 0.52, both 0.16 (0.04 for a lock of
// 64 bits); where one lane of each warp wants it, test 1.45, delay 1.06, both 1.31; where nobody
// waits, all three 1.0. So there is no rule but to measure. Constant delays without a test were
// never best.
//
// Gain: of the 84 programs none spins on shared memory; behind all others.

// spins is the number of spin loops on shared memory.
var spins = policy.NewFact(func(c policy.Code) int {
	w, err := ir.Of(c.Entry)
	if err != nil { // the pass says what is wrong with the kernel
		return 0
	}
	return len(w.Spins())
})

const spin = "spin"

var _ = register(Lever{
	Name: spin, Idea: "spin loops on shared memory:", Gain: 1.0,
	Try: func(s *Situation) []recipe.Recipe {
		if spins.Of(s.Kernel) == 0 {
			return nil
		}
		return terms(spin, "test", "test,backoff", "backoff", "test,backoff:100")
	},
})
