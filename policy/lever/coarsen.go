package lever

import (
	"fmt"
	"slices"
	"strings"

	"gnvcc/policy"
	"gnvcc/rewrite/coarsen"
	"gnvcc/rewrite/recipe"
)

// Coarsening: a block does the work of several neighbours, whose threads are jammed
// (rewrite/coarsen/coarsen.go). What these read in common is read once, their independent loads are
// on their way together, and so many fewer blocks begin and end; it costs registers, and the warps
// that would have hidden latencies. So it is for grids of many small blocks: tried where those that
// remain still fill the GPU several times. Four blocks in one are tried first, then two, in y
// before x, as neighbours in y mostly read the same rows; two also where few waves are left. Blocks of a
// warp's threads or fewer are put beside each other first (beside.go).
//
// Every value is code of its own, for the block and the dynamic shared memory at hand.

const (
	fewestWaves = 4   // of resident blocks, as many as must be left
	lastWaves   = 1.5 // ... for two in one, which are tried last: 1.13 in floydwarshall
	oddGrid     = 16  // as many times, and more, must a grid have the blocks that don't divide it
	// registers of as many threads as are jammed, above which none is tried: a thread has 255, and
	// what the turns have in common counts once
	mostJammed = 320
)

// Coarsens says in which dimensions of the grid a block can do the work of several; in none, why. Zero:
// not known.
type Coarsens struct {
	Axes [3]bool
	Why  string
}

// Coarsenable is a kernel's.
var Coarsenable = policy.NewFact(func(c policy.Code) (out Coarsens) {
	var err error
	if out.Axes, err = coarsen.Dimensions(c.Module, c.Entry.Name); err != nil {
		out.Why = err.Error()
	}
	return out
})

// besides says why blocks of a size can't be lanes of one warp, nil if they can; nil itself: not
// known.
var besides = policy.NewFact(func(c policy.Code) func(block [3]int) error {
	return func(block [3]int) error { return coarsen.Beside(c.Module, c.Entry.Name, block) }
})

var _ = register(Lever{
	// bench/results/2026-11-22-coarsen: alone 1.39 and 1.54 in all-pairs-distance, 1.05 in iso2dfd,
	// 1.03 in lombscargle, 1.13 in floydwarshall; what it is worth over many programs is not known,
	// the place is a guess
	Name: coarsen.Lever, Idea: "blocks merged into one:", Gain: 1.02,
	Try: func(s *Situation) []recipe.Recipe {
		var out []recipe.Recipe
		for _, value := range coarseValues(s) {
			out = append(out, coarsened(s, value))
		}
		return out
	},
	Why: func(s *Situation) string {
		found, asWarp := Coarsenable.Of(s.Kernel), besides.Of(s.Kernel)
		switch k := s.Kernel; {
		case k.NoSecond != "":
			return "it needs a second entry: " + k.NoSecond
		case s.Shape.Threads() < warp && asWarp != nil && asWarp(s.Shape.Block) != nil:
			return asWarp(s.Shape.Block).Error()
		case found.Why != "":
			return found.Why
		case found.Axes == [3]bool{}:
			return "its PTX was not analysed"
		case !s.Known:
			return "its occupancy is not known"
		case s.Kernel.Default.Registers*2 > mostJammed:
			return fmt.Sprintf("two threads' work would need %d registers", 2*k.Default.Registers)
		}
		return "its grid is too small, or not divisible"
	},
	Around: coarsenAround,
	Refuse: func(k *policy.Kernel, t recipe.Term) string {
		if strings.HasSuffix(t.Value, "b") { // for these the block is looked at when it is compiled
			return ""
		}
		return Coarsenable.Of(k).Why
	},
	Words: func(k *policy.Kernel, t recipe.Term) string {
		n, axis := "", ""
		for i, d := range strings.Split(strings.TrimSuffix(t.Value, "b"), "x") {
			if d != "1" && i < 3 {
				n, axis = d, "xyz"[i:i+1]
			}
		}
		switch {
		case strings.HasSuffix(t.Value, "b"):
			return fmt.Sprintf("%s neighbouring blocks in %s side by side in one", n, axis)
		}
		return fmt.Sprintf("each block does the work of %s neighbouring blocks in %s", n, axis)
	},
})

// coarsened is the recipe for one value, and nothing else.
func coarsened(s *Situation, value string) recipe.Recipe {
	host := append(ofKind(s.Values, policy.HostValue), gridFor(s, value)...)
	return Join(spec(host), Term(coarsen.Lever, value))
}

// coarseValues are those worth trying on the launch at hand, the most promising first.
func coarseValues(s *Situation) []string {
	if s.Kernel.NoSecond != "" || !s.Known || len(ofKind(s.Values, policy.HostValue)) == 0 {
		return nil
	}
	out := besideValues(s)
	for _, n := range []int{4, 2} {
		for _, axis := range []int{1, 0} {
			if s.coarsens(axis, n, fewestWaves) {
				out = append(out, coarseValue(axis, n))
			}
		}
	}
	for _, axis := range []int{1, 0} {
		if value := coarseValue(axis, 2); s.coarsens(axis, 2, lastWaves) && !slices.Contains(out, value) {
			out = append(out, value)
		}
	}
	return out
}

func coarseValue(axis, n int) string {
	by := [3]int{1, 1, 1}
	by[axis] = n
	return fmt.Sprintf("%dx%dx%d", by[0], by[1], by[2])
}

// coarsens reports whether blocks that do the work of n in one dimension are worth trying: they
// divide the grid, or it is so large that what is left over is little, fill the GPU so many times,
// and have registers for as many threads.
func (s *Situation) coarsens(axis, n int, waves float64) bool {
	return Coarsenable.Of(s.Kernel).Axes[axis] && s.Shape.Grid[axis] > n && s.parts(axis, n, n*oddGrid) &&
		s.waves() >= waves*float64(n) &&
		s.Kernel.Default.Registers*n <= mostJammed
}

// waves is how often the launch at hand fills the GPU with resident blocks, 0: not known.
func (s *Situation) waves() float64 {
	resident := s.blocks(recipe.Recipe{}) * s.Device.SMs
	if resident == 0 {
		return 0
	}
	return float64(s.Shape.Blocks()) / float64(resident)
}

// coarsenAround tries a winner's value half and twice as large, and puts one on a winner that has
// none.
func coarsenAround(s *Situation, best policy.Trial) []recipe.Recipe {
	if s.Kernel.NoSecond != "" || !s.Known || len(ofKind(s.Values, policy.HostValue)) == 0 {
		return nil
	}
	var values []string
	if now, ok := best.Recipe.Get(coarsen.Lever, ""); ok {
		suffix := ""
		by := coarsen.Of(best.Recipe)
		axis := slices.IndexFunc(by[:], func(n int) bool { return n > 1 })
		if axis < 0 {
			return nil
		}
		beside := strings.HasSuffix(now, "b")
		if beside {
			suffix = "b"
		}
		for _, n := range []int{by[axis] / 2, by[axis] * 2} {
			if beside && s.beside(axis, n) ||
				!beside && n > 1 && n <= coarsen.Most && s.coarsens(axis, n, 1) {
				values = append(values, coarseValue(axis, n)+suffix)
			}
		}
	} else {
		for _, value := range coarseValues(s) {
			tr := s.Trial(coarsened(s, value).String())
			if tr != nil && tr.Usable() && tr.Ratio < Step {
				values = append(values, value)
			}
		}
	}
	var out []recipe.Recipe
	for _, value := range values {
		if r, ok := s.Combine(best.Recipe.Without(coarsen.Lever), coarsened(s, value)); ok {
			out = append(out, r)
		}
	}
	return out
}
