package emulate

// Arithmetic of single and double precision.

var floatOps = map[uint16]func(*decoder, *inst){
	0x021: fadd, 0x020: fmul, 0x023: ffma, 0x009: fmnmx, 0x008: fsel, 0x00b: fsetp, 0x00a: fset,
	0x102: fchk, 0x108: mufu, 0x029: dadd, 0x028: dmul, 0x02b: dfma, 0x02a: dsetp,
}

// A finish is what is done to operands and results of single precision: flushing, saturation.
type finish struct{ flushes, saturates bool }

func (d *decoder) finish() finish { return finish{flushes: d.bit(80), saturates: d.bit(77)} }

func (f finish) in(v uint32) uint64 {
	if f.flushes {
		return single.flush(uint64(v))
	}
	return uint64(v)
}

func (f finish) out(v uint64) uint32 {
	if f.flushes {
		v = single.flush(v)
	}
	if f.saturates {
		v = single.saturate(v)
	}
	return uint32(v)
}

// fadd: the second operand stands where a third would, unless it is a register.
func fadd(d *decoder, i *inst) {
	to, a := d.to(), d.float(d.a())
	second := d.at32()
	b, f, r := d.float(second), d.finish(), rounding(d.bits(78, 2))
	i.lane = func(w *warp, l int) { to(w, l, f.out(single.add(f.in(a(w, l)), f.in(b(w, l)), r))) }
}

// scales are the powers of two with which FMUL multiplies its product, by bits 84 to 86.
var scales = [...]int{0, -3, -2, -1, 0, 1, 2, 3}

func fmul(d *decoder, i *inst) {
	to, a, b := d.to(), d.float(d.a()), d.float(d.at32())
	f, r, by := d.finish(), rounding(d.bits(78, 2)), d.bits(84, 3)
	if by == 0 {
		d.refuse("it has no scale")
	}
	n := scales[by]
	i.lane = func(w *warp, l int) { to(w, l, f.out(single.scale(f.in(a(w, l)), f.in(b(w, l)), n, r))) }
}

func ffma(d *decoder, i *inst) {
	to, a, b, c := d.to(), d.float(d.a()), d.float(d.b()), d.float(d.c())
	f, r := d.finish(), rounding(d.bits(78, 2))
	i.lane = func(w *warp, l int) {
		to(w, l, f.out(single.fma(f.in(a(w, l)), f.in(b(w, l)), f.in(c(w, l)), r)))
	}
}

func fmnmx(d *decoder, i *inst) {
	to, a, b := d.to(), d.float(d.a()), d.float(d.at32())
	f, nan, x := finish{flushes: d.bit(80)}, d.bit(81), d.condition(87)
	i.lane = func(w *warp, l int) {
		to(w, l, uint32(single.smaller(f.in(a(w, l)), f.in(b(w, l)), x(w, l), nan)))
	}
}

func fsel(d *decoder, i *inst) {
	to, a, b, x := d.to(), d.float(d.a()), d.float(d.at32()), d.condition(87)
	flushes := d.bit(80)
	if flushes {
		d.refuse("FSEL.FTZ is not known")
	}
	i.lane = func(w *warp, l int) {
		if x(w, l) {
			to(w, l, a(w, l))
		} else {
			to(w, l, b(w, l))
		}
	}
}

// compares tells of a comparison by its four bits: less, equal, greater, not ordered.
func (f format) compares(table, a, b uint64) bool {
	if f.isNaN(a) || f.isNaN(b) {
		return table&8 != 0
	}
	less := f.less(a, b, false)
	return holds(table, less, !less && !f.less(b, a, false))
}

func fsetp(d *decoder, i *inst) {
	one, two := d.toPredicate(81), d.toPredicate(84)
	a, b := d.float(d.a()), d.float(d.at32())
	f, how, table, x := finish{flushes: d.bit(80)}, d.bits(74, 2), d.bits(76, 4), d.condition(87)
	i.lane = func(w *warp, l int) {
		is, v := single.compares(table, f.in(a(w, l)), f.in(b(w, l))), x(w, l)
		one(w, l, combine(how, is, v))
		two(w, l, combine(how, !is, v))
	}
}

// fset gives 1 or 0.
func fset(d *decoder, i *inst) {
	to, a, b := d.to(), d.float(d.a()), d.float(d.at32())
	f, how, table, x := finish{flushes: d.bit(80)}, d.bits(74, 2), d.bits(76, 4), d.condition(87)
	const yes = 0x3f800000
	i.lane = func(w *warp, l int) {
		v := uint32(0)
		if combine(how, single.compares(table, f.in(a(w, l)), f.in(b(w, l))), x(w, l)) {
			v = yes
		}
		to(w, l, v)
	}
}

// fchk tells of operands for which a division is not done by the usual way: whatever it says, the
// quotient is the same, so that it may say so of more than the GPU does.
func fchk(d *decoder, i *inst) {
	some, a, b := d.toPredicate(81), d.float(d.a()), d.float(d.at32())
	i.lane = func(w *warp, l int) {
		n, m := int(a(w, l)>>23&0xff), int(b(w, l)>>23&0xff)
		const near = 24
		some(w, l, n < 1+near || n == 255 || m < 1+near || m > 254-near || n-m > 127-2 || m-n > 126-2)
	}
}

func dadd(d *decoder, i *inst) {
	to, a := d.to64(), d.double(d.a())
	second := d.c()
	b, r := d.double(second), rounding(d.bits(78, 2))
	i.lane = func(w *warp, l int) { to(w, l, double.add(a(w, l), b(w, l), r)) }
}

func dmul(d *decoder, i *inst) {
	to, a, b, r := d.to64(), d.double(d.a()), d.double(d.at32()), rounding(d.bits(78, 2))
	i.lane = func(w *warp, l int) { to(w, l, double.mul(a(w, l), b(w, l), r)) }
}

func dfma(d *decoder, i *inst) {
	to, a, b, c := d.to64(), d.double(d.a()), d.double(d.b()), d.double(d.c())
	r := rounding(d.bits(78, 2))
	i.lane = func(w *warp, l int) { to(w, l, double.fma(a(w, l), b(w, l), c(w, l), r)) }
}

// dsetp compares. .MIN and .MAX are the comparisons that a minimum takes: the first predicate says
// that it is the first operand, the second that it is no number.
func dsetp(d *decoder, i *inst) {
	one, two := d.toPredicate(81), d.toPredicate(84)
	second := d.at32()
	a, b := d.double(d.a()), d.double(second)
	how, table, x := d.bits(74, 2), d.bits(76, 4), d.condition(87)
	if table == 0 || table == 15 {
		i.lane = func(w *warp, l int) {
			p, q := a(w, l), b(w, l)
			nan := double.isNaN(p) && double.isNaN(q)
			is := !double.isNaN(p) && (double.isNaN(q) || double.less(p, q, true) == (table == 0))
			one(w, l, combine(how, is, x(w, l)))
			two(w, l, combine(how, nan, x(w, l)))
		}
		return
	}
	i.lane = func(w *warp, l int) {
		is, v := double.compares(table, a(w, l), b(w, l)), x(w, l)
		one(w, l, combine(how, is, v))
		two(w, l, combine(how, !is, v))
	}
}
