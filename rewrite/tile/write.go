package tile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gnvcc/rewrite/pass"
)

// The text of a tiled loop.
//
//	LOOP:                                  (the loop's own label)
//	    does a thread of the block not come here, or are there too few turns: to PLAIN
//	    where each box begins as this thread's address says it, compared with thread 0's: to PLAIN
//	CHECK:
//	    too few turns left: to PLAIN
//	    barrier; copy; barrier
//	TURN:
//	    the body, with loads from shared memory
//	    not all turns of the tile done: to TURN
//	    the loop's own test: to CHECK, else to END
//	PLAIN:
//	    the body; the loop's own test: to PLAIN
//	END:

const (
	tilePrefix = "%gnvcc_t"
	tileArray  = "__gnvcc_tile"
	tileLabel  = "gnvcc_tile"
)

// atOnce is how many loads of a thread are under way together.
const atOnce = 8

// registers are those that the tiles of a kernel need.
type registers struct{ narrow, wide, pred int }

func (w *registers) r32() string { w.narrow++; return fmt.Sprintf("%sr%d", tilePrefix, w.narrow-1) }
func (w *registers) r64() string { w.wide++; return fmt.Sprintf("%sw%d", tilePrefix, w.wide-1) }
func (w *registers) p() string   { w.pred++; return fmt.Sprintf("%sp%d", tilePrefix, w.pred-1) }

// tileText is one loop's rewriting.
type tileText struct {
	*registers
	t      *tileFlow
	n      *tileLoop
	number int // of the loop, for labels
	turns  int
	groups []*tileGroup
	offset []int // of each group in the shared array
	bytes  int   // of all
	out    []string

	lane  string   // the thread's index in the block
	pitch []string // by group: a register or a number
	own   []string // by group: from the box's start to what the thread's first load reads, bytes
	place []string // by group: the same in shared memory
}

func (x *tileText) line(format string, args ...any) {
	x.out = append(x.out, fmt.Sprintf(format, args...))
}

func (x *tileText) label(what string) string {
	return fmt.Sprintf("$%s_%s_%d", tileLabel, what, x.number)
}

// writeTiles notes the edits of all loops.
func writeTiles(k *pass.Kernel, t *tileFlow, texts []*tileText) {
	k.Forget()
	w, bytes := &registers{}, 0
	for _, x := range texts {
		x.registers, bytes = w, max(bytes, x.bytes)
		x.write()
	}
	head := []string{fmt.Sprintf(".shared .align 16 .b8 %s[%d];", tileArray, pass.RoundUp(bytes, t.unit))}
	for _, r := range []struct {
		kind, name string
		count      int
	}{{"pred", "p", w.pred}, {"b32", "r", w.narrow}, {"b64", "w", w.wide}} {
		head = append(head, fmt.Sprintf(".reg .%s %s%s<%d>;", r.kind, tilePrefix, r.name, r.count))
	}
	k.Insert(k.First(), strings.Join(head, "\n\t"))
}

// write notes the edits of one loop.
func (x *tileText) write() {
	n, f := x.n, x.t
	if d := n.asked; d != nil {
		left := x.p()
		f.Insert(d.stmt, fmt.Sprintf("barrier.red.or.pred %s, 0, %s%s;", left,
			map[bool]string{true: "!"}[d.whenFalse], f.Name(d.predicate)))
		x.line("@%s bra %s;", left, x.label("plain"))
	}
	x.enough()
	x.setup()
	x.line("%s:", x.label("check"))
	x.enough()
	x.copies()
	x.body()
	x.line("%s:", x.label("plain"))
	f.Insert(n.first+1, strings.Join(x.out, "\n\t"))
	f.ReplaceSpan(f.Operands(n.latch, nil)[0], x.label("plain"))
	f.Insert(n.latch+1, x.label("end")+":")
}

// enough writes the test whether the loop makes all turns of a tile: after each of them but the last
// its own test must hold. The counter is on the right side of the bound, and farther from it than it
// moves in that time.
func (x *tileText) enough() {
	c := x.n.test
	next := x.r32
	if strings.HasSuffix(c.kind, "64") {
		next = x.r64
	}
	first, distance, on := next(), next(), x.p()
	x.line("add.%s %s, %s, %d;", c.kind, first, c.counter, c.plus)
	how, high, low := "lt", c.bound, first
	if c.step < 0 {
		how, high, low = "gt", first, c.bound
	}
	least := int64(x.turns-2)*max(c.step, -c.step) + 1
	if c.orEqual {
		how, least = how[:1]+"e", least-1
	}
	x.line("setp.%s.%s %s, %s, %s;", how, c.kind, on, first, c.bound)
	x.line("sub.%s %s, %s, %s;", c.kind, distance, high, low)
	x.line("setp.ge.and.u%s %s, %s, %d, %s;", c.kind[1:], on, distance, least, on)
	x.line("@!%s bra %s;", on, x.label("plain"))
}

// value is a new 64-bit register with the value of 64-bit registers and numbers.
func (x *tileText) value(p affine) string {
	r := x.r64()
	x.line("mov.u64 %s, %d;", r, p[""])
	for _, key := range slices.Sorted(maps.Keys(p)) {
		if key != "" {
			x.line("mad.lo.s64 %s, %s, %d, %s;", r, key, p[key], r)
		}
	}
	return r
}

// away writes a 64-bit register with the bytes of some rows and columns.
func (x *tileText) away(group int, d slope) string {
	r := x.r64()
	x.line("mov.u64 %s, %s;", r, x.pitch[group])
	x.line("mul.lo.s64 %s, %s, %d;", r, r, d.row)
	x.line("add.s64 %s, %s, %d;", r, r, d.column)
	return r
}

// start writes where a box begins, in the turn at hand.
func (x *tileText) start(group int) string {
	r := x.value(x.groups[group].loads[0].address)
	x.line("sub.s64 %s, %s, %s;", r, r, x.own[group])
	return r
}

// setup writes what does not change in the loop, and the comparison of addresses: each thread works
// out from its own where the box begins, and what its other loads and a turn add.
func (x *tileText) setup() {
	x.lane = x.r32()
	known := pass.Block{Threads: pass.Threads(x.t.block), Exact: x.t.block}
	x.out = append(x.out, known.Index(x.lane, x.r32())...)
	differs, first := x.p(), x.p()
	x.line("setp.ne.u32 %s, 0, 0;", differs)
	x.line("setp.eq.u32 %s, %s, 0;", first, x.lane)
	var starts []string
	for i, g := range x.groups {
		by := fmt.Sprint(g.pitch.by)
		if r := g.pitch.register; r != "" {
			by = x.r64()
			x.line("%s %s, %s;", map[bool]string{true: "mov.u64", false: "cvt.s64.s32"}[x.t.Bits(x.t.named[r]) == 64], by, r)
			x.line("mul.lo.s64 %s, %s, %d;", by, by, g.pitch.by)
		}
		x.pitch = append(x.pitch, by)
		x.threadPlace(i)
		starts = append(starts, x.start(i))
		x.line("@%s st.shared.u64 [%s+%d], %s;", first, tileArray, 8*i, starts[i])
	}
	x.line("barrier.sync 0;")
	unequal := func(a, b string) { x.line("setp.ne.or.u64 %s, %s, %s, %s;", differs, a, b, differs) }
	for i, g := range x.groups {
		own := x.r64()
		x.line("ld.shared.u64 %s, [%s+%d];", own, tileArray, 8*i)
		unequal(own, starts[i])
		if _, fixed := g.loads[0].step.Constant(); !fixed {
			unequal(x.value(g.loads[0].step), x.away(i, g.turn))
		}
		for k, l := range g.loads {
			d := l.address.Plus(g.loads[0].address, -1)
			if _, fixed := d.Constant(); !fixed {
				unequal(x.value(d), x.away(i, g.apart[k]))
			}
		}
	}
	x.line("barrier.red.or.pred %s, 0, %s;", differs, differs)
	x.line("@%s bra %s;", differs, x.label("plain"))
}

// threadPlace writes how far from a box's start the thread's first load reads, in global memory and
// in shared memory.
func (x *tileText) threadPlace(group int) {
	g, own, near := x.groups[group], x.r64(), x.r32()
	x.line("mov.u64 %s, 0;", own)
	x.line("mov.u32 %s, %s;", near, tileArray)
	x.line("add.s32 %s, %s, %d;", near, near, x.offset[group]-g.offset(g.low))
	for v, s := range g.place {
		if s == (slope{}) {
			continue
		}
		tid, wide, by := x.r32(), x.r64(), x.away(group, s)
		x.line("mov.u32 %s, %s;", tid, placeNames[v])
		x.line("cvt.u64.u32 %s, %s;", wide, tid)
		x.line("mad.lo.s64 %s, %s, %s, %s;", own, wide, by, own)
		x.line("mad.lo.s32 %s, %s, %d, %s;", near, tid, g.offset(s), near)
	}
	x.own, x.place = append(x.own, own), append(x.place, near)
}

// copies writes the copying of all boxes between two barriers. Their elements are dealt out to the
// threads row by row, so that neighbours load what lies side by side.
func (x *tileText) copies() {
	threads := pass.Threads(x.t.block)
	x.line("barrier.sync 0;")
	for i, g := range x.groups {
		start, all := x.start(i), g.rows*g.columns
		var stores []string
		for k := range g.pieces(x.t.block) {
			at, row, column, guard := x.r32(), x.r32(), x.r32(), ""
			x.line("add.u32 %s, %s, %d;", at, x.lane, k*threads)
			if (k+1)*threads > all {
				p := x.p()
				x.line("setp.lt.u32 %s, %s, %d;", p, at, all)
				guard = "@" + p + " "
			}
			x.line("div.u32 %s, %s, %d;", row, at, g.columns)
			x.line("mul.lo.u32 %s, %s, %d;", column, row, g.columns)
			x.line("sub.u32 %s, %s, %s;", column, at, column)
			stores = append(stores, x.piece(i, start, row, column, guard))
			if (k+1)%atOnce == 0 {
				x.out, stores = append(x.out, stores...), nil
			}
		}
		x.out = append(x.out, stores...)
	}
	x.line("barrier.sync 0;")
}

// piece writes the load of one element of a box, and returns its store.
func (x *tileText) piece(group int, start, row, column, guard string) (store string) {
	g, from, wide, to := x.groups[group], x.r64(), x.r64(), x.r32()
	x.line("cvt.u64.u32 %s, %s;", wide, row)
	x.line("add.s64 %s, %s, %d;", wide, wide, g.low.row)
	x.line("mad.lo.s64 %s, %s, %s, %s;", from, wide, x.pitch[group], start)
	x.line("mad.wide.u32 %s, %s, %d, %s;", from, column, g.width, from)
	x.line("mov.u32 %s, %s;", to, tileArray)
	x.line("mad.lo.u32 %s, %s, %d, %s;", to, row, g.stride(), to)
	x.line("mad.lo.u32 %s, %s, %d, %s;", to, column, g.width, to)
	kind := map[int]string{1: "u8", 2: "u16", 4: "b32", 8: "v2.b32", 16: "v4.b32"}[g.width]
	var words []string
	for range max(1, g.width/4) {
		words = append(words, x.r32())
		if guard != "" { // what the verifier asks for
			x.line("mov.u32 %s, 0;", words[len(words)-1])
		}
	}
	value := strings.Join(words, ", ")
	if len(words) > 1 {
		value = "{" + value + "}"
	}
	space := "global.nc"
	if slices.ContainsFunc(g.loads, func(l tileLoad) bool { return l.written }) {
		space = "global"
	}
	x.line("%sld.%s.%s %s, [%s+%d];", guard, space, kind, value, from, g.low.column)
	return fmt.Sprintf("%sst.shared.%s [%s+%d], %s;", guard, kind, to, x.offset[group], value)
}

// body writes the loop's body with loads from shared memory.
func (x *tileText) body() {
	n, f := x.n, x.t
	left := x.r32()
	x.line("mov.u32 %s, %d;", left, x.turns)
	loads := map[int]string{}
	at := make([]string, len(x.groups))
	for i, g := range x.groups {
		at[i] = x.r32()
		x.line("mov.u32 %s, %s;", at[i], x.place[i])
		for k, l := range g.loads {
			loads[l.stmt] = x.near(l.stmt, at[i], g.offset(g.apart[k]))
		}
	}
	x.line("%s:", x.label("turn"))
	for i := n.first + 1; i < n.latch; i++ {
		text, tiled := loads[i]
		if !tiled {
			text = f.Statement(i)
		}
		x.line("%s", text)
	}
	for i, g := range x.groups {
		x.line("add.s32 %s, %s, %d;", at[i], at[i], g.offset(g.turn))
	}
	more := x.p()
	x.line("add.s32 %s, %s, -1;", left, left)
	x.line("setp.ne.s32 %s, %s, 0;", more, left)
	x.line("@%s bra %s;", more, x.label("turn"))
	guard, negated := f.Guard(n.latch)
	x.line("@%s%s bra %s;", map[bool]string{true: "!"}[negated], guard, x.label("check"))
	x.line("bra %s;", x.label("end"))
}

// near is a load as it is from shared memory.
func (x *tileText) near(stmt int, base string, offset int) string {
	f := x.t
	words := strings.Split(string(f.Opcode(stmt)), ".")
	op := "ld.shared"
	for _, w := range words[2 : len(words)-1] {
		if w == "v2" || w == "v4" {
			op += "." + w
		}
	}
	return fmt.Sprintf("%s.%s %s, [%s+%d];", op, words[len(words)-1], f.Bytes(f.Operands(stmt, nil)[0]), base, offset)
}
