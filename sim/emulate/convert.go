package emulate

import "math"

// Conversions between formats, and the special function units.

var convertOps = map[uint16]func(*decoder, *inst){
	0x104: f2f, 0x110: f2f, 0x105: f2i, 0x111: f2i, 0x106: i2f, 0x112: i2f, 0x045: i2f, 0x107: frnd,
	0x113: frnd,
}

// formats are those of floating point by the logarithm of their bytes.
var formats = [...]format{1: half, 2: single, 3: double}

// converted is the operand at bit 32, of a floating-point format.
func (d *decoder) converted(size uint64) source64 {
	a := d.at32()
	switch size {
	case 2, 3:
		return d.number(a, formats[size])
	case 1:
		x, by := d.raw(a), 16*d.bits(60, 1)
		d.want(61, 3, 0)
		return func(w *warp, l int) uint64 { return uint64(uint16(x(w, l) >> by)) }
	}
	d.refuse("numbers of 8 bits are not known")
	return nil
}

func f2f(d *decoder, i *inst) {
	to, from := d.bits(75, 2), d.bits(84, 2)
	r, flushes := rounding(d.bits(78, 2)), d.bit(80)
	x, write := d.converted(from), d.result(to == 3)
	if to == 0 || from == 0 {
		d.refuse("numbers of 8 bits are not known")
		return
	}
	f, g := formats[from], formats[to]
	i.lane = func(w *warp, l int) {
		v := x(w, l)
		if flushes && from == 2 {
			v = f.flush(v)
		}
		v = g.convert(v, f, r)
		if flushes && to == 2 {
			v = g.flush(v)
		}
		write(w, l, v)
	}
}

func f2i(d *decoder, i *inst) {
	signed, to, from := d.bit(72), d.bits(75, 2), d.bits(84, 2)
	nanZero, r, flushes := d.bit(77), rounding(d.bits(78, 2)), d.bit(80)
	x, write := d.converted(from), d.result(to == 3)
	if to < 2 || from == 0 {
		d.refuse("numbers of so few bits are not known")
		return
	}
	f, width := formats[from], uint(8)<<to
	i.lane = func(w *warp, l int) {
		v := x(w, l)
		if flushes {
			v = f.flush(v)
		}
		write(w, l, f.toInteger(v, signed, nanZero, width, r))
	}
}

func i2f(d *decoder, i *inst) {
	signed, to, from := d.bit(74), d.bits(75, 2), d.bits(84, 2)
	r, write := rounding(d.bits(78, 2)), d.result(to == 3)
	var x source64
	if from == 3 {
		x = d.pair(d.at32(), upperHalf)
	} else {
		y, by := d.raw(d.at32()), uint64(0)
		if from < 2 { // a byte, or a half
			by = 8 << from * d.bits(60, 2)
		}
		gap := 64 - 8<<from
		x = func(w *warp, l int) uint64 {
			v := uint64(y(w, l)) >> by << gap
			if signed {
				return uint64(int64(v) >> gap)
			}
			return v >> gap
		}
	}
	if to == 0 {
		d.refuse("numbers of 8 bits are not known")
		return
	}
	f := formats[to]
	i.lane = func(w *warp, l int) { write(w, l, f.fromInteger(x(w, l), signed, r)) }
}

// frnd rounds to an integer.
func frnd(d *decoder, i *inst) {
	to, from := d.bits(75, 2), d.bits(84, 2)
	r, flushes := rounding(d.bits(78, 2)), d.bit(80)
	x, write := d.converted(from), d.result(to == 3)
	if to != from || to < 2 {
		d.refuse("it changes the format")
		return
	}
	f := formats[to]
	i.lane = func(w *warp, l int) {
		v := x(w, l)
		if flushes {
			v = f.flush(v)
		}
		write(w, l, f.integral(v, r))
	}
}

// functions are those of MUFU by bits 74 to 79: near what the units give, and never more than that.
var functions = [...]func(float64) float64{
	func(x float64) float64 { return math.Cos(2 * math.Pi * math.Remainder(x, 1)) },
	func(x float64) float64 { return math.Sin(2 * math.Pi * math.Remainder(x, 1)) },
	math.Exp2, math.Log2, func(x float64) float64 { return 1 / x },
	func(x float64) float64 { return 1 / math.Sqrt(x) }, nil, nil, math.Sqrt, math.Tanh,
}

// mufu is a function of the operand's bits, flushing subnormal ones. RCP64H and RSQ64H take and
// give the upper halves of numbers of double precision.
func mufu(d *decoder, i *inst) {
	to, b, n := d.to(), d.number(d.at32(), single), d.bits(74, 6)
	if n == 6 || n == 7 {
		i.lane = func(w *warp, l int) {
			w.block.launch.Approximate = true
			x := math.Float64frombits(double.flush(b(w, l) << 32))
			y := 1 / x
			if n == 7 {
				y = 1 / math.Sqrt(x)
			}
			v := double.flush(math.Float64bits(y))
			if y != y {
				v = 0x7fffffff << 32
			}
			to(w, l, uint32(v>>32))
		}
		return
	}
	if n >= uint64(len(functions)) {
		d.refuse("its function %d is not known", n)
		return
	}
	f := functions[n]
	i.lane = func(w *warp, l int) {
		w.block.launch.Approximate = true
		x := math.Float32frombits(uint32(single.flush(b(w, l))))
		y := float32(f(float64(x)))
		v := uint32(single.flush(uint64(math.Float32bits(y))))
		if y != y {
			v = uint32(single.nan())
		}
		to(w, l, v)
	}
}
