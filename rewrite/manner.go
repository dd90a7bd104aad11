package rewrite

import (
	"fmt"
	"slices"

	"gnvcc/rewrite/coarsen"
	"gnvcc/rewrite/manner"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// MannerOf is how a recipe for one second entry has it launched. What its throttling takes is known
// only with its machine code: Throttle says to how many blocks.
func MannerOf(r recipe.Recipe) manner.Manner {
	m := coarsen.Manner(r)
	m.Block = Shape(r)
	return m
}

// Launched reports whether one of a recipe's entries is launched otherwise than the kernel.
func Launched(r recipe.Recipe) bool {
	return slices.ContainsFunc(passes, func(p Pass) bool { return p.launch && Uses(r, p.Lever) })
}

// Coarsens says why a block may not do the work of several blocks of a kernel as a manner has it,
// nil if it may. block is the launches' own.
func Coarsens(m *ptx.Module, kernel string, how manner.Manner, block [3]int) error {
	if how.Beside {
		return coarsen.Beside(m, kernel, block)
	}
	dims, err := coarsen.Dimensions(m, kernel)
	if err != nil {
		return err
	}
	for i, n := range how.Coarse {
		if n > 1 && !dims[i] {
			return fmt.Errorf("it does not read blockIdx.%c", "xyz"[i])
		}
	}
	return nil
}
