package emulate

// An arg is a source of an instruction.
type arg struct {
	kind     kind
	n        int    // register
	value    uint32 // of an immediate
	bank, at int    // of a constant
	sign     uint   // the bit that negates it, 0: none
	abs      uint   // the bit that takes its magnitude
}

type kind uint8

const (
	register kind = iota
	uniformRegister
	immediate
	constant
)

const (
	none      = 255 // RZ
	noUniform = 63  // URZ
)

// a is the first source.
func (d *decoder) a() arg {
	if d.scalar() {
		return arg{kind: uniformRegister, n: d.uniformAt(24), sign: 72, abs: 73}
	}
	return arg{kind: register, n: int(d.bits(24, 8)), sign: 72, abs: 73}
}

// The second and third source stand at bits 32 and 64. The form says which of the two is a
// register, and what the other one is.
func (d *decoder) b() arg {
	switch d.Form() {
	case 2, 3, 7:
		return d.register64()
	}
	return d.at32()
}

func (d *decoder) c() arg {
	switch d.Form() {
	case 2, 3, 7:
		return d.at32()
	}
	return d.register64()
}

func (d *decoder) register64() arg {
	if d.scalar() {
		return arg{kind: uniformRegister, n: d.uniformAt(64), sign: 75, abs: 74}
	}
	return arg{kind: register, n: int(d.bits(64, 8)), sign: 75, abs: 74}
}

// at32 is the source at bit 32.
func (d *decoder) at32() arg {
	switch d.Form() {
	case 1:
		if d.scalar() {
			return arg{kind: uniformRegister, n: d.uniformAt(32), sign: 63, abs: 62}
		}
		return arg{kind: register, n: int(d.bits(32, 8)), sign: 63, abs: 62}
	case 2, 4:
		return arg{kind: immediate, value: uint32(d.bits(32, 32))}
	case 6, 7:
		d.want(91, 1, 1)
		return arg{kind: uniformRegister, n: d.uniformAt(32), sign: 63, abs: 62}
	case 3, 5:
		if d.bit(91) {
			d.refuse("a constant bank in a register is not known")
		}
		return arg{kind: constant, bank: int(d.bits(54, 5)), at: int(d.bits(38, 16)), sign: 63, abs: 62}
	}
	d.refuse("form %d is not known", d.Form())
	return arg{n: none}
}

// uniformAt is the number of a uniform register.
func (d *decoder) uniformAt(at uint) int {
	n := int(d.bits(at, 6))
	if d.Bits(at, 8) == none {
		d.bits(at, 8)
	}
	return n
}

// minus reports whether a source is negated, magnitude whether its magnitude is taken.
func (d *decoder) minus(a arg) bool     { return a.sign > 0 && d.bit(a.sign) }
func (d *decoder) magnitude(a arg) bool { return a.abs > 0 && d.bit(a.abs) }

// A source gives an operand's bits in one thread.
type source func(w *warp, l int) uint32

// A source64 is that of 64 bits.
type source64 func(w *warp, l int) uint64

// raw is an operand without sign and magnitude.
func (d *decoder) raw(a arg) source {
	n, v := a.n, a.value
	switch a.kind {
	case uniformRegister:
		return func(w *warp, _ int) uint32 { return w.u[n] }
	case immediate:
		return func(*warp, int) uint32 { return v }
	case constant:
		return func(w *warp, _ int) uint32 { return uint32(w.constant(a.bank, a.at, 4)) }
	}
	return func(w *warp, l int) uint32 { return w.r[l][n] }
}

// pair is an operand of two registers, or a constant of 64 bits. Of an immediate wide says what
// it stands for.
func (d *decoder) pair(a arg, wide func(v uint32) uint64) source64 {
	n := a.n
	switch {
	case a.kind == constant:
		return func(w *warp, _ int) uint64 { return w.constant(a.bank, a.at, 8) }
	case a.kind == immediate:
		v := wide(a.value)
		return func(*warp, int) uint64 { return v }
	case a.kind == register && n == none, a.kind == uniformRegister && n == noUniform:
		return func(*warp, int) uint64 { return 0 }
	case n%2 != 0:
		d.refuse("a pair of registers begins with %d", n)
		return nil
	case a.kind == uniformRegister:
		return func(w *warp, _ int) uint64 { return uint64(w.u[n+1])<<32 | uint64(w.u[n]) }
	}
	return func(w *warp, l int) uint64 { return uint64(w.r[l][n+1])<<32 | uint64(w.r[l][n]) }
}

// integer is an operand that a bit may negate; with inverted the bit inverts it.
func (d *decoder) integer(a arg, inverted bool) source {
	x := d.raw(a)
	switch {
	case !d.minus(a):
		return x
	case inverted:
		return func(w *warp, l int) uint32 { return ^x(w, l) }
	}
	return func(w *warp, l int) uint32 { return -x(w, l) }
}

// number is an operand of a format of 32 or 64 bits. An immediate of double precision is the upper
// half of one.
func (d *decoder) number(a arg, f format) source64 {
	clear, flip := ^uint64(0), uint64(0)
	if d.magnitude(a) {
		clear = ^f.minus()
	}
	if d.minus(a) {
		flip = f.minus()
	}
	if f == double {
		x := d.pair(a, upperHalf)
		return func(w *warp, l int) uint64 { return x(w, l)&clear ^ flip }
	}
	x := d.raw(a)
	return func(w *warp, l int) uint64 { return uint64(x(w, l))&clear ^ flip }
}

func upperHalf(v uint32) uint64 { return uint64(v) << 32 }

// register is an operand that is a register, at a place.
func (d *decoder) register(at uint) source { return d.raw(arg{n: int(d.bits(at, 8))}) }

// fixed is an operand that stands in the word.
func fixed(v uint64) source { return func(*warp, int) uint32 { return uint32(v) } }

// condition is a predicate at a place, which the bit three behind it negates.
func (d *decoder) condition(at uint) func(w *warp, l int) bool {
	n, not, scalar := d.bits(at, 3), d.bit(at+3), d.scalar()
	return func(w *warp, l int) bool {
		if scalar {
			return w.up>>n&1 == 1 != not
		}
		return w.p[l]>>n&1 == 1 != not
	}
}

// to writes a register.
func (d *decoder) to() func(w *warp, l int, v uint32) {
	if d.scalar() {
		n := d.uniformAt(16)
		return func(w *warp, _ int, v uint32) { w.setUniform(n, v) }
	}
	n := int(d.bits(16, 8))
	return func(w *warp, l int, v uint32) { w.set(l, n, v) }
}

// to64 writes a pair.
func (d *decoder) to64() func(w *warp, l int, v uint64) {
	if d.scalar() {
		n := d.uniformAt(16)
		if n != noUniform && n%2 != 0 {
			d.refuse("a pair of registers begins with %d", n)
		}
		return func(w *warp, _ int, v uint64) {
			if n != noUniform {
				w.setUniform(n, uint32(v))
				w.setUniform(n+1, uint32(v>>32))
			}
		}
	}
	n := int(d.bits(16, 8))
	if n != none && n%2 != 0 {
		d.refuse("a pair of registers begins with %d", n)
	}
	return func(w *warp, l int, v uint64) {
		if n != none {
			w.set(l, n, uint32(v))
			w.set(l, n+1, uint32(v>>32))
		}
	}
}

// result writes a register, or a pair of them.
func (d *decoder) result(pair bool) func(w *warp, l int, v uint64) {
	if pair {
		return d.to64()
	}
	to := d.to()
	return func(w *warp, l int, v uint64) { to(w, l, uint32(v)) }
}

// toPredicate writes a predicate.
func (d *decoder) toPredicate(at uint) func(w *warp, l int, v bool) {
	n, scalar := d.bits(at, 3), d.scalar()
	return func(w *warp, l int, v bool) {
		p := &w.up
		if !scalar {
			p = &w.p[l]
		}
		if n != 7 {
			*p = *p&^(1<<n) | uint8(boolean(v))<<n
		}
	}
}

// constant reads a constant bank.
func (w *warp) constant(bank, at, size int) uint64 {
	b := w.block.launch.bank(bank)
	if at < 0 || at+size > len(b) || bank == 0 && !known(at, size) {
		w.fault("c[%#x][%#x]: there is nothing", bank, at)
		return 0
	}
	return little(b[at : at+size])
}
