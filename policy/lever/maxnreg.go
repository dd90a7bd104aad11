package lever

import (
	"fmt"
	"slices"

	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
)

// Register caps, at the critical points of the launch at hand (Li et al., DATE 2016, section III;
// sim has the allocation as the hardware does it), below the default's count and above it: ptxas,
// which does not know the block size, stops at 32, 40 or 48 registers by itself where more would
// pay, and a cap above its choice raises the count. A third of all kernels also use more registers
// under a cap of 255 than without one, so that 255 is a value of its own.
//
// A cap under which blocks could not be launched that the default launches is not tried, save in a
// second entry for blocks of the size at hand (spec.go).

// LowestCap is ptxas' floor for .maxnreg: smaller caps are not met.
const LowestCap = sim.Floor

// Cap is a recipe with one cap.
func Cap(n int) recipe.Recipe { return Term(rewrite.MaxNReg, fmt.Sprint(n)) }

var _ = register(Lever{
	Name: rewrite.MaxNReg, Idea: "register cap:", Gain: 1.040,
	Try: func(s *Situation) []recipe.Recipe {
		return append(caps(s, recipe.Recipe{}, s.Region), highCaps(s)...)
	},
	Why: func(s *Situation) string {
		if s.kept() != "" {
			return "the source's " + s.kept() + " is kept"
		}
		return "no other register count to try for these launches"
	},
	Around: capsAround,
	Words: func(k *policy.Kernel, t recipe.Term) string {
		return fmt.Sprintf("register cap %s", t.Value)
	},
	Source: func(t recipe.Term) string {
		return "__maxnreg__(" + t.Value + "), or with __launch_bounds__, next to which nvcc refuses it, -maxrregcount=" + t.Value
	},
	Outvotes: func(k *policy.Kernel, t recipe.Term) string { return k.Bounds },
	Recount: func(s *Situation, n int, from, together recipe.Recipe) (int, bool) {
		return s.capFor(n, from, together), true
	},
})

// capsAround tries caps anew on a winner: its code needs other counts.
func capsAround(s *Situation, best policy.Trial) []recipe.Recipe {
	r := best.Recipe.Without(rewrite.MaxNReg)
	if r.IsDefault() {
		return nil // the caps themselves won: all are tried already
	}
	// Without two more ptxas runs: from half the winner's count (no cap below that has won in
	// the 84 programs) to the top.
	return caps(s, r, Region{Min: max(LowestCap, best.Build.Registers/2), Max: 255})
}

// caps returns a recipe with each cap worth trying.
func caps(s *Situation, r recipe.Recipe, region Region) []recipe.Recipe {
	if s.kept() != "" {
		return nil
	}
	var out []recipe.Recipe
	add := func(n int) {
		if c := Join(s.spilling(r, n), Cap(n)); !s.idle(c) {
			out = append(out, c)
		}
	}
	if !s.Known { // a GPU newer than the table: the steps of the last six architectures
		for _, n := range []int{32, 40, 48, 56, 64} {
			add(n)
		}
		return out
	}
	top := s.Device.MostRegisters(Needed(r, s.Largest))
	if region.Max == 0 || region.Max > 255 {
		region.Max = 255
	}
	region.Min = max(region.Min, LowestCap)
	seen := map[int]bool{}
	put := func(n int) {
		if n >= LowestCap && n <= top && !seen[n] {
			seen[n] = true
			add(n)
		}
	}
	// Nearest to what the default does first: a budget may end.
	points := s.Device.CriticalPoints(s.simFor(r), region.Min,
		min(region.Max, top))
	own := s.Kernel.Default.Registers
	slices.SortStableFunc(points, func(a, b int) int { return max(a-own, own-a) - max(b-own, own-b) })
	for _, p := range points {
		put(p)
	}
	put(min(255, top))
	return out
}

// spilling puts a cap that makes a kernel with much local memory spill even more into a second
// entry, which alone may have more of it than nvcc's own code (rewrite.Launches).
func (s *Situation) spilling(r recipe.Recipe, n int) recipe.Recipe {
	k, host := s.Kernel, ofKind(s.Values, policy.HostValue)
	if k.Default.Stack <= rewrite.StackLimit || n >= k.Default.Registers || r.HasSecond() ||
		k.NoSecond != "" || len(host) == 0 {
		return r
	}
	return Join(spec(host), r)
}

// highCaps returns caps too high for the largest block of the default, in a second entry for the
// blocks at hand.
func highCaps(s *Situation) []recipe.Recipe {
	k := s.Kernel
	if !s.Known || k.NoSpec != "" || k.NoSecond != "" || s.kept() != "" {
		return nil
	}
	limit := s.Device.MostRegisters(s.Largest)
	if s.Region.Max <= limit {
		return nil
	}
	r := spec(ofKind(s.Values, policy.BlockDim))
	return append(caps(s, r, Region{Min: limit + 1, Max: s.Region.Max}), r)
}
