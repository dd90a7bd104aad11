package capture

import (
	"fmt"
	"slices"

	"gnvcc/profile"
)

// Kernels of which every launch has another grid, as in a factorisation: no configuration weighs
// anything, all of them together may be the whole run. Few grids stand for the family: the first
// ones, and then those with half (or twice) the blocks of any that was captured.

const (
	firstGrids = 3 // of a family, that are captured however near they are
	mostGrids  = 8 // of a family, beyond which only heavy ones are
)

// A family is all launches of a kernel that differ in nothing but the grid.
type family struct {
	blocks  []int   // of the grids of which a capture was asked for
	seconds float64 // of all launches; at the run's end
	grids   int
}

func familyOf(cubin, kernel string, block [3]int, dynamic int) string {
	return fmt.Sprint(cubin, kernel, block, dynamic)
}

func (c *Collector) family(l *profile.Launch) *family {
	key := familyOf(l.Cubin, l.Kernel, l.Block, l.Dynamic)
	if c.families[key] == nil {
		c.families[key] = &family{}
	}
	return c.families[key]
}

// wants tells whether a grid that is new would stand for something.
func (f *family) wants(grid [3]int) bool {
	if len(f.blocks) < firstGrids {
		return true
	}
	n := blocksOf(grid)
	for _, b := range f.blocks {
		if n < 2*b && b < 2*n {
			return false
		}
	}
	return len(f.blocks) < mostGrids
}

// grows tells whether a grid has twice the blocks of any before it: where grids become larger, the
// last ones weigh most.
func (f *family) grows(grid [3]int) bool {
	return len(f.blocks) >= firstGrids && blocksOf(grid) >= 2*slices.Max(f.blocks)
}

func blocksOf(grid [3]int) int { return grid[0] * grid[1] * grid[2] }

// sum adds up the families' times.
func (c *Collector) sum() {
	for _, s := range c.order {
		f := c.family(s.launch)
		f.seconds += s.use.Seconds
		f.grids++
	}
}
