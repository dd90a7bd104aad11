package emulate

import (
	"math/bits"
)

// Integers, logic, selections, predicates. Operations of the warp's own unit are read by the same
// functions as those of threads: their words are alike.

var integerOps = map[uint16]func(*decoder, *inst){
	0x002: mov, 0x082: mov, 0x007: sel, 0x087: sel, 0x010: iadd3, 0x090: iadd3, 0x036: viadd,
	0x024: imad, 0x0a4: imad, 0x025: imadWide, 0x0a5: imadWide, 0x027: imadHigh,
	0x012: lop3, 0x092: lop3,
	0x019: shf, 0x099: shf, 0x011: lea, 0x091: lea, 0x00c: isetp, 0x08c: isetp, 0x013: iabs,
	0x016: prmt, 0x096: prmt, 0x01a: sgxt, 0x09a: sgxt, 0x01b: bmsk, 0x09b: bmsk, 0x01c: plop3,
	0x09c: plop3, 0x048: vimnmx, 0x017: imnmx, 0x046: viaddmnmx, 0x00f: vimnmx3,
	0x109: popc, 0x0bf: popc, 0x101: brev,
	0x0be: brev, 0x100: flo, 0x0bd: flo, 0x003: p2r, 0x004: r2p, 0x026: idp, 0x014: vabsdiff,
}

func mov(d *decoder, i *inst) {
	to, b := d.to(), d.raw(d.at32())
	if !d.scalar() {
		if m := d.bits(72, 4); m != 0xf {
			d.refuse("a move in some threads of four")
		}
	}
	i.lane = func(w *warp, l int) { to(w, l, b(w, l)) }
}

func sel(d *decoder, i *inst) {
	to, a, b, c := d.to(), d.raw(d.a()), d.raw(d.at32()), d.condition(87)
	i.lane = func(w *warp, l int) {
		if c(w, l) {
			to(w, l, a(w, l))
		} else {
			to(w, l, b(w, l))
		}
	}
}

// iadd3: the sum of three, with what is carried in (.X) and out. A negated operand is inverted, and
// 1 added, where nothing is carried in.
func iadd3(d *decoder, i *inst) {
	to, one, two := d.to(), d.toPredicate(81), d.toPredicate(84)
	extended := d.bit(74)
	term := func(a arg) func(w *warp, l int) uint64 {
		x, not := d.raw(a), d.minus(a)
		return func(w *warp, l int) uint64 {
			switch v := x(w, l); {
			case not && extended:
				return uint64(^v)
			case not:
				return uint64(^v) + 1
			default:
				return uint64(v)
			}
		}
	}
	a, b, c := term(d.a()), term(d.b()), term(d.c())
	x, y := d.condition(87), d.condition(77)
	i.lane = func(w *warp, l int) {
		sum := a(w, l) + b(w, l) + c(w, l)
		if extended {
			sum += boolean(x(w, l)) + boolean(y(w, l))
		}
		to(w, l, uint32(sum))
		one(w, l, sum >= 1<<32)
		two(w, l, sum >= 2<<32)
	}
}

func viadd(d *decoder, i *inst) {
	to, a, b := d.to(), d.integer(d.a(), false), d.integer(d.at32(), false)
	i.lane = func(w *warp, l int) { to(w, l, a(w, l)+b(w, l)) }
}

// imad: the lower half of a product and a sum.
func imad(d *decoder, i *inst) {
	to, carry := d.to(), d.bits(81, 3)
	a, b, extended := d.raw(d.a()), d.raw(d.b()), d.bit(74)
	c := d.integer(d.c(), extended)
	d.skip(73, 1) // of no account below
	d.skip(77, 4)
	x := d.condition(87)
	if carry != 7 {
		d.refuse("it writes a predicate")
	}
	i.lane = func(w *warp, l int) {
		v := a(w, l)*b(w, l) + c(w, l)
		if extended {
			v += uint32(boolean(x(w, l)))
		}
		to(w, l, v)
	}
}

func signExtend(v uint32) uint64 { return uint64(int64(int32(v))) }
func zeroExtend(v uint32) uint64 { return uint64(v) }

// imadWide: a full product, and a sum of 64 bits.
func imadWide(d *decoder, i *inst) {
	to, carry := d.to64(), d.toPredicate(81)
	a, b := d.raw(d.a()), d.raw(d.b())
	signed, extended := d.bit(73), d.bit(74)
	extend := zeroExtend
	if signed {
		extend = signExtend
	}
	third := d.c()
	c := d.pair(third, extend)
	minus := d.minus(third)
	d.skip(77, 4)
	x := d.condition(87)
	i.lane = func(w *warp, l int) {
		v, in := c(w, l), boolean(extended && x(w, l))
		if minus {
			v = ^v
			in |= boolean(!extended)
		}
		sum, over := bits.Add64(wide(a(w, l), b(w, l), signed), v, in)
		to(w, l, sum)
		carry(w, l, over == 1)
	}
}

// imadHigh: the upper half of a whole product and a sum of 64 bits.
func imadHigh(d *decoder, i *inst) {
	to, carry := d.to(), d.toPredicate(81)
	a, b, signed, extended := d.raw(d.a()), d.raw(d.b()), d.bit(73), d.bit(74)
	third := d.c()
	c := d.pair(third, zeroExtend)
	if third.kind == immediate {
		d.refuse("a sum with a number in the word is not known")
	}
	minus := d.minus(third)
	if minus && extended {
		d.refuse("a difference with a carry is not known")
	}
	d.skip(77, 4)
	x := d.condition(87)
	i.lane = func(w *warp, l int) {
		v := c(w, l)
		if minus {
			v = -v
		}
		sum, over := bits.Add64(wide(a(w, l), b(w, l), signed), v, boolean(extended && x(w, l)))
		to(w, l, uint32(sum>>32))
		carry(w, l, over == 1)
	}
}

// lop3: any function of three bits, by its table; a predicate says whether a bit is set.
func lop3(d *decoder, i *inst) {
	to, some := d.to(), d.toPredicate(81)
	a, b, c := d.raw(d.a()), d.raw(d.b()), d.raw(d.c())
	table, and, x := uint32(d.bits(72, 8)), d.bit(80), d.condition(87)
	i.lane = func(w *warp, l int) {
		p, q, r := a(w, l), b(w, l), c(w, l)
		v := uint32(0)
		for n := uint32(0); n < 8; n++ {
			if table>>n&1 == 1 {
				v |= (p ^ ^-(n >> 2 & 1)) & (q ^ ^-(n >> 1 & 1)) & (r ^ ^-(n & 1))
			}
		}
		to(w, l, v)
		if and {
			some(w, l, v != 0 && x(w, l))
		} else {
			some(w, l, v != 0 || x(w, l))
		}
	}
}

// shf: a shift of two registers, of which one half is the result.
func shf(d *decoder, i *inst) {
	to := d.to()
	low, by, high := d.raw(d.a()), d.raw(d.b()), d.raw(d.c())
	kind, wrap, right, upper := d.bits(73, 2), d.bit(75), d.bit(76), d.bit(80)
	width, signed := uint32(32), kind%2 == 0
	if kind < 2 {
		width = 64
	}
	i.lane = func(w *warp, l int) {
		v, n := uint64(high(w, l))<<32|uint64(low(w, l)), by(w, l)
		if wrap {
			n &= width - 1
		}
		n = min(n, width)
		switch {
		case right && signed:
			v = uint64(int64(v) >> n)
		case right:
			v >>= n
		default:
			v <<= n
		}
		if upper {
			v >>= 32
		}
		to(w, l, uint32(v))
	}
}

// lea: a shifted number, or the upper half of two that are shifted (.HI), and a sum.
func lea(d *decoder, i *inst) {
	to, carry := d.to(), d.toPredicate(81)
	first := d.a()
	second := d.b()
	a, b, c, negated := d.raw(first), d.raw(second), d.raw(d.c()), d.minus(second)
	minus, extendSign, extended := d.bit(72), d.bit(73), d.bit(74)
	by, high, x := d.bits(75, 5), d.bit(80), d.condition(87)
	if extendSign && !high {
		d.refuse("LEA.SX32 without .HI is not known")
	}
	i.lane = func(w *warp, l int) {
		v := uint64(a(w, l))
		switch {
		case high && extendSign:
			v = signExtend(uint32(v))
		case high:
			v |= uint64(c(w, l)) << 32
		}
		v <<= by
		if high {
			v >>= 32
		}
		v = uint64(uint32(v))
		switch {
		case minus && extended:
			v = uint64(uint32(^v))
		case minus:
			v = uint64(uint32(^v)) + 1
		}
		switch y := b(w, l); {
		case negated && extended:
			v += uint64(^y)
		case negated:
			v += uint64(^y) + 1
		default:
			v += uint64(y)
		}
		if extended {
			v += boolean(x(w, l))
		}
		to(w, l, uint32(v))
		carry(w, l, v >= 1<<32)
	}
}

// combine is how a comparison's result meets another predicate.
func combine(how uint64, a, b bool) bool {
	switch how {
	case 0:
		return a && b
	case 1:
		return a || b
	}
	return a != b
}

// holds decides a comparison by its three bits: less, equal, greater.
func holds(table uint64, less, equal bool) bool {
	switch {
	case less:
		return table&1 != 0
	case equal:
		return table&2 != 0
	}
	return table&4 != 0
}

// isetp compares; .EX compares upper halves, where another predicate has the result of the lower ones.
func isetp(d *decoder, i *inst) {
	one, two := d.toPredicate(81), d.toPredicate(84)
	a, b := d.raw(d.a()), d.raw(d.at32())
	low, extended, signed := d.condition(68), d.bit(72), d.bit(73)
	how, table, x := d.bits(74, 2), d.bits(76, 3), d.condition(87)
	if how == 3 {
		d.refuse("its third way to combine is not known")
	}
	i.lane = func(w *warp, l int) {
		p, q := a(w, l), b(w, l)
		less := p < q
		if signed {
			less = int32(p) < int32(q)
		}
		is := holds(table, less, p == q)
		if extended && p == q {
			is = low(w, l)
		}
		v := x(w, l)
		one(w, l, combine(how, is, v))
		two(w, l, combine(how, !is, v))
	}
}

func iabs(d *decoder, i *inst) {
	to, b := d.to(), d.raw(d.at32())
	i.lane = func(w *warp, l int) {
		v := b(w, l)
		if int32(v) < 0 {
			v = -v
		}
		to(w, l, v)
	}
}

// selectors are those of PRMT's modes, by the mode and the lower two bits of the second source.
var selectors = [...][4]uint32{
	1: {0x3210, 0x4321, 0x5432, 0x6543}, // F4E
	2: {0x5670, 0x6701, 0x7012, 0x0123}, // B4E
	3: {0x0000, 0x1111, 0x2222, 0x3333}, // RC8
	4: {0x3210, 0x3211, 0x3222, 0x3333}, // ECL
	5: {0x0000, 0x1110, 0x2210, 0x3210}, // ECR
	6: {0x1010, 0x3232, 0x1010, 0x3232}, // RC16
}

// prmt: four bytes of eight, or their signs.
func prmt(d *decoder, i *inst) {
	to := d.to()
	a, b, c, mode := d.raw(d.a()), d.raw(d.b()), d.raw(d.c()), d.bits(72, 3)
	if mode == 7 {
		d.refuse("its mode is not known")
		return
	}
	i.lane = func(w *warp, l int) {
		from, by, v := uint64(c(w, l))<<32|uint64(a(w, l)), b(w, l), uint32(0)
		if mode > 0 {
			by = selectors[mode][by&3]
		}
		for n := range 4 {
			s := by >> (4 * n)
			x := uint8(from >> (8 * (s & 7)))
			if s&8 != 0 {
				x = uint8(int8(x) >> 7)
			}
			v |= uint32(x) << (8 * n)
		}
		to(w, l, v)
	}
}

// vabsdiff: the distance of two numbers, and a sum.
func vabsdiff(d *decoder, i *inst) {
	to, a, b, c, signed := d.to(), d.raw(d.a()), d.raw(d.b()), d.raw(d.c()), d.bit(73)
	i.lane = func(w *warp, l int) {
		x, y := a(w, l), b(w, l)
		to(w, l, smallest(x, y, signed, false)-smallest(x, y, signed, true)+c(w, l))
	}
}

// sgxt: the lower bits of a number, with its sign or without.
func sgxt(d *decoder, i *inst) {
	to, a, b, signed := d.to(), d.raw(d.a()), d.raw(d.at32()), d.bit(73)
	wrap := d.bit(75)
	i.lane = func(w *warp, l int) {
		n := b(w, l)
		if wrap {
			n &= 31
		}
		v, gap := a(w, l), 32-min(n, 32)
		if signed {
			to(w, l, uint32(int32(v<<gap)>>gap))
		} else {
			to(w, l, v<<gap>>gap)
		}
	}
}

// bmsk: so many ones from a place on.
func bmsk(d *decoder, i *inst) {
	to, a, b, wrap := d.to(), d.raw(d.a()), d.raw(d.at32()), d.bit(75)
	i.lane = func(w *warp, l int) {
		at, n := a(w, l), b(w, l)
		if wrap {
			at, n = at&31, n&31
		}
		to(w, l, uint32((uint64(1)<<min(n, 32)-1)<<min(at, 32)))
	}
}

// plop3: any two functions of three predicates.
func plop3(d *decoder, i *inst) {
	one, two := d.toPredicate(81), d.toPredicate(84)
	a, b, c := d.condition(87), d.condition(77), d.condition(68)
	first, second := d.bits(64, 3)|d.bits(72, 5)<<3, d.bits(16, 8)
	if d.bit(67) { // the third is one of the warp's
		n, not := d.bits(68, 3), d.bit(71)
		c = func(w *warp, _ int) bool { return w.up>>n&1 == 1 != not }
	}
	i.lane = func(w *warp, l int) {
		n := boolean(a(w, l))<<2 | boolean(b(w, l))<<1 | boolean(c(w, l))
		one(w, l, first>>n&1 == 1)
		two(w, l, second>>n&1 == 1)
	}
}

// smallest is the minimum where a predicate is true, else the maximum.
func smallest(a, b uint32, signed, minimum bool) uint32 {
	less := a < b
	if signed {
		less = int32(a) < int32(b)
	}
	if less == minimum {
		return a
	}
	return b
}

// smallestHalves is the same of both halves of two (.U16x2, .S16x2), where halves is true.
func smallestHalves(a, b uint32, halves, signed, minimum bool) uint32 {
	if !halves {
		return smallest(a, b, signed, minimum)
	}
	const upper = 0xffff0000
	return smallest(a&upper, b&upper, signed, minimum) | smallest(a<<16, b<<16, signed, minimum)>>16
}

func vimnmx(d *decoder, i *inst) {
	to, a, b, signed, x := d.to(), d.raw(d.a()), d.raw(d.at32()), d.bit(72), d.condition(87)
	halves := d.bit(73)
	d.want(81, 6, 63)
	i.lane = func(w *warp, l int) {
		to(w, l, smallestHalves(a(w, l), b(w, l), halves, signed, x(w, l)))
	}
}

// vimnmx3 is the minimum or maximum of three.
func vimnmx3(d *decoder, i *inst) {
	to, a, b, c := d.to(), d.raw(d.a()), d.raw(d.b()), d.raw(d.c())
	signed, halves, x := d.bit(72), d.bit(73), d.condition(87)
	i.lane = func(w *warp, l int) {
		v, least := smallestHalves(a(w, l), b(w, l), halves, signed, x(w, l)), x(w, l)
		to(w, l, smallestHalves(v, c(w, l), halves, signed, least))
	}
}

func imnmx(d *decoder, i *inst) {
	to, a, b, signed, x := d.to(), d.raw(d.a()), d.raw(d.at32()), d.bit(73), d.condition(87)
	i.lane = func(w *warp, l int) { to(w, l, smallest(a(w, l), b(w, l), signed, x(w, l))) }
}

func viaddmnmx(d *decoder, i *inst) {
	to, a, b, c := d.to(), d.raw(d.a()), d.integer(d.b(), false), d.raw(d.c())
	signed, x := d.bit(72), d.condition(87)
	i.lane = func(w *warp, l int) {
		to(w, l, smallest(a(w, l)+b(w, l), c(w, l), signed, x(w, l)))
	}
}

func popc(d *decoder, i *inst) {
	to, b := d.to(), d.integer(d.at32(), true)
	i.lane = func(w *warp, l int) { to(w, l, uint32(bits.OnesCount32(b(w, l)))) }
}

func brev(d *decoder, i *inst) {
	to, b := d.to(), d.raw(d.at32())
	i.lane = func(w *warp, l int) { to(w, l, bits.Reverse32(b(w, l))) }
}

// flo: the place of the highest one, or with a sign of the highest bit that differs from it; or how
// far that is from the top (.SH). -1 where there is none.
func flo(d *decoder, i *inst) {
	to, b := d.to(), d.integer(d.at32(), true)
	signed, distance := d.bit(73), d.bit(74)
	d.want(81, 3, 7)
	i.lane = func(w *warp, l int) {
		v := b(w, l)
		if signed && int32(v) < 0 {
			v = ^v
		}
		n := uint32(bits.Len32(v)) - 1
		if distance && v != 0 {
			n = 31 - n
		}
		to(w, l, n)
	}
}

// p2r, r2p: predicates, a bit each, to a register and back.
func p2r(d *decoder, i *inst) {
	to, a, b := d.to(), d.raw(d.a()), d.raw(d.at32())
	i.lane = func(w *warp, l int) {
		mask := b(w, l)
		to(w, l, a(w, l)&^mask|uint32(w.p[l])&mask&0x7f)
	}
}

func r2p(d *decoder, i *inst) {
	a, b := d.raw(d.a()), d.raw(d.at32())
	i.lane = func(w *warp, l int) {
		mask := uint8(b(w, l)) & 0x7f
		w.p[l] = w.p[l]&^mask | uint8(a(w, l))&mask
	}
}

// idp: a sum of four products of bytes.
func idp(d *decoder, i *inst) {
	to, a, b, c := d.to(), d.raw(d.a()), d.raw(d.b()), d.raw(d.c())
	first, second := d.bit(73), d.bit(74)
	part := func(v uint32, n int, signed bool) uint32 {
		if signed {
			return uint32(int32(int8(v >> (8 * n))))
		}
		return uint32(uint8(v >> (8 * n)))
	}
	i.lane = func(w *warp, l int) {
		p, q, sum := a(w, l), b(w, l), c(w, l)
		for n := range 4 {
			sum += part(p, n, first) * part(q, n, second)
		}
		to(w, l, sum)
	}
}
