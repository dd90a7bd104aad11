package rewrite

import (
	"fmt"
	"slices"

	"gnvcc/rewrite/manner"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// MannerOf is how a recipe for one second entry has it launched. What its throttling takes is known
// only with its machine code: Throttle says to how many blocks.
func MannerOf(r recipe.Recipe) manner.Manner {
	m := manner.Manner{Block: Shape(r)}
	if by := Coarsen(r); by != [3]int{1, 1, 1} {
		m.Coarse = by
	}
	return m
}

// Launched tells whether one of a recipe's entries is launched otherwise than the kernel.
func Launched(r recipe.Recipe) bool {
	return slices.ContainsFunc(passes, func(p Pass) bool { return p.launch && Uses(r, p.Lever) })
}

// Coarsens says why a block may not do the work of so many blocks of a kernel, nil if it may.
func Coarsens(m *ptx.Module, kernel string, by [3]int) error {
	dims, err := Coarsenable(m, kernel)
	if err != nil {
		return err
	}
	for i, n := range by {
		if n > 1 && !dims[i] {
			return fmt.Errorf("it does not look at its block's number in %c", "xyz"[i])
		}
	}
	return nil
}
