package lever

import (
	"fmt"

	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// Throttling (Li's thesis, section 3.6): fewer blocks on a multiprocessor than there is room for,
// so that what the warps use again stays in L1. It pays where the warps together use more than L1
// holds and each of them uses its part again, and costs the latency that the others would have
// hidden. Tried level by level, from the default's resident blocks down: all levels where there are
// up to 8, else the eighths, two and one. The default's own number keeps no block away, save where
// warps end early and make room for one more, and leaves to L1 all that the blocks do not need.
//
// The levels are second entries that hold nvcc's own code (rewrite/throttle.go), so that
// none of them is compiled. They are for the block and the dynamic shared memory at hand: other
// launches take the kernel itself.

// NoThrottle says why all blocks that can be resident must be, "" if fewer may be.
var NoThrottle = policy.NewFact(func(c policy.Code) string {
	if err := rewrite.Throttleable(c.Module, c.Entry.Name); err != nil {
		return err.Error()
	}
	return ""
})

var _ = register(Lever{
	// not measured on the 84 programs (Lever.Gain)
	Name: rewrite.Throttling, Idea: "blocks on a multiprocessor at most:", Gain: 1,
	Try: func(s *Situation) []recipe.Recipe {
		k := s.Kernel
		host := ofKind(s.Values, policy.HostValue)
		if !s.Known || len(host) == 0 || k.NoSecond != "" || NoThrottle.Of(k) != "" || k.Loads == 0 &&
			k.Default.Spill == 0 {
			return nil
		}
		var out []recipe.Recipe
		for _, n := range levelsFrom(s.Device.Occupancy(k.Default.Registers,
			s.Shape.Sim(k.Default)).Blocks) {
			if _, ok := s.Device.Throttle(n, k.Default.Shared+s.Shape.Dynamic); ok {
				out = append(out, Join(spec(host), Term(rewrite.Throttling, fmt.Sprint(n))))
			}
		}
		return out
	},
	Why: func(s *Situation) string {
		k := s.Kernel
		switch {
		case k.NoSecond != "":
			return "it needs a second entry: " + k.NoSecond
		case NoThrottle.Of(k) != "":
			return NoThrottle.Of(k)
		case k.Loads == 0 && k.Default.Spill == 0:
			return noLoads
		case !s.Known:
			return "the architecture's shared memory is not known"
		}
		return "its blocks take too much shared memory"
	},
	Around: func(s *Situation, best policy.Trial) []recipe.Recipe {
		n := rewrite.Throttle(best.Recipe)
		if n == 0 || policy.Weight(best.Recipe) == 1 {
			return nil // all levels are tried already
		}
		var out []recipe.Recipe
		for _, near := range []int{n - 1, n + 1} {
			if _, ok := s.Device.Throttle(near, best.Build.Shared+s.Shape.Dynamic); ok {
				out = append(out, Join(best.Recipe, Term(rewrite.Throttling, fmt.Sprint(near))))
			}
		}
		return out
	},
	Words: func(k *policy.Kernel, t recipe.Term) string {
		return fmt.Sprintf("at most %s blocks on a multiprocessor", t.Value)
	},
	Refuse:  func(k *policy.Kernel, t recipe.Term) string { return NoThrottle.Of(k) },
	Recount: recountBlocks,
})

// recountBlocks keeps the number of warps: blocks of another size are as many times more or fewer,
// and no more than there is room for.
func recountBlocks(s *Situation, n int, from, together recipe.Recipe) (int, bool) {
	was, is := s.ShapeFor(from).Threads(), s.ShapeFor(together).Threads()
	n = (n*was + is/2) / is
	if room := s.blocks(together.Without(rewrite.Throttling)); room > 0 {
		n = min(n, room)
	}
	return n, n >= 1 && n <= 31
}

// levelsFrom returns the numbers of resident blocks to try, descending.
func levelsFrom(resident int) []int {
	var out []int
	put := func(n int) {
		if n >= 1 && n <= resident && n < 32 && (len(out) == 0 || n < out[len(out)-1]) {
			out = append(out, n)
		}
	}
	for eighths := 8; eighths > 0; eighths-- {
		put((resident*eighths + 7) / 8)
	}
	put(2)
	put(1)
	return out
}
