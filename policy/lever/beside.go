package lever

import (
	"slices"
	"strings"

	"gnvcc/policy"
	"gnvcc/rewrite/coarsen"
	"gnvcc/rewrite/recipe"
)

// Blocks beside each other, as lanes of one warp (coarsen=32x1x1b, rewrite/coarsen/beside.go): for
// launches of many blocks that have fewer threads than a warp, or as many. The other lanes of their
// warps are empty, and only 16 to 32 such blocks are resident on a multiprocessor. Blocks of 256,
// 128 and 64 threads are tried, where enough of them are left.

// fewestBeside is how many blocks must be left for each multiprocessor.
const fewestBeside = 2

// besideValues are those worth trying on the launch at hand.
func besideValues(s *Situation) []string {
	refuses := besides.Of(s.Kernel)
	if refuses == nil || s.Shape.Dynamic != 0 || s.Shape.Threads() == 0 || refuses(s.Shape.Block) != nil {
		return nil
	}
	axis := 0
	for d, n := range s.Shape.Grid {
		if n > s.Shape.Grid[axis] {
			axis = d
		}
	}
	var out []string
	for threads := coarsen.MostBeside; threads > warp; threads /= 2 {
		if n := threads / s.Shape.Threads(); s.beside(axis, n) {
			out = append(out, coarseValue(axis, n)+"b")
		}
	}
	return out
}

// beside reports whether n blocks beside each other are worth trying.
func (s *Situation) beside(axis, n int) bool {
	return n > 1 && n <= coarsen.MaxBeside && n <= s.Shape.Grid[axis] && s.parts(axis, n, n) &&
		n*s.Shape.Threads() <= coarsen.MostBeside &&
		s.Shape.Blocks() >= n*fewestBeside*s.Device.SMs
}

// gridFor is the condition on the grid that a value needs which does not divide it: its code knows
// how many blocks there are.
func gridFor(s *Situation, value string) []policy.Value {
	size := strings.TrimSuffix(value, "b")
	axis := slices.IndexFunc(strings.Split(size, "x"), func(n string) bool { return n != "1" })
	if axis < 0 {
		return nil
	}
	n, err := recipe.Number(strings.Split(size, "x")[axis], 1, coarsen.MaxBeside)
	if err != nil || s.Shape.Grid[axis]%n == 0 {
		return nil
	}
	c := recipe.Condition{Kind: recipe.HostGrid, Size: s.Shape.Grid}
	return []policy.Value{{Name: c.Key(), Kind: policy.HostValue, Is: c}}
}
