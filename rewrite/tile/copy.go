package tile

import (
	"fmt"
	"strings"

	"gnvcc/rewrite/pass"
)

// How a box comes to shared memory: its elements are dealt out to the threads of
// the block row by row, so that neighbours load what lies side by side.

// atOnce is how many loads of a thread are under way together.
const atOnce = 8

// A piece is one element that a thread copies.
type piece struct {
	guard    string // a predicate, "" where every thread has an element
	from, to string // addresses
}

// copies writes the copying of all boxes between two barriers: the first, behind which no thread
// reads the tile before, stands behind the loads where there are few.
func (x *tileText) copies() {
	total := 0
	for _, g := range x.groups {
		total += g.pieces(x.n.t.block) * max(1, g.width/8)
	}
	if total > 2*atOnce {
		x.line("barrier.sync 0;")
	}
	var stores []string
	for i, g := range x.groups {
		if n := g.pieces(x.n.t.block); n <= 2*atOnce {
			var list []piece
			for k := range n {
				list = append(list, x.piece(i, k))
			}
			stores = append(stores, x.load(g, list)...)
		} else {
			x.longCopy(i)
		}
		if total > 2*atOnce {
			x.out = append(x.out, stores...)
			stores = nil
		}
	}
	if total <= 2*atOnce {
		x.line("barrier.sync 0;")
		x.out = append(x.out, stores...)
	}
	x.line("barrier.sync 0;")
}

// pieces is how many elements of a box a thread copies at most.
func (g *tileGroup) pieces(block [3]int) int {
	n := pass.Threads(block)
	return (g.elements() + n - 1) / n
}

// even reports whether what is copied in a loop is copied in whole rows.
func (g *tileGroup) even(block [3]int) bool {
	return g.pieces(block) <= 2*atOnce || pass.Threads(block)%g.columns == 0
}

// load writes the loads of some pieces and gives back their stores.
func (x *tileText) load(g *tileGroup, list []piece) (stores []string) {
	space := "ld.global."
	if g.nc {
		space += "nc."
	}
	kind := map[int]string{1: "u8", 2: "u16", 4: "b32", 8: "v2.b32", 16: "v4.b32"}[g.width]
	for _, p := range list {
		var words []string
		guard := ""
		for range max(1, g.width/4) {
			words = append(words, x.r32())
			if p.guard != "" { // what the verifier asks for
				guard = "@" + p.guard + " "
				x.line("mov.u32 %s, 0;", words[len(words)-1])
			}
		}
		value := words[0]
		if len(words) > 1 {
			value = "{" + strings.Join(words, ", ") + "}"
		}
		x.line("%s%s%s %s, [%s];", guard, space, kind, value, p.from)
		stores = append(stores, fmt.Sprintf("%sst.shared.%s [%s], %s;", guard, kind, p.to, value))
	}
	return stores
}

// piece works out where the k-th element of a thread lies.
func (x *tileText) piece(group, k int) piece {
	n, g := pass.Threads(x.n.t.block), x.groups[group]
	p := piece{}
	if (k+1)*n > g.elements() {
		p.guard = x.p()
		x.line("setp.lt.u32 %s, %s, %d;", p.guard, x.lane, g.elements()-k*n)
	}
	row, column := x.r32(), x.r32()
	switch {
	case n%g.columns == 0: // whole rows
		x.divide(row, column, x.lane, g.columns)
		x.line("add.u32 %s, %s, %d;", row, row, k*(n/g.columns))
	case g.columns%n == 0: // a part of a row
		x.line("mov.u32 %s, %d;", row, k/(g.columns/n))
		x.line("add.u32 %s, %s, %d;", column, x.lane, k%(g.columns/n)*n)
	default:
		at := x.lane
		if k > 0 {
			at = x.r32()
			x.line("add.u32 %s, %s, %d;", at, x.lane, k*n)
		}
		x.divide(row, column, at, g.columns)
	}
	p.from, p.to = x.addresses(group, row, column)
	return p
}

// divide writes row and column of an index.
func (x *tileText) divide(row, column, index string, columns int) {
	if columns == 1 {
		x.line("mov.u32 %s, %s;", row, index)
		x.line("mov.u32 %s, 0;", column)
		return
	}
	x.line("div.u32 %s, %s, %d;", row, index, columns)
	x.line("mul.lo.u32 %s, %s, %d;", column, row, columns)
	x.line("sub.u32 %s, %s, %s;", column, index, column)
}

// addresses writes where an element of a box lies in global and in shared memory.
func (x *tileText) addresses(group int, row, column string) (from, to string) {
	g := x.groups[group]
	wide, at := x.r64(), x.r64()
	x.line("mad.wide.u32 %s, %s, %d, %s;", wide, column, g.width, x.start[group])
	offset := int64(g.low.column)
	if pitch := x.pitch[group]; pitch != "" {
		n := x.r32()
		x.line("add.s32 %s, %s, %d;", n, row, g.low.row)
		x.line("cvt.s64.s32 %s, %s;", at, n)
		x.line("mad.lo.s64 %s, %s, %s, %s;", wide, at, pitch, wide)
	} else if v, _ := g.pitch.Constant(); v != 0 {
		x.line("cvt.u64.u32 %s, %s;", at, row)
		x.line("mad.lo.s64 %s, %s, %d, %s;", wide, at, v, wide)
		offset += v * int64(g.low.row)
	}
	if offset != 0 {
		x.line("add.s64 %s, %s, %d;", wide, wide, offset)
	}
	place, base := x.r32(), x.r32()
	x.line("mov.u32 %s, %s;", base, tileArray)
	x.line("mad.lo.u32 %s, %s, %d, %s;", place, row, g.stride(), base)
	x.line("mad.lo.u32 %s, %s, %d, %s;", place, column, g.width, place)
	return wide, fmt.Sprintf("%s+%d", place, x.offset[group])
}

// longCopy writes the copying of a box in a loop, some pieces in each turn. Threads take whole
// rows (even), so that each goes straight down.
func (x *tileText) longCopy(group int) {
	n, g := pass.Threads(x.n.t.block), x.groups[group]
	all := g.elements()
	x.number2++
	again := fmt.Sprintf("%s_%d", x.label("copy"), x.number2)
	index, row, column := x.r32(), x.r32(), x.r32()
	x.line("mov.u32 %s, %s;", index, x.lane)
	x.divide(row, column, x.lane, g.columns)
	from, to := x.addresses(group, row, column)
	to, _, _ = strings.Cut(to, "+")
	rows := n / g.columns
	step, stride := "", rows*g.stride()
	if pitch := x.pitch[group]; pitch != "" {
		step = x.r64()
		x.line("mul.lo.s64 %s, %s, %d;", step, pitch, rows)
	} else {
		v, _ := g.pitch.Constant()
		step = fmt.Sprint(v * int64(rows))
	}
	x.line("%s:", again)
	var list []piece
	for k := range atOnce {
		p := piece{}
		at := index
		if k > 0 {
			at = x.r32()
			x.line("add.u32 %s, %s, %d;", at, index, k*n)
		}
		if all%(atOnce*n) != 0 {
			p.guard = x.p()
			x.line("setp.lt.u32 %s, %s, %d;", p.guard, at, all)
		}
		p.from = x.r64()
		x.line("mov.u64 %s, %s;", p.from, from)
		x.line("add.s64 %s, %s, %s;", from, from, step)
		p.to = fmt.Sprintf("%s+%d", to, x.offset[group]+k*stride)
		list = append(list, p)
	}
	x.out = append(x.out, x.load(g, list)...)
	x.line("add.u32 %s, %s, %d;", to, to, atOnce*stride)
	more := x.p()
	x.line("add.u32 %s, %s, %d;", index, index, atOnce*n)
	x.line("setp.lt.u32 %s, %s, %d;", more, index, all)
	x.line("@%s bra %s;", more, again)
}
