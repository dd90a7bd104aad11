package tile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// Which loads of a loop read which box of memory.
//
// The addresses of a group of loads differ by constants, and by multiples of one pitch. In some
// number of turns the threads of a block read
//
//	start + pitch * row + column        row, column: linear in the thread's place and the turn
//
// which is a finite set of rows and columns, known here to the last element: each one is listed, so
// that nothing is copied that no thread reads.

// limitBox bounds a box before it is looked at closely, elements; and what is listed.
const (
	limitBox    = 1 << 16
	limitListed = 1 << 23
)

// A tiledLoad is one load of a group.
type tiledLoad struct {
	stmt   int
	row    int // from the group's first load
	column int // bytes
}

// A slopeOf is what a row and a column grow by.
type slopeOf struct{ row, column int }

// A tileGroup is loads that read one box.
type tileGroup struct {
	loads   []tiledLoad
	width   int // bytes of an access
	address affine
	checks  []widening
	nc      bool
	pitch   affine
	place   [3]slopeOf
	turn    slopeOf

	rows, columns int // of the whole box; columns in elements
	low           slopeOf
	pad           int // elements behind each row in shared memory
}

// bytes is what a group takes of shared memory.
func (g *tileGroup) bytes() int { return g.rows * g.stride() }

// stride is a row's size in shared memory.
func (g *tileGroup) stride() int { return (g.columns + g.pad) * g.width }

// A tileLoad tells of a load that could be taken from a tile.
type tileLoad struct {
	stmt    int
	width   int
	nc      bool
	address affine
	checks  []widening
}

// loads lists the loads of a loop whose addresses are affine; the reason is that of the last one
// that isn't.
func (n *tileLoop) loads() (out []tileLoad, why error) {
	why = errors.New("it has no load from global memory that runs in each turn")
	writes := n.writes()
	for i := n.first; i <= n.latch; i++ {
		x := n.t.Inst(i)
		if x.Op != "ld" || !n.always(i) {
			continue
		}
		width, nc, ok := tileable(x)
		if !ok {
			continue
		}
		if !nc && writes != "" {
			why = fmt.Errorf("what it loads may be written in the loop (%s)", writes)
			continue
		}
		o := x.Args[1]
		if !o.Address {
			continue
		}
		n.list, n.effort = nil, 4000
		p, err := n.operand(o, i)
		if err == nil && (o.Reg == ir.None || n.t.Bits(o.Reg) != 64) {
			err = errNotAffine
		}
		p = p.Plus(constant(int64(o.Offset)), 1)
		if err != nil || len(p) > limitTerms || len(n.list) > 8 {
			why = errors.New("no load has an address that is affine in thread, block and turn")
			continue
		}
		out = append(out, tileLoad{i, width, nc, p, slices.Clone(n.list)})
	}
	if len(out) > 0 {
		why = nil
	}
	return out, why
}

// writes names an instruction by which a loop may write to global memory, "" if there is none.
func (n *tileLoop) writes() string {
	for i := n.first; i <= n.latch; i++ {
		switch x := n.t.Inst(i); {
		case x.Op == "st" && x.Has("shared", "local"):
		case x.Op == "st", x.Op == "red", x.Op == "atom":
			return string(n.t.Opcode(i))
		}
	}
	return ""
}

// tileable reports a plain load from global memory, and its width in bytes.
func tileable(x *ir.Inst) (width int, nc, ok bool) {
	if len(x.Words) < 2 || x.Words[0] != "global" || len(x.Args) != 2 {
		return 0, false, false
	}
	many := 1
	for _, w := range x.Words[1 : len(x.Words)-1] {
		switch kind := ptx.KindOf(w); {
		case kind == ptx.ReadOnlyWord:
			nc = true
		case w == "v2":
			many = 2
		case w == "v4":
			many = 4
		case kind == ptx.OperatorWord && w != "lu", kind == ptx.PriorityWord,
			kind == ptx.PrefetchWord, kind == ptx.WeakWord:
		default:
			return 0, false, false
		}
	}
	width = pass.BitsOf(x.Type()) / 8 * many
	return width, nc, width >= 1 && width <= 16
}

// groups puts loads together whose addresses differ by constants and multiples of one pitch, and
// works out the box that each group reads in so many turns.
func (n *tileLoop) groups(list []tileLoad, turns int) (out []*tileGroup, why error) {
	for _, c := range list {
		joined := false
		for _, g := range out {
			joined = joined || g.join(c)
		}
		if joined {
			continue
		}
		out = append(out, &tileGroup{loads: []tiledLoad{{stmt: c.stmt}}, width: c.width, nc: c.nc,
			address: c.address, checks: c.checks})
	}
	kept := out[:0]
	for _, g := range out {
		if err := n.box(g, list, turns); err != nil {
			why = err
			continue
		}
		kept = append(kept, g)
	}
	return kept, why
}

// join takes a load into a group whose addresses grow as its own: rows and columns come later.
func (g *tileGroup) join(c tileLoad) bool {
	if c.width != g.width || c.nc != g.nc {
		return false
	}
	d := c.address.Plus(g.address, -1)
	if !uniform(d) {
		return false
	}
	if _, is := d.Constant(); !is && len(d) > 2 {
		return false
	}
	for key := range d { // a pitch that the addresses have, not another array
		if key != "" {
			found := false
			for own := range g.address {
				found = found || own != key && strings.Contains("*"+own+"*", "*"+key+"*")
			}
			if !found {
				return false
			}
		}
	}
	g.loads = append(g.loads, tiledLoad{stmt: c.stmt})
	for _, w := range c.checks {
		if !slices.ContainsFunc(g.checks, func(o widening) bool { return o.String() == w.String() }) {
			g.checks = append(g.checks, w)
		}
	}
	return true
}

// box finds a group's pitch and what of memory it reads.
func (n *tileLoop) box(g *tileGroup, list []tileLoad, turns int) error {
	address := map[int]affine{}
	for _, c := range list {
		address[c.stmt] = c.address
	}
	extents := [4]int{n.t.block[0], n.t.block[1], n.t.block[2], turns}
	var slopes [4]affine
	for k, name := range notUniform {
		s, ok := g.address.Slope(name)
		if !ok || !uniform(s) {
			return errors.New("no load has an address that is affine in thread, block and turn")
		}
		slopes[k] = s
	}
	g.address = g.address.Without(notUniform...)
	var differences []affine
	for _, l := range g.loads {
		differences = append(differences, address[l.stmt].Without(notUniform...).Plus(g.address, -1))
	}
	// the pitch: none at all, or what the address grows by along one of the ways
	pitches := []affine{{}}
	for k, s := range slopes {
		if extents[k] > 1 && len(s) > 0 {
			if v, is := s.Constant(); is && v < 0 {
				s = s.Times(constant(-1))
			}
			pitches = append(pitches, s)
		}
	}
	for _, d := range differences {
		if v, is := d.Constant(); !is || v >= 32 { // a sector and more apart: in another row
			pitches = append(pitches, d)
		}
	}
	slices.SortStableFunc(pitches, func(a, b affine) int {
		return int(sizeOf(a) - sizeOf(b))
	})
	why := errors.New("what it loads is no box of rows")
	for _, p := range pitches {
		if !g.divide(p, slopes, differences, extents) {
			continue
		}
		if err := g.list(extents); err != nil {
			why = err
			continue
		}
		if !g.even(n.t.block) {
			why = errors.New("its rows are many, and not divided by the number of threads")
			continue
		}
		return nil
	}
	return why
}

// sizeOf orders pitches: the constant ones, and of each kind the least.
func sizeOf(p affine) int64 {
	const most = 1 << 20
	var sum int64
	for key, c := range p {
		if key != "" {
			c *= 64
		}
		sum += min(max(c, -c), most)
	}
	return min(sum, most)
}

// divide writes slopes and differences as rows and columns of a pitch; false where they aren't.
func (g *tileGroup) divide(pitch affine, slopes [4]affine, differences []affine,
	extents [4]int) bool {
	g.pitch = pitch
	for k, s := range slopes {
		d, ok := g.parts(s)
		if extents[k] == 1 {
			d, ok = slopeOf{}, true
		}
		if !ok {
			return false
		}
		if k < 3 {
			g.place[k] = d
		} else {
			g.turn = d
		}
	}
	for k, p := range differences {
		d, ok := g.parts(p)
		if !ok {
			return false
		}
		g.loads[k].row, g.loads[k].column = d.row, d.column
	}
	return true
}

// parts writes a distance as rows and a column, whole elements.
func (g *tileGroup) parts(d affine) (out slopeOf, ok bool) {
	const most = 1 << 20
	constantly, fixed := g.pitch.Constant()
	if fixed {
		v, is := d.Constant()
		if !is {
			return out, false
		}
		if constantly != 0 { // the nearest row
			half := constantly / 2
			out.row = int((v + half) / constantly)
			if v+half < 0 && (v+half)%constantly != 0 {
				out.row--
			}
			v -= int64(out.row) * constantly
		}
		out.column = int(v)
	} else {
		for key, c := range g.pitch {
			if key != "" && d[key]%c == 0 {
				out.row = int(d[key] / c)
				break
			}
		}
		v, is := d.Plus(g.pitch, -int64(out.row)).Constant()
		if !is {
			return out, false
		}
		out.column = int(v)
	}
	return out, out.column%g.width == 0 && max(out.row, -out.row) < most && max(out.column,
		-out.column) < most
}

// list marks each element that is read, of which there must be a full box.
func (g *tileGroup) list(extents [4]int) error {
	var low, high slopeOf
	for k, l := range g.loads {
		a, b := slopeOf{l.row, l.column}, slopeOf{l.row, l.column}
		for v, s := range [4]slopeOf{g.place[0], g.place[1], g.place[2], g.turn} {
			a.row += min(0, s.row*(extents[v]-1))
			b.row += max(0, s.row*(extents[v]-1))
			a.column += min(0, s.column*(extents[v]-1))
			b.column += max(0, s.column*(extents[v]-1))
		}
		if k == 0 {
			low, high = a, b
		}
		low = slopeOf{min(low.row, a.row), min(low.column, a.column)}
		high = slopeOf{max(high.row, b.row), max(high.column, b.column)}
	}
	g.low, g.rows, g.columns = low, high.row-low.row+1, (high.column-low.column)/g.width+1
	accesses := extents[0] * extents[1] * extents[2] * extents[3] * len(g.loads)
	if g.rows > limitBox || g.columns > limitBox || g.rows*g.columns > limitBox {
		return errors.New("the box that it loads is too large for shared memory, or has holes")
	}
	if accesses > limitListed {
		return errors.New("a block loads too often in so many turns to list it")
	}
	marks := make([]bool, g.rows*g.columns)
	for _, l := range g.loads {
		for k := range extents[3] {
			for z := range extents[2] {
				for y := range extents[1] {
					row := l.row - low.row + k*g.turn.row + z*g.place[2].row + y*g.place[1].row
					column := l.column - low.column + k*g.turn.column + z*g.place[2].column + y*
						g.place[1].column
					for range extents[0] {
						marks[row*g.columns+column/g.width] = true
						row += g.place[0].row
						column += g.place[0].column
					}
				}
			}
		}
	}
	if slices.Contains(marks, false) {
		return errors.New("what it loads has gaps")
	}
	return nil
}

// elements is how much of memory is copied.
func (g *tileGroup) elements() int { return g.rows * g.columns }

// accesses is how often the threads of a block read it.
func (g *tileGroup) accesses(block [3]int, turns int) int {
	return pass.Threads(block) * turns * len(g.loads)
}

// choosePad puts elements behind each row where the threads of a warp would otherwise use the same
// banks.
func (g *tileGroup) choosePad(block [3]int) {
	best, least := 0, 0
	for pad := range 3 {
		g.pad = pad
		if n := g.conflicts(block); pad == 0 || n < least {
			best, least = pad, n
		}
	}
	g.pad = best
}

// conflicts is the largest number of words of one bank that a warp's first load asks for at once.
func (g *tileGroup) conflicts(block [3]int) int {
	banks := map[int]map[int]bool{}
	most := 0
	for lane := range min(32*4/max(g.width, 4), pass.Threads(block)) {
		x, y, z := lane%block[0], lane/block[0]%block[1], lane/block[0]/block[1]
		at := g.offset(slopeOf{
			x*g.place[0].row + y*g.place[1].row + z*g.place[2].row,
			x*g.place[0].column + y*g.place[1].column + z*g.place[2].column})
		for w := 0; w < max(g.width, 4); w += 4 {
			word := (at + w) >> 2
			bank := word & 31
			if banks[bank] == nil {
				banks[bank] = map[int]bool{}
			}
			banks[bank][word] = true
			most = max(most, len(banks[bank]))
		}
	}
	return most
}

// offset is how far apart two elements lie in shared memory.
func (g *tileGroup) offset(d slopeOf) int { return d.row*g.stride() + d.column }
