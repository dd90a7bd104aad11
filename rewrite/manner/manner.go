package manner

// A Manner is how a second entry is launched. The zero value is the kernel's own: as the program
// launches it.
type Manner struct {
	// Block is its block, with as many threads in all in each dimension (the lever shape); zeros: the
	// launch's own.
	Block [3]int
	// Coarse is how many neighbouring blocks' work each of its blocks does, in each dimension (the
	// lever coarsen): the grid has as many times fewer; zeros: its own alone.
	Coarse [3]int
	// Beside: the threads of these blocks are threads of one block, which is as many times as deep in
	// z; it is for launches whose blocks are 1 deep.
	Beside bool
	// Only is the one grid of launches that it is for, where its code knows that grid; zeros: any.
	// Then Coarse need not divide it: what is left over is one block more where they stand beside each
	// other, else as many as are left over.
	Only [3]int
	// Reserve keeps it to a number of resident blocks (the lever throttle).
	Reserve Reserve
}

// A Reserve is dynamic shared memory on top of what a launch asks for, so that fewer blocks are
// resident.
type Reserve struct {
	On       bool
	Dynamic  int // bytes
	Carveout int // the preferred size of the shared memory, percent of the largest
	Binary   int // the architecture that these are for, as cudaFuncAttributes.binaryVersion has it: 90
}

// largest are the sizes that a grid may have, in each dimension (CUDA programming guide, technical
// specifications).
var largest = [3]int{1<<31 - 1, 65535, 65535}

// A Step says how one dimension of a grid comes from the launch's, which is multiplied by Of and
// divided by Now. There is none where that leaves a rest, where one of the two grids is empty or
// larger than Most, or where the product is 2^31 or more (it counts threads, and their numbers
// could not count them).
type Step struct{ Of, Now, Most int }

// blocks is one dimension of the grid, 0: there is none.
func (s Step) blocks(grid int) int {
	if grid < 1 || grid > s.Most || s.Of < 1 || s.Now < 1 || grid > (1<<31-1)/s.Of ||
		grid*s.Of%s.Now != 0 || grid*s.Of/s.Now > s.Most {
		return 0
	}
	return grid * s.Of / s.Now
}

// Own reports whether grid and block are the launch's own.
func (m Manner) Own() bool { return m.Block == [3]int{} && m.Coarse == [3]int{} }

// Steps gives the grid's dimensions for launches in blocks of a size; false where blocks of that
// size can't be launched otherwise.
func (m Manner) Steps(block [3]int) (steps [3]Step, ok bool) {
	if !m.fits(block) {
		return steps, false
	}
	for i := range steps {
		s := Step{Of: 1, Now: 1, Most: largest[i]}
		if m.Block != [3]int{} {
			s.Of, s.Now = block[i], m.Block[i]
		}
		if m.Coarse != [3]int{} {
			s.Now *= m.Coarse[i]
		}
		if s.Of < 1 || s.Now < 1 {
			return steps, false
		}
		steps[i] = s
	}
	return steps, true
}

// In is the block of the launches that are done so, whose own is given.
func (m Manner) In(block [3]int) [3]int {
	switch {
	case m.Block != [3]int{}:
		return m.Block
	case m.Beside:
		block[2] *= m.Coarse[0] * m.Coarse[1] * m.Coarse[2]
	}
	return block
}

// deepest is how many threads a block may have in z, and most how many in all (CUDA programming
// guide, technical specifications).
const deepest, most = 64, 1024

// fits reports whether blocks of a launch may stand beside each other in one.
func (m Manner) fits(block [3]int) bool {
	b := m.In(block)
	return !m.Beside || block[2] == 1 && m.Coarse != [3]int{} && b[2] <= deepest &&
		min(b[0], b[1], b[2]) > 0 && b[0]*b[1]*b[2] <= most
}

// Launch gives grid and block in the place of a launch's; false where that launch can't be done so,
// and takes the kernel itself. A launch that fails has no other grid: it must go on failing.
func (m Manner) Launch(grid, block [3]int) (g, b [3]int, ok bool) {
	if m.Own() {
		return grid, block, true
	}
	steps, ok := m.Steps(block)
	ok = ok && (m.Only == [3]int{} || grid == m.Only)
	for i, s := range steps {
		if !ok {
			return [3]int{}, [3]int{}, false
		}
		rest := 0
		if m.Only != [3]int{} && m.Block == [3]int{} && grid[i] <= s.Most {
			rest = grid[i] % s.Now
		}
		g[i] = s.blocks(grid[i] - rest)
		ok = g[i] > 0
		if m.Beside {
			rest = min(rest, 1)
		}
		g[i] += rest
	}
	if !ok {
		return [3]int{}, [3]int{}, false
	}
	return g, m.In(block), true
}
