package lever

import (
	"fmt"
	"slices"
	"strings"

	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/manner"
	"gnvcc/rewrite/recipe"
)

// Launch shapes: as many threads in blocks of another size, for kernels that see nothing of their
// blocks (rewrite/shape.go). Smaller blocks make room for each other one by one and end one by one,
// larger ones cost fewer starts, and in two dimensions the shape says which threads are one warp:
// 16x16 reads two pieces of memory at a time, 32x8 one. Tried are the common sizes that divide the
// launch's threads, in each dimension; all of them are entries with nvcc's own code, so that none
// is compiled.
//
// A block's size acts on the same thing as register caps, throttling and bypassing: which warps are
// resident. So its own values are measured alone, and where it meets the two that count blocks or a
// block's warps, those are counted anew (Combine).

// A Sight says whether a kernel sees more of its launch's shape than the index over the grid. Zero:
// not known.
type Sight struct {
	Shapeable bool
	Why       string // why not
}

// Shapeable is a kernel's.
var Shapeable = policy.NewFact(func(c policy.Code) Sight {
	if err := rewrite.Shapeable(c.Module, c.Entry.Name); err != nil {
		return Sight{Why: err.Error()}
	}
	return Sight{Shapeable: true}
})

var _ = register(Lever{
	// bench/results/2026-11-22-headroom: 49 other programs, the best of up to 24 shapes
	Name: rewrite.Reshaping, Idea: "blocks of", Gain: 1.023,
	Try: func(s *Situation) []recipe.Recipe {
		host := ofKind(s.Values, policy.HostValue)
		if !Shapeable.Of(s.Kernel).Shapeable || s.Kernel.NoSecond != "" || len(host) == 0 {
			return nil
		}
		var out []recipe.Recipe
		for _, b := range shapes(s) {
			out = append(out, s.shaped(b))
		}
		return out
	},
	Why: func(s *Situation) string {
		switch k := s.Kernel; {
		case Shapeable.Of(k).Why != "":
			return Shapeable.Of(k).Why
		case k.NoSecond != "":
			return "it needs a second entry: " + k.NoSecond
		case !Shapeable.Of(k).Shapeable:
			return "its PTX was not analysed"
		}
		return "no other block size divides its threads"
	},
	Around: shapesAround,
	Refuse: func(k *policy.Kernel, t recipe.Term) string { return Shapeable.Of(k).Why },
	Words: func(k *policy.Kernel, t recipe.Term) string {
		return "blocks of " + strings.TrimSuffix(strings.TrimSuffix(t.Value, "x1"), "x1") + " threads"
	},
})

func shapeTerm(b [3]int) recipe.Recipe {
	return Term(rewrite.Reshaping, fmt.Sprintf("%dx%dx%d", b[0], b[1], b[2]))
}

// shaped is an entry of the kernel in other blocks.
func (s *Situation) shaped(b [3]int) recipe.Recipe {
	return Join(spec(ofKind(s.Values, policy.HostValue)), shapeTerm(b))
}

const mostShapes = 24 // tried on one launch, those nearest in size first

// shapes are the blocks worth trying on the launch at hand: first those as large as the program's,
// then others, nearest size first.
func shapes(s *Situation) [][3]int {
	var all [3]int
	for i := range all {
		all[i] = s.Shape.Grid[i] * s.Shape.Block[i]
	}
	own := s.Shape.Threads()
	var out [][3]int
	add := func(x, y, z int) {
		b := [3]int{x, y, z}
		if b != s.Shape.Block && s.takes(b) && !slices.Contains(out, b) {
			out = append(out, b)
		}
	}
	if all[1] == 1 && all[2] == 1 {
		for _, x := range []int{32, 64, 96, 128, 192, 256, 320, 384, 512, 640, 768, 1024} {
			add(x, 1, 1)
		}
	} else {
		for _, n := range []int{own, 64, 128, 256, 512} {
			for _, x := range rows(all[0]) {
				// in depth: one layer, or as many as the program has
				for _, z := range []int{1, s.Shape.Block[2]} {
					if y := divisor(all[1], n/(x*z)); 2*x*y*z > n && x*y*z >= warp {
						add(x, y, z)
					}
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b [3]int) int { return distance(own, a) - distance(own, b) })
	return out[:min(len(out), mostShapes)]
}

// rows are the first dimensions worth trying for so many threads in a row: powers of two, and where
// a warp does not divide them the divisors behind 32, 64 and 128.
func rows(all int) []int {
	out := []int{16, 32, 64, 128, 256}
	if all%warp != 0 {
		for _, from := range []int{32, 64, 128} {
			for x := from; x < 2*from; x++ {
				if all%x == 0 {
					out = append(out, x)
					break
				}
			}
		}
	}
	return out
}

// divisor is the largest divisor of a number that is not above a bound; 0 where the bound is below
// 1.
func divisor(of, most int) int {
	for d := min(of, most); d > 0; d-- {
		if of%d == 0 {
			return d
		}
	}
	return 0
}

// distance of a block's size from another's, in doublings and halvings.
func distance(own int, b [3]int) int {
	n, d := b[0]*b[1]*b[2], 0
	for ; n < own; n *= 2 {
		d++
	}
	for ; n > own; n = (n + 1) / 2 {
		d++
	}
	return d
}

// takes reports whether the launch at hand can be done in blocks of a size.
func (s *Situation) takes(b [3]int) bool {
	n := b[0] * b[1] * b[2]
	_, _, ok := manner.Manner{Block: b}.Launch(s.Shape.Grid, s.Shape.Block)
	return ok && n <= min(1024, s.Largest) && (s.Kernel.MaxThreads == 0 || n <= s.Kernel.MaxThreads)
}

// shapesAround tries a winner's block half and twice as large in each dimension, and puts a block
// on a winner that has a copy for values: that copy then does not know the block.
func shapesAround(s *Situation, best policy.Trial) []recipe.Recipe {
	if !Shapeable.Of(s.Kernel).Shapeable || s.Kernel.NoSecond != "" {
		return nil
	}
	var out []recipe.Recipe
	if b := rewrite.Shape(best.Recipe); b != [3]int{} {
		for i := range b {
			for _, n := range []int{b[i] / 2, b[i] * 2} {
				near := b
				near[i] = n
				if n < 1 || n*b[0]*b[1]*b[2]/b[i] < warp || near == s.Shape.Block || !s.takes(near) {
					continue
				}
				if r, ok := s.Combine(best.Recipe, shapeTerm(near)); ok {
					out = append(out, r)
				}
			}
		}
		return out
	}
	free, ok := withoutBlock(best.Recipe)
	if !ok {
		return nil
	}
	for _, b := range shapes(s) {
		r := s.shaped(b)
		if tr := s.Trial(r.String()); tr != nil && tr.Usable() && tr.Ratio < Step {
			if both, ok := s.Combine(free, r); ok {
				out = append(out, both)
			}
		}
	}
	return out
}

// withoutBlock returns a recipe for one copy that is compiled for a block or a grid, and for other
// values too, without the former; false for any other recipe.
func withoutBlock(r recipe.Recipe) (recipe.Recipe, bool) {
	out, found := r.Without(recipe.Second), false
	for _, t := range r.Terms {
		g, err := t.Guard()
		if !t.IsSecond() {
			continue
		}
		if err != nil || found {
			return r, false
		}
		found = true
		left := slices.DeleteFunc(slices.Clone(g.Conditions), func(c recipe.Condition) bool {
			return c.Kind == recipe.BlockDim || c.Kind == recipe.GridDim
		})
		if len(left) == 0 || len(left) == len(g.Conditions) {
			return r, false
		}
		out = out.With(recipe.Guard{Conditions: left, Own: g.Own}.Term())
	}
	return out, found
}
