package rewrite

import (
	"errors"
	"fmt"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/await"
	"gnvcc/rewrite/ptx/ir"
	"gnvcc/rewrite/recipe"
)

// shape=XxYxZ launches a second entry with blocks of that size, and as many threads in all in each
// dimension.
//
//	spec{host(block)=16x16x1,host(dynamic)=0} shape=64x4x1        <<<dim3(64, 80), dim3(16, 16)>>>  ->  <<<dim3(16, 320), dim3(64, 4)>>>
//
// The code is not touched: the host stub launches the second entry, which holds the kernel's own
// code, with another block, and with a grid that it computes from the launch's (package manner). A
// launch whose threads the new block does not divide, in one of the three dimensions, whose grid
// would be larger than a grid may be, or which has 2^31 threads and more in a dimension, takes the
// kernel itself.
// Telling ptxas the block (.reqntid) would bring nothing to such a kernel, since all that it does
// with the block's size is a multiplication whose factor is in constant memory, and would have
// ptxas work on the arithmetic anew.
//
// Allowed where the PTX proves that the kernel uses thread and block numbers only as the index
// over the whole grid (ir.IndexOnly). Not where blocks may wait for each other, which counts
// on how many are resident; where the source names its block (__block_size__) or a cluster; nor
// with more threads than __launch_bounds__ allows. Its second value, a number of the kernel's own
// blocks, is a hint, and has been heard: it has given the code its registers. Not in a copy that
// was compiled for the block's or the grid's size. Its condition names the block,
// host(block)=XxYxZ: of a launch with another one it is not known to be sound, and a launch that
// fails must go on failing.
//
// Safe: every thread of the grid runs once, with the same index. Where the block's first dimension
// is a multiple of 32 before and after, the warps are the same, too, and only stand in other
// blocks, of which the kernel knows nothing: exact by construction. Else the warps are others, and
// a kernel with a race between threads that happened to be of one warp could come out otherwise:
// checked.
//
// From: thread and block shapes as compilers choose them for generated kernels; here the program
// has chosen one already.

// Reshaping is the lever's name.
const Reshaping = "shape"

// shaped reads the lever's value: zeros where the recipe has none.
func shaped(r recipe.Recipe) (block [3]int, err error) {
	value, ok := r.Get(Reshaping, "")
	if !ok {
		return block, nil
	}
	if block, err = parseBlock(value); err != nil {
		return [3]int{}, fmt.Errorf("%s=%s: %w", Reshaping, value, err)
	}
	return block, nil
}

func parseBlock(value string) (block [3]int, err error) {
	parts := strings.Split(value, "x")
	if len(parts) != 3 {
		return block, errors.New("a block is XxYxZ")
	}
	// CUDA programming guide, technical specifications
	for i, most := range []int{pass.MaxThreads, pass.MaxThreads, 64} {
		if block[i], err = recipe.Number(parts[i], 1, most); err != nil {
			return block, err
		}
	}
	if n := pass.Threads(block); n > pass.MaxThreads {
		return block, fmt.Errorf("a block of %d threads; %d are the most", n, pass.MaxThreads)
	}
	return block, nil
}

// Shape gives the block that a recipe for one second entry is launched with, zeros where it is the
// launch's own.
func Shape(r recipe.Recipe) [3]int {
	block, _ := shaped(r) // Check has seen it
	return block
}

// sameWarps reports whether blocks of two sizes, of one grid of threads, have the same warps.
func sameWarps(a, b [3]int) bool { return a[0] > 0 && a[0]%pass.Warp == 0 && b[0]%pass.Warp == 0 }

// reshapes gives the block of each entry of a recipe that is launched with another one, before and
// after.
func reshapes(r recipe.Recipe) (out [][2][3]int) {
	entries, err := r.Entries()
	if err != nil {
		return nil
	}
	for _, e := range entries {
		guards, err := e.Guards()
		if now := Shape(e); now != [3]int{} && err == nil && len(guards) == 1 {
			out = append(out, [2][3]int{guards[0].Block(), now})
		}
	}
	return out
}

// checkShape looks at a recipe with one spec term or none.
func checkShape(r recipe.Recipe) error {
	now, err := shaped(r)
	if now == [3]int{} || err != nil {
		return err
	}
	guards, err := r.Guards()
	if err != nil || len(guards) == 0 {
		return fmt.Errorf(
			"recipe %q: shape is for a second entry: spec{host(block)=XxYxZ} shape=%dx%dx%d", r, now[0],
			now[1], now[2])
	}
	named := false
	for _, c := range guards[0].Conditions {
		switch c.Kind {
		case recipe.BlockDim, recipe.GridDim:
			return fmt.Errorf("recipe %q: a copy for %s is not launched with another", r, c)
		case recipe.HostBlock:
			named = true
			if c.Size == now {
				return fmt.Errorf("recipe %q: these launches have such blocks", r)
			}
		}
	}
	if !named {
		return fmt.Errorf(
			"recipe %q: shape needs the condition host(block)=XxYxZ, the blocks that the program launches",
			r)
	}
	return nil
}

// Shapeable says why a kernel must not be launched in blocks of another size, nil if it may.
func Shapeable(m *ptx.Module, kernel string) error {
	f := m.Entry(kernel)
	if f == nil {
		return fmt.Errorf("no kernel %s in the PTX", kernel)
	}
	for _, d := range f.Directives {
		switch {
		case d.Name == ".reqntid", strings.Contains(d.Name, "cluster"), strings.Contains(d.Name, "nctapercluster"):
			return fmt.Errorf("the source asks for %s %s, which refers to the original blocks", d.Name, d.Args)
		}
	}
	waits, err := await.Why(m, kernel)
	if err != nil {
		return err
	}
	if waits != "" {
		return fmt.Errorf("its blocks may wait for each other (%s)", waits)
	}
	if err := ir.IndexOnly(m, kernel); err != nil {
		return fmt.Errorf("it may see its launch shape: %w", err)
	}
	return nil
}

// Takes says why a kernel can't be launched with a block, from its directives and its registers (0:
// not known).
func Takes(f *ptx.Func, registers int, block [3]int) error {
	n := pass.Threads(block)
	if most, _ := f.Threads(); most > 0 && n > most {
		return fmt.Errorf("blocks of %d threads: the source allows %d (__launch_bounds__)", n, most)
	}
	if registers <= 0 {
		return errors.New("its registers are not known")
	}
	if maxBlock(registers) < wholeWarps(n) {
		return fmt.Errorf("with %d registers a thread blocks of %d threads could not be launched",
			registers, n)
	}
	return nil
}
