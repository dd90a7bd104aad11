package emulate

// Arithmetic of single and double precision.

var floatOps = map[uint16]func(*decoder, *inst){
	0x021: add(single), 0x020: multiply(single), 0x023: fma(single), 0x00b: setp(single),
	0x029: add(double), 0x028: multiply(double), 0x02b: fma(double), 0x02a: setp(double),
	0x009: fmnmx, 0x008: fsel, 0x00a: fset, 0x102: fchk, 0x108: mufu,
}

// A finish is what is done to operands and results of single precision: flushing, saturation.
type finish struct{ flushes, saturates bool }

func (d *decoder) finish(f format) finish {
	return finish{flushes: f == single && d.bit(80), saturates: f == single && d.bit(77)}
}

func (f finish) in(v uint64) uint64 {
	if f.flushes {
		return single.flush(v)
	}
	return v
}

func (f finish) out(v uint64) uint64 {
	v = f.in(v)
	if f.saturates {
		v = single.saturate(v)
	}
	return v
}

// add: the second operand of single precision stands where a third would, unless it is a register.
func add(f format) func(*decoder, *inst) {
	return func(d *decoder, i *inst) {
		to, a := d.result(f == double), d.number(d.a(), f)
		second := d.at32
		if f == double {
			second = d.c
		}
		b, end, r := d.number(second(), f), d.finish(f), rounding(d.bits(78, 2))
		i.lane = func(w *warp, l int) { to(w, l, end.out(f.add(end.in(a(w, l)), end.in(b(w, l)), r))) }
	}
}

// scales are the powers of two with which FMUL multiplies its product, by bits 84 to 86.
var scales = [...]int{0, -3, -2, -1, 0, 1, 2, 3}

func multiply(f format) func(*decoder, *inst) {
	return func(d *decoder, i *inst) {
		to, a, b := d.result(f == double), d.number(d.a(), f), d.number(d.at32(), f)
		end, r, n := d.finish(f), rounding(d.bits(78, 2)), 0
		if f == single {
			by := d.bits(84, 3)
			if by == 0 {
				d.refuse("it has no scale")
			}
			n = scales[by]
		}
		i.lane = func(w *warp, l int) {
			to(w, l, end.out(f.scale(end.in(a(w, l)), end.in(b(w, l)), n, r)))
		}
	}
}

func fma(f format) func(*decoder, *inst) {
	return func(d *decoder, i *inst) {
		to, a, b, c := d.result(f == double), d.number(d.a(), f), d.number(d.b(), f), d.number(d.c(), f)
		end, r := d.finish(f), rounding(d.bits(78, 2))
		i.lane = func(w *warp, l int) {
			to(w, l, end.out(f.fma(end.in(a(w, l)), end.in(b(w, l)), end.in(c(w, l)), r)))
		}
	}
}

func fmnmx(d *decoder, i *inst) {
	to, a, b := d.result(false), d.number(d.a(), single), d.number(d.at32(), single)
	f, nan, x := finish{flushes: d.bit(80)}, d.bit(81), d.condition(87)
	i.lane = func(w *warp, l int) {
		to(w, l, single.smaller(f.in(a(w, l)), f.in(b(w, l)), x(w, l), nan))
	}
}

func fsel(d *decoder, i *inst) {
	to, a, b := d.result(false), d.number(d.a(), single), d.number(d.at32(), single)
	x := d.condition(87)
	if d.bit(80) {
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

// compares gives a comparison by its four bits: less, equal, greater, not ordered.
func (f format) compares(table, a, b uint64) bool {
	if f.isNaN(a) || f.isNaN(b) {
		return table&8 != 0
	}
	less := f.less(a, b, false)
	return holds(table, less, !less && !f.less(b, a, false))
}

// setp compares. .MIN and .MAX of double precision are the comparisons that a minimum takes: the
// first predicate says that it is the first operand, the second that it is no number.
func setp(f format) func(*decoder, *inst) {
	return func(d *decoder, i *inst) {
		one, two := d.toPredicate(81), d.toPredicate(84)
		a, b := d.number(d.a(), f), d.number(d.at32(), f)
		end := finish{flushes: f == single && d.bit(80)}
		how, table, x := d.bits(74, 2), d.bits(76, 4), d.condition(87)
		if f == double && (table == 0 || table == 15) {
			i.lane = func(w *warp, l int) {
				p, q := a(w, l), b(w, l)
				nan := f.isNaN(p) && f.isNaN(q)
				is := !f.isNaN(p) && (f.isNaN(q) || f.less(p, q, true) == (table == 0))
				one(w, l, combine(how, is, x(w, l)))
				two(w, l, combine(how, nan, x(w, l)))
			}
			return
		}
		i.lane = func(w *warp, l int) {
			is, v := f.compares(table, end.in(a(w, l)), end.in(b(w, l))), x(w, l)
			one(w, l, combine(how, is, v))
			two(w, l, combine(how, !is, v))
		}
	}
}

// fset gives 1 or 0.
func fset(d *decoder, i *inst) {
	to, a, b := d.to(), d.number(d.a(), single), d.number(d.at32(), single)
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

// fchk reports operands for which a division is not done by the usual way: whatever it says, the
// quotient is the same, so that it may say so of more than the GPU does.
func fchk(d *decoder, i *inst) {
	some, a, b := d.toPredicate(81), d.number(d.a(), single), d.number(d.at32(), single)
	i.lane = func(w *warp, l int) {
		n, m := int(a(w, l)>>23&0xff), int(b(w, l)>>23&0xff)
		const near = 24
		some(w, l, n < 1+near || n == 255 || m < 1+near || m > 254-near || n-m > 127-2 || m-n > 126-2)
	}
}
