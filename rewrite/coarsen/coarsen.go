package coarsen

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/manner"
	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/recipe"
)

// Lever is the lever's name.
const Lever = "coarsen"

// coarsen=XxYxZ has each block of a second entry do the work of so many neighbouring blocks of the
// kernel in each dimension. The host launches it with a grid that is as many times smaller, in
// blocks of the same size.
//
//	                                mov.u32 %gnvcc_jb0, %ctaid.x;
//	                                mul.lo.u32 %gnvcc_jb0, %gnvcc_jb0, 2;
//	                                add.u32 %gnvcc_jb1, %gnvcc_jb0, 1;
//	mov.u32 %r1, %ctaid.x;          mov.u32 %r1, %gnvcc_jb0;
//	                                mov.u32 %gnvcc_j1_r1, %gnvcc_jb1;
//	ld.global.f32 %f1, [%rd5];      ld.global.f32 %f1, [%rd5];     (once: its address is the same)
//	fma.rn.f32 %f3, %f1, %f2, %f3;  fma.rn.f32 %f3, %f1, %f2, %f3;
//	                                fma.rn.f32 %gnvcc_j1_f3, %f1, %gnvcc_j1_f2, %gnvcc_j1_f3;
//
// So a thread does the work of several threads of the kernel, which are called its *turns* here:
// turn u is the thread of the same number in block C*ctaid+u. They are not done one after the
// other but *jammed*: of each statement that depends on the turn there are as many copies, side by
// side, with registers of their own; of one that does not there is one. Loads of what all turns
// read, loop counters and constants are shared, and independent loads are on their way together.
//
// Behind a b (coarsen=32x1x1b) they stand side by side, as lanes of one warp
// (beside.go). That is for blocks of fewer threads than a warp has.
//
// A branch that depends on the turn is taken where all turns agree. Where they do not, the thread
// leaves the jammed code: what each turn needs from there on is put into local memory, and the
// turns go on one after the other, from that branch on, in a copy of the kernel's own code, to its
// end.
//
// Where the launches' grid is known, host(grid), it need not be a multiple: the blocks that are
// left over are launched each for itself, and carry out the kernel's own code, which stands
// behind.
//
// Shared arrays, dynamic ones of a known size too, stand once for each turn, one behind the other,
// so that an access of turn u is the kernel's own, u arrays further on. A barrier stands once, and
// instructions of a warp once for each turn: both only where all threads stay in the jammed code,
// as they do where shared memory is used. There the ways on which turns may disagree are small, and
// under guards (ways.go).
//
// Allowed are kernels whose blocks don't wait for each other, with instructions that are known,
// calls of functions that do nothing but compute (calls.go), and without carries and special
// registers other than the launch's shape and the lane (Dimensions), nor arrays in local memory.
//
// Safe: each turn carries out the statements of the thread that it stands for, in their order,
// with the same operands; the turns of a thread are interleaved as any threads of different blocks
// may be. What is read once for all turns is read by a load that orders nothing (weak), whose
// value two threads may see alike. Floating-point statements are copied as they stand. Checked: ptxas works on the
// arithmetic anew (rewrite/contract.go).
//
// From: unroll and jam over threads: Magni, Dubach, O'Boyle, A Large-Scale Cross-Architecture
// Evaluation of Thread-Coarsening, SC 2013.
func Apply(k *pass.Kernel, terms []recipe.Term) error {
	value, err := pass.Only(terms)
	if err != nil {
		return err
	}
	c, err := parseCoarsen(value)
	if err != nil {
		return err
	}
	if k.Options.Coarse[k.Name] != c.by {
		return errors.New("it is for a second entry, which the host launches with a smaller grid")
	}
	outer, err := coarseOutside(k.Module, k.Func)
	if err != nil {
		return err
	}
	if text := string(k.Text()); strings.Contains(text, coarsePrefix) ||
		strings.Contains(text, coarseLabel) || strings.Contains(text, coarseShared) ||
		strings.Contains(text, coarseLocal) {
		return errCoarseNames
	}
	dim := slices.IndexFunc(c.by[:], func(n int) bool { return n > 1 })
	n := c.by[dim]
	if c.beside {
		block := k.Options.Blocks[k.Name]
		if block[2] != n {
			return errors.New("it is for blocks of a known size")
		}
		return beside(k, dim, n, [3]int{block[0], block[1], 1}, oddGrid(k, dim, n))
	}
	if outer.size = k.Options.Dynamic[k.Name]; len(outer.names) > 0 && outer.size <= 0 {
		return errors.New("it uses dynamic shared memory: it is for a second entry, chosen by host(dynamic)")
	}
	read, err := readCoarse(k.Func, outer, dim)
	if err != nil {
		return err
	}
	if read.size > 0 {
		if err := k.TakesShared(); err != nil {
			return err
		}
		if all := n*read.stride() + k.Options.Dynamic[k.Name]; all > pass.SharedLimit {
			return fmt.Errorf("it would have %d bytes of shared memory, and %d are the most", all,
				pass.SharedLimit)
		}
	}
	body, err := coarseText(read, n, oddGrid(k, dim, n))
	if err != nil {
		return err
	}
	inside := k.Inside()
	text := k.Text()
	return k.SetText([]byte(string(text[:inside.Start]) + body + string(text[inside.End:])))
}

// oddGrid is the grid in a dimension where it is known and n do not divide it, else 0.
func oddGrid(k *pass.Kernel, dim, n int) int {
	grid := k.Options.Grids[k.Name]
	if min(grid[0], grid[1], grid[2]) <= 0 || grid[dim]%n == 0 {
		return 0
	}
	return grid[dim]
}

// Most bounds how many blocks' work one block does: registers and code grow with it. It does
// not where they stand side by side (MaxBeside).
const Most = 8

// A coarseValue is the lever's value.
type coarseValue struct {
	by     [3]int
	beside bool // they stand next to each other, as lanes of a warp
}

// parseCoarsen reads it.
func parseCoarsen(value string) (c coarseValue, err error) {
	size, ofWarp := strings.CutSuffix(value, "b")
	most := Most
	if c.beside = ofWarp; ofWarp {
		most = MaxBeside
	}
	parts := strings.Split(size, "x")
	if len(parts) != 3 {
		return c, fmt.Errorf("coarsen=%s: how many blocks one does is XxYxZ or XxYxZb", value)
	}
	others := 0
	for i := range c.by {
		if c.by[i], err = recipe.Number(parts[i], 1, most); err != nil {
			return coarseValue{}, fmt.Errorf("coarsen=%s: %w", value, err)
		}
		if c.by[i] > 1 {
			others++
		}
	}
	if others != 1 {
		return coarseValue{}, fmt.Errorf("coarsen=%s: one of the three dimensions is other than 1", value)
	}
	return c, nil
}

// valueOf is the lever's value in a recipe for one second entry, if it has one.
func valueOf(r recipe.Recipe) (c coarseValue, ok bool) {
	value, ok := r.Get(Lever, "")
	if !ok {
		return c, false
	}
	c, err := parseCoarsen(value)
	return c, err == nil // Check has seen it
}

// Of gives how many of the kernel's blocks one block of a second entry does, in each
// dimension, by a recipe for that entry alone; ones where it is launched with the kernel's own
// grid. Code made by such a recipe is wrong under the launch's own grid, and other code under this
// one: so the name of the entry has to tell them apart, and Options.Coarse has to say that the host
// sees to it.
func Of(r recipe.Recipe) [3]int {
	if c, ok := valueOf(r); ok {
		return c.by
	}
	return [3]int{1, 1, 1}
}

// Manner is how such a recipe has its entry launched, as far as coarsen is concerned.
func Manner(r recipe.Recipe) (m manner.Manner) {
	c, ok := valueOf(r)
	if !ok {
		return m
	}
	m.Coarse, m.Beside = c.by, c.beside
	guards, err := r.Guards()
	if err != nil || len(guards) != 1 {
		return m
	}
	grid := guards[0].Grid()
	for i, n := range grid {
		if n > 0 && n%c.by[i] != 0 && min(grid[0], grid[1], grid[2]) > 0 {
			m.Only = grid
		}
	}
	return m
}

// Check looks at a recipe with one spec term or none. One without any may be what is left of
// a recipe for a second entry: the pass asks for more.
func Check(r recipe.Recipe) error {
	value, ok := r.Get(Lever, "")
	if !ok {
		return nil
	}
	c, err := parseCoarsen(value)
	if err != nil {
		return err
	}
	if _, shaped := r.Get("shape", ""); shaped {
		return fmt.Errorf("recipe %q: shape counts on blocks that do what the kernel's do", r)
	}
	guards, err := r.Guards()
	switch {
	case err != nil:
		return err
	case len(guards) == 0 && !r.HasSecond():
		return nil
	case len(guards) != 1:
		return fmt.Errorf("recipe %q: coarsen is for a second entry: spec{host(block)=XxYxZ} coarsen=%s",
			r, value)
	case guards[0].Block() == [3]int{}:
		return fmt.Errorf(
			"recipe %q: coarsen needs the condition host(block)=XxYxZ, the blocks that the program launches",
			r)
	case c.beside:
		block := guards[0].Block()
		t, n := pass.Threads(block), c.by[0]*c.by[1]*c.by[2]
		if dynamic, known := guards[0].Dynamic(); block[2] != 1 || t <= 0 || pass.Warp%t != 0 ||
			t*n > MostBeside || !known || dynamic != 0 {
			return fmt.Errorf("recipe %q: coarsen=%s is for host(dynamic)=0 and host(block)=XxYx1 of a "+
				"whole part of %d threads, of which at most %d would stand in one", r, value, pass.Warp, MostBeside)
		}
	}
	if m := Manner(r); m.Only != [3]int{} {
		if _, _, ok := m.Launch(m.Only, guards[0].Block()); !ok {
			return fmt.Errorf("recipe %q: coarsen=%s can't be launched in place of a grid of %dx%dx%d blocks",
				r, value, m.Only[0], m.Only[1], m.Only[2])
		}
	}
	return nil
}
