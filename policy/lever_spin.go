package policy

import "gnvcc/rewrite"

// Spin loops on shared memory (Li, thesis, chapter 7): a test before the swap keeps the waiting threads from each other's
// way, a sleep leaves the issue slots to those who have the lock. Which pays depends on how many wait and for how long;
// five values cover the range, since delays of a factor of 4 apart differ little. Gain: not among the 84 programs, of which
// none spins on shared memory; behind all others.

var _ = register(Lever{
	Name: "spin", Idea: "spin loops on shared memory:", Gain: 1.0,
	Try: func(s *Situation) []rewrite.Recipe {
		if s.Kernel.Spins == 0 {
			return nil
		}
		var out []rewrite.Recipe
		for _, value := range []string{"test", "backoff", "test,backoff", "backoff:20", "backoff:100"} {
			out = append(out, term("spin", value))
		}
		return out
	},
})
