package tile

import (
	"cmp"
	"errors"
	"iter"
	"slices"
	"strings"

	"gnvcc/rewrite/pass"
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
	limitListed = 1 << 21
)

// limitPieces bounds how many elements of a box a thread copies.
const limitPieces = 64

// placeNames are the leaves that are not the same for all threads of a block.
var placeNames = [3]string{"%tid.x", "%tid.y", "%tid.z"}

// A pitch is how far rows are apart, bytes: a register times a number, or the number alone.
type pitch struct {
	register string
	by       int64
}

// A slope is what a row and a column grow by; columns in bytes.
type slope struct{ row, column int }

// A tileGroup is loads that read one box.
type tileGroup struct {
	loads []tileLoad
	width int // bytes of an access
	pitch pitch
	apart []slope  // of each load from the first one
	place [3]slope // what the thread's place adds
	turn  slope    // what a turn adds

	rows, columns int // of the whole box; columns in elements
	low           slope
	pad           int // elements behind each row in shared memory
}

// stride is a row's size in shared memory.
func (g *tileGroup) stride() int { return (g.columns + g.pad) * g.width }

// groups puts loads together whose addresses differ by constants and multiples of one pitch, and
// works out the box that each group reads in so many turns.
func (n *tileLoop) groups(turns int) (out []*tileGroup, err error) {
	for _, c := range n.loads {
		at := slices.IndexFunc(out, func(g *tileGroup) bool {
			d, same := n.guess(c.address.Plus(g.loads[0].address, -1)), c.step.Plus(g.loads[0].step, -1)
			leaves := len(d)
			if d[""] != 0 {
				leaves--
			}
			return c.width == g.width && len(same) == 0 && leaves <= 1 && !strings.Contains(d.String(), "%tid")
		})
		if at < 0 {
			out = append(out, &tileGroup{width: c.width, loads: []tileLoad{c}})
		} else {
			out[at].loads = append(out[at].loads, c)
		}
	}
	why := errors.New("what it loads is read once, side by side")
	out = slices.DeleteFunc(out, func(g *tileGroup) bool {
		if err := n.box(g, turns); err != nil {
			why = err
			return true
		}
		threads := pass.Threads(n.t.block)
		reads, x := threads*turns*len(g.loads), g.place[0]
		return 2*reads < 3*g.rows*g.columns && x.row == 0 && max(x.column, -x.column) <= g.width
	})
	if len(out) == 0 {
		return nil, why
	}
	return out, nil
}

// box finds a group's pitch and what of memory it reads.
func (n *tileLoop) box(g *tileGroup, turns int) error {
	address := n.guess(g.loads[0].address)
	extents := [4]int{n.t.block[0], n.t.block[1], n.t.block[2], turns}
	var slopes [4]affine
	for v, name := range placeNames {
		var ok bool
		if slopes[v], ok = address.Slope(name); !ok {
			return errors.New("no load has an address that is linear in the thread's place")
		}
		if extents[v] == 1 {
			slopes[v] = nil
		}
	}
	slopes[3] = n.guess(g.loads[0].step)
	all := slices.Clone(slopes[:])
	for _, l := range g.loads {
		all = append(all, n.guess(l.address.Plus(g.loads[0].address, -1)))
	}
	// the pitch: none at all, or what the address grows by along one of the ways
	pitches := []pitch{{}}
	for _, s := range all {
		for key, c := range s {
			r, is := n.t.named[key]
			if key == "" && len(s) == 1 || is && n.outside(r) >= 0 && !n.spread.Varying[r] {
				pitches = append(pitches, pitch{key, max(c, -c)})
			}
		}
	}
	slices.SortFunc(pitches, func(a, b pitch) int {
		return cmp.Or(cmp.Compare(a.register, b.register), cmp.Compare(a.by, b.by))
	})
	why := errors.New("what it loads is no box of rows")
	for _, p := range pitches {
		list := make([]slope, len(all))
		whole := true
		for i, d := range all {
			var ok bool
			list[i], ok = p.parts(d, g.width)
			whole = whole && ok
		}
		if !whole {
			continue
		}
		g.pitch, g.place, g.turn, g.apart = p, [3]slope(list), list[3], list[4:]
		if err := g.list(extents); err != nil {
			why = err
			continue
		}
		if g.pieces(n.t.block) > limitPieces {
			return errors.New("a thread would copy too many elements")
		}
		if g.place[0].row != 0 && g.columns*g.width%8 == 0 { // neighbours use other banks
			g.pad = 1
		}
		return nil
	}
	return why
}

// pieces is how many elements of a box a thread copies at most.
func (g *tileGroup) pieces(block [3]int) int {
	n := pass.Threads(block)
	return (g.rows*g.columns + n - 1) / n
}

// parts writes a distance as rows and a column, complete elements.
func (p pitch) parts(d affine, width int) (out slope, ok bool) {
	const most = 1 << 20
	if c := d[p.register]; p.register != "" && c%p.by == 0 {
		out.row = int(c / p.by)
		d = d.Plus(affine{p.register: 1}, -c)
	}
	v, is := d.Constant()
	if p.register == "" && p.by != 0 { // the nearest row
		half := p.by / 2
		out.row = int((v + half) / p.by)
		if v+half < 0 && (v+half)%p.by != 0 {
			out.row--
		}
		v -= int64(out.row) * p.by
	}
	out.column = int(v)
	return out, is && out.column%width == 0 && max(out.row, -out.row) < most && max(out.column, -out.column) < most
}

// reads yields row and column of all that is read.
func (g *tileGroup) reads(extents [4]int) iter.Seq2[int, int] {
	return func(yield func(row, column int) bool) {
		for _, l := range g.apart {
			for i := range extents[0] * extents[1] * extents[2] * extents[3] {
				at := l
				for v, s := range [4]slope{g.place[0], g.place[1], g.place[2], g.turn} {
					at.row += s.row * (i % extents[v])
					at.column += s.column * (i % extents[v])
					i /= extents[v]
				}
				if !yield(at.row, at.column) {
					return
				}
			}
		}
	}
}

// list marks each element that is read, of which there must be a full box.
func (g *tileGroup) list(extents [4]int) error {
	if extents[0]*extents[1]*extents[2]*extents[3]*len(g.apart) > limitListed {
		return errors.New("a block loads too often in so many turns to list it")
	}
	low, high := g.apart[0], g.apart[0]
	for row, column := range g.reads(extents) {
		low = slope{min(low.row, row), min(low.column, column)}
		high = slope{max(high.row, row), max(high.column, column)}
	}
	g.low, g.rows, g.columns = low, high.row-low.row+1, (high.column-low.column)/g.width+1
	if g.rows > limitBox || g.columns > limitBox || g.rows*g.columns > limitBox {
		return errors.New("the box that it loads is too large for shared memory, or has holes")
	}
	marks := make([]bool, g.rows*g.columns)
	for row, column := range g.reads(extents) {
		marks[(row-low.row)*g.columns+(column-low.column)/g.width] = true
	}
	if slices.Contains(marks, false) {
		return errors.New("what it loads has gaps")
	}
	return nil
}

// offset is how far apart two elements lie in shared memory.
func (g *tileGroup) offset(d slope) int { return d.row*g.stride() + d.column }
