package manner

import "testing"

// As many threads in blocks of another size: only where the block divides them, and where a grid
// may be so large.
func TestOtherBlocks(t *testing.T) {
	for _, c := range []struct{ grid, block, now, want [3]int }{
		{[3]int{100, 1, 1}, [3]int{256, 1, 1}, [3]int{128, 1, 1}, [3]int{200, 1, 1}},
		{[3]int{100, 1, 1}, [3]int{256, 1, 1}, [3]int{1024, 1, 1}, [3]int{25, 1, 1}},
		{[3]int{101, 1, 1}, [3]int{256, 1, 1}, [3]int{1024, 1, 1}, [3]int{}},
		{[3]int{3, 5, 7}, [3]int{16, 16, 2}, [3]int{48, 4, 1}, [3]int{1, 20, 14}},
		{[3]int{3, 5, 7}, [3]int{16, 16, 2}, [3]int{16, 16, 4}, [3]int{}},
		{[3]int{0, 1, 1}, [3]int{256, 1, 1}, [3]int{128, 1, 1}, [3]int{}},
		// 131070 blocks, and one does not divide
		{[3]int{1, 65535, 1}, [3]int{16, 16, 1}, [3]int{32, 8, 1}, [3]int{}},
		{[3]int{2, 65535, 1}, [3]int{16, 16, 1}, [3]int{32, 8, 1}, [3]int{}},
		{[3]int{2, 32767, 1}, [3]int{16, 16, 1}, [3]int{32, 8, 1}, [3]int{1, 65534, 1}},
		// a launch that fails goes on failing
		{[3]int{2, 70000, 1}, [3]int{16, 16, 1}, [3]int{16, 32, 1}, [3]int{}},
		{[3]int{1 << 23, 1, 1}, [3]int{256, 1, 1}, [3]int{512, 1, 1}, [3]int{}}, // 2^31 threads
		{[3]int{1<<23 - 2, 1, 1}, [3]int{256, 1, 1}, [3]int{512, 1, 1}, [3]int{1<<22 - 1, 1, 1}},
		{[3]int{1, 1, 1}, [3]int{1, 1, 1}, [3]int{0, 1, 1}, [3]int{}},
		{[3]int{4, 4, 1}, [3]int{16, 0, 1}, [3]int{16, 4, 1}, [3]int{}},
	} {
		got, block, ok := Manner{Block: c.now}.Launch(c.grid, c.block)
		if got != c.want || ok != (c.want != [3]int{}) || ok && block != c.now {
			t.Errorf("%v blocks of %v in %v: %v, %v, want %v", c.grid, c.block, c.now, got, ok, c.want)
		}
	}
}

// Fewer blocks, each of which does the work of several: only where they divide the grid.
func TestFewerBlocks(t *testing.T) {
	block := [3]int{32, 8, 1}
	for _, c := range []struct{ grid, coarse, want [3]int }{
		{[3]int{100, 7, 1}, [3]int{2, 1, 1}, [3]int{50, 7, 1}},
		{[3]int{101, 7, 1}, [3]int{2, 1, 1}, [3]int{}},
		{[3]int{101, 6, 3}, [3]int{1, 2, 1}, [3]int{101, 3, 3}},
		{[3]int{1, 1, 1}, [3]int{2, 1, 1}, [3]int{}},
		{[3]int{0, 2, 1}, [3]int{1, 2, 1}, [3]int{}},
		{[3]int{2, 1, 0}, [3]int{2, 1, 1}, [3]int{}},
		// the whole grid, whose threads nobody counts
		{[3]int{1<<31 - 2, 1, 1}, [3]int{2, 1, 1}, [3]int{1<<30 - 1, 1, 1}},
		// launches that fail
		{[3]int{1 << 31, 1, 1}, [3]int{2, 1, 1}, [3]int{}},
		{[3]int{4, 65536, 1}, [3]int{1, 2, 1}, [3]int{}},
		{[3]int{4, 65536, 1}, [3]int{2, 1, 1}, [3]int{}},
		{[3]int{4, 4, 1}, [3]int{2, 0, 1}, [3]int{}},
	} {
		got, now, ok := Manner{Coarse: c.coarse}.Launch(c.grid, block)
		if got != c.want || ok != (c.want != [3]int{}) || ok && now != block {
			t.Errorf("%v blocks, %v in one: %v of %v, %v, want %v", c.grid, c.coarse, got, now, ok, c.want)
		}
	}
}

// Its own launch is any launch, also one that fails.
func TestOwn(t *testing.T) {
	m := Manner{Reserve: Reserve{On: true, Dynamic: 100}}
	grid, block := [3]int{0, 70000, 1}, [3]int{2000, 1, 1}
	if g, b, ok := m.Launch(grid, block); g != grid || b != block || !ok || !m.Own() {
		t.Errorf("%v %v %v", g, b, ok)
	}
}

// Blocks beside each other: as deep as there are; what is left over takes a block more, of launches
// whose grid is known.
func TestBlocksBeside(t *testing.T) {
	for _, c := range []struct {
		grid, block, coarse, only, want, deep [3]int
	}{
		{[3]int{64, 3, 1}, [3]int{8, 1, 1}, [3]int{32, 1, 1}, [3]int{}, [3]int{2, 3, 1},
			[3]int{8, 1, 32}},
		{[3]int{65, 3, 1}, [3]int{8, 1, 1}, [3]int{32, 1, 1}, [3]int{}, [3]int{}, [3]int{}},
		{[3]int{65, 3, 1}, [3]int{8, 1, 1}, [3]int{32, 1, 1}, [3]int{65, 3, 1}, [3]int{3, 3, 1},
			[3]int{8, 1, 32}},
		{[3]int{5, 3, 2}, [3]int{4, 4, 1}, [3]int{1, 2, 1}, [3]int{5, 3, 2}, [3]int{5, 2, 2},
			[3]int{4, 4, 2}},
		{[3]int{64, 3, 1}, [3]int{8, 1, 1}, [3]int{32, 1, 1}, [3]int{65, 3, 1}, [3]int{}, [3]int{}},
		{[3]int{31, 1, 1}, [3]int{8, 1, 1}, [3]int{32, 1, 1}, [3]int{31, 1, 1}, [3]int{}, [3]int{}},
		{[3]int{64, 1, 1}, [3]int{8, 1, 2}, [3]int{32, 1, 1}, [3]int{}, [3]int{}, [3]int{}}, // not flat
		{[3]int{128, 1, 1}, [3]int{8, 1, 1}, [3]int{128, 1, 1}, [3]int{}, [3]int{}, [3]int{}},
		{[3]int{64, 1, 1}, [3]int{32, 1, 1}, [3]int{64, 1, 1}, [3]int{}, [3]int{}, [3]int{}},
		// launches that fail
		{[3]int{64, 65537, 1}, [3]int{8, 1, 1}, [3]int{1, 2, 1}, [3]int{64, 65537, 1}, [3]int{},
			[3]int{}},
		{[3]int{64, 0, 1}, [3]int{8, 1, 1}, [3]int{2, 1, 1}, [3]int{}, [3]int{}, [3]int{}},
		{[3]int{64, 1, 1}, [3]int{0, 1, 1}, [3]int{2, 1, 1}, [3]int{}, [3]int{}, [3]int{}},
	} {
		m := Manner{Coarse: c.coarse, Beside: true, Only: c.only}
		got, deep, ok := m.Launch(c.grid, c.block)
		if got != c.want || deep != c.deep || ok != (c.want != [3]int{}) {
			t.Errorf("%v blocks of %v, %v beside: %v of %v, %v", c.grid, c.block, c.coarse, got, deep, ok)
		}
	}
}

// Of one grid alone the blocks that are left over are launched each for itself.
func TestBlocksLeftOver(t *testing.T) {
	for _, c := range []struct{ grid, coarse, want [3]int }{
		{[3]int{101, 7, 1}, [3]int{4, 1, 1}, [3]int{26, 7, 1}},
		{[3]int{103, 7, 1}, [3]int{4, 1, 1}, [3]int{28, 7, 1}},
		{[3]int{3, 9, 1}, [3]int{1, 8, 1}, [3]int{3, 2, 1}},
		{[3]int{3, 7, 1}, [3]int{1, 8, 1}, [3]int{}},
		{[3]int{3, 65537, 1}, [3]int{1, 2, 1}, [3]int{}},
		{[3]int{3, 0, 1}, [3]int{1, 2, 1}, [3]int{}},
	} {
		m := Manner{Coarse: c.coarse, Only: c.grid}
		got, _, ok := m.Launch(c.grid, [3]int{256, 1, 1})
		if got != c.want || ok != (c.want != [3]int{}) {
			t.Errorf("%v blocks, %v in one: %v, %v, want %v", c.grid, c.coarse, got, ok, c.want)
		}
	}
}
