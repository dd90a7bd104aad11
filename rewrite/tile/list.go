package tile

import (
	"fmt"
	"slices"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// What of a kernel could be tiled, and what it looks like: for who chooses what to try.

// A Tiling is one loop's tile.
type Tiling struct {
	Loop  int // tile@Loop=Turns
	Turns int
	Bytes int // of shared memory
	Boxes []Box
}

// A Box is one of a tile's boxes, in the terms of Han and Abdelrahman, section 4.2: what could
// tell whether it pays.
type Box struct {
	Index      int     // tile@Loop=Turns:Index is for this one alone
	Reuse      float64 // threads of a block whose first load reads the same element, on average
	Bytes      int     // of shared memory
	Sectors    float64 // of 32 bytes that a warp's first load touches
	Loads      int     // that are read from the tile in each turn
	Low, High  [2]int  // the least and largest offset from the first load: rows, columns in elements
	Operations [2]int  // that compute: in the loop, and behind it
	Aligned    [2]int  // other accesses to global memory of which a warp's lie side by side, there
	Scattered  [2]int  // and the others
}

// FeatureNames are the names of what TileBox.Features returns: 002's eighteen, and how many turns a
// tile is for.
var FeatureNames = []string{"reuse", "shared bytes", "sectors a warp", "loads", "least row",
	"largest row", "least column", "largest column", "operations in the loop",
	"operations behind it", "aligned accesses in the loop", "aligned accesses behind it",
	"scattered accesses in the loop", "scattered accesses behind it", "registers", "blocks", "threads",
	"tiles a thread", "turns"}

// Features are a box's, for a kernel of so many registers that is launched with so many blocks and
// makes so many tiles in all its turns (0: not known).
func (b *Box) Features(t *Tiling, registers int, grid, block [3]int, tiles int) []float64 {
	all := []float64{b.Reuse, float64(t.Bytes), b.Sectors}
	for _, n := range []int{b.Loads, b.Low[0], b.High[0], b.Low[1], b.High[1], b.Operations[0],
		b.Operations[1], b.Aligned[0], b.Aligned[1], b.Scattered[0], b.Scattered[1], registers,
		pass.Threads(grid), pass.Threads(block), tiles, t.Turns} {
		all = append(all, float64(n))
	}
	return all
}

// Tilings lists what can be tiled in a kernel that is launched with a block and so much dynamic
// shared memory, for each number of turns, and fits into what shared memory is left.
func Tilings(m *ptx.Module, kernel string, block [3]int, dynamic int, turns ...int) []Tiling {
	f := m.Entry(kernel)
	if f == nil || !f.Body {
		return nil
	}
	list, err := tilings(launched(m, f, block, dynamic), turns)
	if err != nil {
		return nil
	}
	return list
}

// Untiled says why nothing of a kernel can be tiled.
func Untiled(m *ptx.Module, kernel string, block [3]int, dynamic int) error {
	m = m.Clone()
	f := m.Entry(kernel)
	if f == nil || !f.Body {
		return nil
	}
	eight := recipe.Term{Lever: "tile", Value: "8"}
	if err := Apply(launched(m, f, block, dynamic), []recipe.Term{eight}); err != nil {
		return fmt.Errorf("%s: %w", eight, err)
	}
	return nil
}

// launched is a kernel with what its launch is known to be.
func launched(m *ptx.Module, f *ptx.Func, block [3]int, dynamic int) *pass.Kernel {
	return &pass.Kernel{Func: f, Module: m, Machine: pass.MachineOf(m), Options: pass.Options{
		Blocks:  map[string][3]int{f.Name: block},
		Dynamic: map[string]int{f.Name: dynamic}}}
}

func tilings(k *pass.Kernel, turns []int) (out []Tiling, err error) {
	t, err := flowOf(k)
	if err != nil {
		return nil, err
	}
	traits, err := k.Uses()
	if err != nil {
		return nil, err
	}
	room := tileRoom(traits.SharedStatic + k.Options.Dynamic[k.Name])
	if traits.SharedDynamic {
		room = room / pass.DynamicAlign * pass.DynamicAlign
	}
	for i, l := range t.Loops() {
		for _, n := range turns {
			x, err := planTile(&tileWriter{t: t}, l, n, -1)
			if err != nil || x.bytes() > room {
				continue
			}
			one := Tiling{Loop: i, Turns: n, Bytes: x.bytes()}
			for _, g := range x.groups {
				one.Boxes = append(one.Boxes, x.look(g))
			}
			out = append(out, one)
		}
	}
	return out, nil
}

// look describes one box.
func (x *tileText) look(g *tileGroup) Box {
	block := x.n.t.block
	home := *g
	home.loads = []tiledLoad{{stmt: g.loads[0].stmt}}
	out := Box{Index: g.index, Reuse: 1, Bytes: g.bytes(), Sectors: g.sectors(block),
		Loads: len(g.loads)}
	if home.list([4]int{block[0], block[1], block[2], 1}) == nil && home.elements() > 0 {
		out.Reuse = float64(pass.Threads(block)) / float64(home.elements())
	}
	for k, l := range g.loads {
		at := [2]int{l.row, l.column / g.width}
		for d := range at {
			if k == 0 || at[d] < out.Low[d] {
				out.Low[d] = at[d]
			}
			if k == 0 || at[d] > out.High[d] {
				out.High[d] = at[d]
			}
		}
	}
	x.context(g, &out)
	return out
}

// context counts what else is done in the loop, and behind it.
func (x *tileText) context(g *tileGroup, out *Box) {
	t, in := x.n.t, func(b int) bool { return x.n.in[b] }
	behind := ptx.Onward(t.Blocks, slices.DeleteFunc(slices.Clone(t.Blocks[t.Block(x.n.latch)].Succs), in), in)
	for i := range t.Stmts {
		place := 0
		switch b := t.Block(i); {
		case in(b):
		case behind[b]:
			place = 1
		default:
			continue
		}
		switch inst := t.Inst(i); {
		case slices.ContainsFunc(g.loads, func(l tiledLoad) bool { return l.stmt == i }):
		case slices.Contains([]string{"ld", "st", "red", "atom"}, inst.Op) && inst.Has("global"):
			if x.aligned(i) {
				out.Aligned[place]++
			} else {
				out.Scattered[place]++
			}
		case inst.Has("f32", "f64") && inst.Op != "mov" && inst.Op != "ld" && inst.Op != "st":
			out.Operations[place]++
		}
	}
}

// aligned reports whether a warp's accesses lie side by side.
func (x *tileText) aligned(i int) bool {
	n, o := x.n, x.n.t.Inst(i).Address()
	if o == nil {
		return false
	}
	n.list, n.effort, n.behind = nil, 4000, true
	defer func() { n.behind = false }()
	p, err := n.operand(*o, i)
	if err != nil {
		return false
	}
	s, ok := p.Slope(placeNames[0])
	by, is := s.Constant()
	return ok && is && by >= -16 && by <= 16
}
