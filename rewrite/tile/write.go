package tile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
)

// The text of a tiled loop.
//
//	LOOP:                                  (the loop's own label)
//	    what does not change: starts, pitches, the thread's place in the tile
//	CHECK:
//	    are there that many turns left, and are all addresses what they seem? else to AS_IT_WAS
//	    copy; barriers
//	TILED:
//	    the body, with loads from shared memory
//	    not all turns of the tile done: to TILED
//	    the loop's own test: to CHECK, else to END
//	AS_IT_WAS:
//	    the body; the loop's own test: to AS_IT_WAS
//	END:

const (
	tilePrefix = "%gnvcc_t"
	tileArray  = "__gnvcc_tile"
	tileLabel  = "gnvcc_tile"
)

// A tileWriter writes PTX with registers of its own.
type tileWriter struct {
	t                  *tileFlow
	out                []string
	narrow, wide, pred int
	asked              string            // the register that says that no thread has left, "" for none
	values             map[string]string // by product of names: a 64-bit register with its value
}

func (w *tileWriter) line(format string, args ...any) {
	w.out = append(w.out, fmt.Sprintf(format, args...))
}

func (w *tileWriter) r32() string { w.narrow++; return fmt.Sprintf("%sr%d", tilePrefix, w.narrow-1) }
func (w *tileWriter) r64() string { w.wide++; return fmt.Sprintf("%sw%d", tilePrefix, w.wide-1) }
func (w *tileWriter) p() string   { w.pred++; return fmt.Sprintf("%sp%d", tilePrefix, w.pred-1) }

// name is a 64-bit register with the value that a name in a polynomial stands for.
func (w *tileWriter) name(name string) string {
	if r, ok := w.values[name]; ok {
		return r
	}
	r := name
	switch {
	case strings.Contains(name, "."): // %ctaid.x
		n := w.r32()
		r = w.r64()
		w.line("mov.u32 %s, %s;", n, name)
		w.line("cvt.u64.u32 %s, %s;", r, n)
	case w.t.bits(name) == 32:
		r = w.r64()
		w.line("cvt.s64.s32 %s, %s;", r, name)
	}
	w.values[name] = r
	return r
}

// product is a 64-bit register with the value of several names, multiplied.
func (w *tileWriter) product(key string) string {
	if r, ok := w.values[key]; ok {
		return r
	}
	head, rest, more := strings.Cut(key, "*")
	if !more {
		return w.name(key)
	}
	a, b := w.name(head), w.product(rest)
	r := w.r64()
	w.line("mul.lo.s64 %s, %s, %s;", r, a, b)
	w.values[key] = r
	return r
}

// value is a new 64-bit register with a polynomial's value.
func (w *tileWriter) value(p affine) string {
	keys := slices.Sorted(maps.Keys(p))
	var products []string
	for _, key := range keys {
		if key != "" {
			products = append(products, w.product(key))
		}
	}
	r := w.r64()
	w.line("mov.u64 %s, %d;", r, p[""])
	keys = slices.DeleteFunc(keys, func(k string) bool { return k == "" })
	for i, key := range keys {
		switch c := p[key]; c {
		case 1:
			w.line("add.s64 %s, %s, %s;", r, r, products[i])
		default:
			w.line("mad.lo.s64 %s, %s, %d, %s;", r, products[i], c, r)
		}
	}
	return r
}

// A moving register grows from tile to tile.
type moving struct {
	reg  string
	wide bool
	by   string // a number or a register
}

// tileText is one loop's rewriting.
type tileText struct {
	*tileWriter
	n       *tileLoop
	number  int // of the loop, for labels
	number2 int // of loops that copy
	turns   int
	groups  []*tileGroup
	offset  []int // of each group in the shared array
	test    tileTest
	checks  []widening
	moves   []moving
	start   []string // by group: the box's first address
	pitch   []string // by group: a register, "" where the pitch is a number
	place   []string // by group: the thread's place in shared memory
	lane    string   // the thread's index in the block
	ok      []string // predicates of the beginning, registers with 1 or 0
	inRange []string // moving values that must be below 2^32
}

func (x *tileText) label(what string) string {
	return fmt.Sprintf("$%s_%s_%d", tileLabel, what, x.number)
}

// write notes the edits of one loop.
func (x *tileText) write() {
	f := x.n.t
	x.values = map[string]string{}
	x.setup()
	x.check()
	x.body()
	x.line("%s:", x.label("plain"))
	text := strings.Join(x.out, "\n\t")
	x.out = nil
	f.Insert(x.n.first+1, text)
	target := f.Operands(x.n.latch, nil)[0]
	f.ReplaceSpan(target, x.label("plain"))
	f.Insert(x.n.latch+1, x.label("end")+":")
}

// setup writes what does not change in the loop.
func (x *tileText) setup() {
	x.lane = x.r32()
	known := pass.Block{Threads: pass.Threads(x.n.t.block), Exact: x.n.t.block}
	for _, line := range known.Index(x.lane, x.r32()) {
		x.line("%s", line)
	}
	if x.asked != "" {
		x.ok = append(x.ok, x.asked)
	}
	x.test.setup(x)
	for _, c := range x.checks {
		x.widening(c)
	}
	for i, g := range x.groups {
		x.start = append(x.start, x.value(g.address))
		pitch := ""
		var by affine
		if v, is := g.pitch.Constant(); is {
			by = constant(v * int64(g.turn.row))
		} else {
			pitch = x.value(g.pitch)
			by = g.pitch.Times(constant(int64(g.turn.row)))
		}
		x.pitch = append(x.pitch, pitch)
		x.grows(x.start[i], true, by.Plus(constant(int64(g.turn.column)), 1))
		x.place = append(x.place, x.own(i, g))
	}
}

// own is a register with the place in shared memory of what the thread's first load reads in the
// first turn, from which the others count.
func (x *tileText) own(i int, g *tileGroup) string {
	r := x.r32()
	least := g.loads[0]
	for _, l := range g.loads {
		if g.offset(slopeOf{l.row, l.column}) < g.offset(slopeOf{least.row, least.column}) {
			least = l
		}
	}
	x.line("mov.u32 %s, %s;", r, tileArray)
	x.line("add.s32 %s, %s, %d;", r, r, x.offset[i]+g.offset(slopeOf{least.row - g.low.row,
		least.column - g.low.column}))
	for v, s := range g.place {
		if by := g.offset(s); by != 0 && x.n.t.block[v] > 1 {
			t := x.r32()
			x.line("mov.u32 %s, %s;", t, placeNames[v])
			x.line("mad.lo.s32 %s, %s, %d, %s;", r, t, by, r)
		}
	}
	return r
}

// grows notes that a register grows by the same from turn to turn.
func (x *tileText) grows(reg string, wide bool, turn affine) {
	if len(turn) == 0 {
		return
	}
	all := turn.Times(constant(int64(x.turns)))
	if v, is := all.Constant(); is {
		x.moves = append(x.moves, moving{reg, wide, fmt.Sprint(v)})
		return
	}
	x.moves = append(x.moves, moving{reg, wide, x.value(all)})
}

// widening writes what shows that a 32-bit value does not wrap for any thread in any turn of a
// tile: the least and the largest that it comes to.
func (x *tileText) widening(c widening) {
	low, high := x.value(c.value.Without(notUniform...)), x.r64()
	x.line("mov.u64 %s, %s;", high, low)
	bias := int64(0)
	if c.signed {
		bias = 1 << 31
	}
	extents := [4]int{x.n.t.block[0], x.n.t.block[1], x.n.t.block[2], x.turns}
	var turn affine
	for v, name := range notUniform {
		s, _ := c.value.Slope(name) // plan has looked
		if name == turnsName {
			turn = s
		}
		if len(s) == 0 {
			continue
		}
		if n, is := s.Constant(); is {
			n *= int64(extents[v] - 1)
			x.line("add.s64 %s, %s, %d;", low, low, min(0, n))
			x.line("add.s64 %s, %s, %d;", high, high, max(0, n))
			continue
		}
		by, far, small, sum := x.value(s), x.r64(), x.p(), x.r64()
		x.line("add.s64 %s, %s, %d;", sum, by, int64(1)<<32)
		x.line("setp.le.u64 %s, %s, %d;", small, sum, int64(1)<<33)
		x.remember(small)
		x.line("mul.lo.s64 %s, %s, %d;", by, by, extents[v]-1)
		x.line("min.s64 %s, %s, 0;", far, by)
		x.line("add.s64 %s, %s, %s;", low, low, far)
		x.line("max.s64 %s, %s, 0;", far, by)
		x.line("add.s64 %s, %s, %s;", high, high, far)
	}
	for _, r := range []string{low, high} {
		if bias != 0 {
			x.line("add.s64 %s, %s, %d;", r, r, bias)
		}
		if len(turn) == 0 {
			fits := x.p()
			x.line("setp.lt.u64 %s, %s, %d;", fits, r, int64(1)<<32)
			x.remember(fits)
			continue
		}
		x.inRange = append(x.inRange, r)
		x.grows(r, true, turn)
	}
}

// remember keeps a predicate of the beginning for the checks in front of each tile.
func (x *tileText) remember(p string) {
	r := x.r32()
	x.line("selp.u32 %s, 1, 0, %s;", r, p)
	x.ok = append(x.ok, r)
}

// check writes the test in front of a tile, and the copying.
func (x *tileText) check() {
	if len(x.ok) > 1 {
		for _, r := range x.ok[1:] {
			all := x.r32()
			x.line("and.b32 %s, %s, %s;", all, x.ok[0], r)
			x.ok[0] = all
		}
	}
	x.line("%s:", x.label("check"))
	all := x.test.enough(x)
	and := func(p string) { x.line("and.pred %s, %s, %s;", all, all, p) }
	if len(x.ok) > 0 {
		p := x.p()
		x.line("setp.ne.u32 %s, %s, 0;", p, x.ok[0])
		and(p)
	}
	for _, r := range x.inRange {
		p := x.p()
		x.line("setp.lt.u64 %s, %s, %d;", p, r, int64(1)<<32)
		and(p)
	}
	x.line("@!%s bra %s;", all, x.label("plain"))
	x.copies()
	for _, m := range x.moves {
		kind := "s32"
		if m.wide {
			kind = "s64"
		}
		x.line("add.%s %s, %s, %s;", kind, m.reg, m.reg, m.by)
	}
}

// body writes the loop's body with loads from shared memory.
func (x *tileText) body() {
	n, f := x.n, x.n.t
	left := x.r32()
	x.line("mov.u32 %s, %d;", left, x.turns)
	at := make([]string, len(x.groups))
	for i := range x.groups {
		at[i] = x.place[i]
		if x.groups[i].offset(x.groups[i].turn) != 0 {
			at[i] = x.r32()
			x.line("mov.u32 %s, %s;", at[i], x.place[i])
		}
	}
	loads := map[int]string{}
	for i, g := range x.groups {
		least := 0
		for k, l := range g.loads {
			if by := g.offset(slopeOf{l.row, l.column}); k == 0 || by < least {
				least = by
			}
		}
		for _, l := range g.loads {
			loads[l.stmt] = x.shared(l.stmt, at[i], g.offset(slopeOf{l.row, l.column})-least)
		}
	}
	labels := map[string]bool{}
	for i := n.first; i <= n.latch; i++ {
		if f.Stmts[i].Kind == ptx.Label {
			labels[string(f.Opcode(i))] = true
		}
	}
	x.line("%s:", x.label("turn"))
	for i := n.first + 1; i < n.latch; i++ {
		x.line("%s", x.again(i, labels, loads))
	}
	for i, g := range x.groups {
		if by := g.offset(g.turn); by != 0 {
			x.line("add.s32 %s, %s, %d;", at[i], at[i], by)
		}
	}
	more := x.p()
	x.line("add.s32 %s, %s, -1;", left, left)
	x.line("setp.ne.s32 %s, %s, 0;", more, left)
	x.line("@%s bra %s;", more, x.label("turn"))
	guard, negated := f.Guard(n.latch)
	x.line("@%s%s bra %s;", map[bool]string{true: "!"}[negated], guard, x.label("check"))
	x.line("bra %s;", x.label("end"))
}

// shared is a load as it is from shared memory.
func (x *tileText) shared(stmt int, base string, offset int) string {
	f := x.n.t
	words := strings.Split(string(f.Opcode(stmt)), ".")
	op := "ld.shared"
	for _, w := range words[2 : len(words)-1] {
		if w == "v2" || w == "v4" {
			op += "." + w
		}
	}
	to := f.Bytes(f.Operands(stmt, nil)[0])
	return fmt.Sprintf("%s.%s %s, [%s+%d];", op, words[len(words)-1], to, base, offset)
}

// again is a statement of the body for its second time in the kernel: labels are others.
func (x *tileText) again(i int, labels map[string]bool, loads map[int]string) string {
	f := x.n.t
	s := f.Stmts[i]
	if text, ok := loads[i]; ok {
		return text
	}
	text := string(f.Text()[s.Start:s.End])
	switch {
	case s.Kind == ptx.Label:
		return x.label(strings.TrimLeft(string(f.Opcode(i)), "$")) + ":"
	case s.Kind == ptx.Inst && string(f.Base(i)) == "bra":
		to := f.Operands(i, nil)[0]
		if name := string(f.Bytes(to)); labels[name] {
			return string(f.Text()[s.Start:to.Start]) + x.label(strings.TrimLeft(name, "$")) +
				string(f.Text()[to.End:s.End])
		}
	}
	return text
}
