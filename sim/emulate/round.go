package emulate

import (
	"math"
	"math/big"
	"math/bits"
)

// Numbers of all formats, computed exactly and rounded once. To the nearest in single and double
// precision the host does that itself; all else goes through integers of any length.

// A format is one of IEEE 754's.
type format struct{ fraction, exponent uint }

var (
	half   = format{10, 5}
	single = format{23, 8}
	double = format{52, 11}
)

// A rounding is a direction, as instructions number them.
type rounding uint64

const (
	nearest rounding = iota // to even
	down
	up
	zero
)

// inf, nan and minus are bits of a format. The GPU has one NaN of single precision.
func (f format) inf() uint64   { return (1<<f.exponent - 1) << f.fraction }
func (f format) minus() uint64 { return 1 << (f.fraction + f.exponent) }

func (f format) nan() uint64 {
	if f == double {
		return 0xfff8000000000000
	}
	return f.minus() - 1
}

func (f format) isNaN(b uint64) bool  { return b&^f.minus() > f.inf() }
func (f format) isInf(b uint64) bool  { return b&^f.minus() == f.inf() }
func (f format) isZero(b uint64) bool { return b&^f.minus() == 0 }

// flush makes a subnormal number a zero of its sign.
func (f format) flush(b uint64) uint64 {
	if b&f.inf() == 0 {
		return b & f.minus()
	}
	return b
}

// bias is such that a finite number is its integer times 2 to the power of its exponent field less
// bias.
func (f format) bias() int { return 1<<(f.exponent-1) - 1 + int(f.fraction) }

// exact is the value of a finite number: m times 2 to the power of e.
func (f format) exact(b uint64) (m *big.Int, e int) {
	field := int(b & f.inf() >> f.fraction)
	v := b & (1<<f.fraction - 1)
	if field > 0 {
		v |= 1 << f.fraction
	} else {
		field = 1
	}
	m = new(big.Int).SetUint64(v)
	if b&f.minus() != 0 {
		m.Neg(m)
	}
	return m, field - f.bias()
}

// round gives the number of the format for m times 2 to the power of e, which is not zero.
func (f format) round(m *big.Int, e int, to rounding) uint64 {
	sign := uint64(0)
	if m.Sign() < 0 {
		sign = f.minus()
	}
	m = new(big.Int).Abs(m)
	// the last place that the format has for it
	place := max(m.BitLen()+e-int(f.fraction)-1, 1-f.bias())
	var q, rest, last big.Int
	if place <= e {
		q.Lsh(m, uint(e-place))
	} else {
		last.SetBit(&last, place-e, 1)
		q.QuoRem(m, &last, &rest)
	}
	if rest.Sign() != 0 && f.away(&q, &rest, &last, sign != 0, to) {
		q.Add(&q, big.NewInt(1))
	}
	// A carry into the next power of two comes out right, up to infinity.
	v := q.Uint64()
	field := uint64(0)
	if v>>f.fraction != 0 {
		field = uint64(place + f.bias() - 1)
	}
	if field >= 1<<f.exponent-2 && field<<f.fraction+v >= f.inf() {
		if to == zero || to == up && sign != 0 || to == down && sign == 0 {
			return sign | (f.inf() - 1)
		}
		return sign | f.inf()
	}
	return sign | (field<<f.fraction + v)
}

// away reports whether q and a rest, of last, are rounded to the number of the larger magnitude.
func (f format) away(q, rest, last *big.Int, negative bool, to rounding) bool {
	switch to {
	case up:
		return !negative
	case down:
		return negative
	case zero:
		return false
	}
	twice := new(big.Int).Lsh(rest, 1)
	c := twice.Cmp(last)
	return c > 0 || c == 0 && q.Bit(0) == 1
}

// fma is a*b + c, rounded once.
func (f format) fma(a, b, c uint64, to rounding) uint64 {
	product := (a ^ b) & f.minus()
	switch {
	case f.isNaN(a) || f.isNaN(b) || f.isNaN(c):
		return f.nan()
	case f.isInf(a) || f.isInf(b):
		if f.isZero(a) || f.isZero(b) || f.isInf(c) && c&f.minus() != product {
			return f.nan()
		}
		return f.inf() | product
	case f.isInf(c):
		return c
	case to == nearest && f == double:
		return math.Float64bits(math.FMA(math.Float64frombits(a), math.Float64frombits(b),
			math.Float64frombits(c)))
	case to == nearest && f == single:
		return uint64(nearestFMA(uint32(a), uint32(b), uint32(c)))
	}
	ma, ea := f.exact(a)
	mb, eb := f.exact(b)
	m := new(big.Int).Mul(ma, mb)
	mc, ec := f.exact(c)
	e := min(ea+eb, ec)
	m.Lsh(m, uint(ea+eb-e))
	m.Add(m, new(big.Int).Lsh(mc, uint(ec-e)))
	if m.Sign() != 0 {
		return f.round(m, e, to)
	}
	return f.nothing(product|boolean(f.isZero(a) || f.isZero(b)), c, to)
}

// nothing is the sum zero of a product, whose bit 0 says that it is a zero itself, and a number:
// zeros of one sign keep it, all else has that of the direction.
func (f format) nothing(product, c uint64, to rounding) uint64 {
	if product&1 == 1 && f.isZero(c) && product&f.minus() == c&f.minus() {
		return c & f.minus()
	}
	if to == down {
		return f.minus()
	}
	return 0
}

func boolean(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// nearestFMA is a sum of finite numbers of single precision. The product is exact in double
// precision; the sum is rounded to odd there, so that rounding it again is as rounding once
// (Boldo and Melquiond, Emulation of a FMA and Correctly Rounded Sums, 2008).
func nearestFMA(a, b, c uint32) uint32 {
	p := float64(math.Float32frombits(a)) * float64(math.Float32frombits(b))
	x := float64(math.Float32frombits(c))
	s := float64(p + x)
	t := float64(s - p)
	rest := float64(p-float64(s-t)) + float64(x-t)
	if n := math.Float64bits(s); rest != 0 && n&1 == 0 {
		if (rest > 0) == (s > 0) {
			n++
		} else {
			n--
		}
		s = math.Float64frombits(n)
	}
	return math.Float32bits(float32(s))
}

// add is a + b, rounded once. -0 is what changes no sum.
func (f format) add(a, b uint64, to rounding) uint64 {
	one := uint64(f.bias()-int(f.fraction)) << f.fraction
	return f.fma(a, one, b, to)
}

// mul is a * b, rounded once: a zero keeps its sign in every direction.
func (f format) mul(a, b uint64, to rounding) uint64 {
	if f.isZero(a) || f.isZero(b) {
		if f.isNaN(a) || f.isNaN(b) || f.isInf(a) || f.isInf(b) {
			return f.nan()
		}
		return (a ^ b) & f.minus()
	}
	return f.fma(a, b, (a^b)&f.minus(), to)
}

// scale is a * b times 2 to the power of n, rounded once.
func (f format) scale(a, b uint64, n int, to rounding) uint64 {
	if n == 0 {
		return f.mul(a, b, to)
	}
	product := f.mul(a, b, zero)
	if f.isNaN(product) || f.isInf(a) || f.isInf(b) || f.isZero(a) || f.isZero(b) {
		return f.mul(a, b, to)
	}
	ma, ea := f.exact(a)
	mb, eb := f.exact(b)
	return f.round(new(big.Int).Mul(ma, mb), ea+eb+n, to)
}

// less orders numbers, none of them NaN. With ordered, -0 is less than 0.
func (f format) less(a, b uint64, ordered bool) bool {
	if f.isZero(a) && f.isZero(b) {
		return ordered && a > b
	}
	switch na, nb := a&f.minus() != 0, b&f.minus() != 0; {
	case na != nb:
		return na
	case na:
		return a > b
	}
	return a < b
}

// smaller is the minimum or maximum: of a number and NaN the number; -0 is less than 0.
func (f format) smaller(a, b uint64, minimum, nan bool) uint64 {
	switch x, y := f.isNaN(a), f.isNaN(b); {
	case x && y || nan && (x || y):
		return f.nan()
	case x:
		return b
	case y:
		return a
	}
	if f.less(a, b, true) == minimum {
		return a
	}
	return b
}

// convert gives a number in another format.
func (f format) convert(b uint64, from format, to rounding) uint64 {
	sign := uint64(0)
	if b&from.minus() != 0 {
		sign = f.minus()
	}
	switch {
	case from.isNaN(b):
		return f.nan()
	case from.isInf(b):
		return sign | f.inf()
	case from.isZero(b):
		return sign
	}
	m, e := from.exact(b)
	return f.round(m, e, to)
}

// integral rounds to an integer, in the same format; one that is rounded to zero keeps its sign.
func (f format) integral(b uint64, to rounding) uint64 {
	if f.isNaN(b) {
		return f.nan()
	}
	if f.isInf(b) || f.isZero(b) {
		return b
	}
	n := f.integer(b, to)
	if n.Sign() == 0 {
		return b & f.minus()
	}
	return f.round(n, 0, zero)
}

// integer is a finite number rounded to an integer.
func (f format) integer(b uint64, to rounding) *big.Int {
	m, e := f.exact(b)
	if e >= 0 {
		return m.Lsh(m, uint(e))
	}
	negative := m.Sign() < 0
	var q, rest, last big.Int
	last.SetBit(&last, -e, 1)
	q.QuoRem(m.Abs(m), &last, &rest)
	if rest.Sign() != 0 && f.away(&q, &rest, &last, negative, to) {
		q.Add(&q, big.NewInt(1))
	}
	if negative {
		q.Neg(&q)
	}
	return &q
}

// saturate is a number between 0 and 1; NaN gives 0.
func (f format) saturate(b uint64) uint64 {
	one := uint64(f.bias()-int(f.fraction)) << f.fraction
	switch {
	case f.isNaN(b) || b&f.minus() != 0:
		return 0
	case f.less(one, b, false):
		return one
	}
	return b
}

// fromInteger rounds an integer of 64 bits.
func (f format) fromInteger(v uint64, signed bool, to rounding) uint64 {
	if v == 0 {
		return 0
	}
	m := new(big.Int).SetUint64(v)
	if signed {
		m.SetInt64(int64(v))
	}
	return f.round(m, 0, to)
}

// toInteger rounds to an integer of so many bits; what is outside becomes the nearest that there
// is. NaN is 0, or, where no toZero is asked for, the highest bit alone.
func (f format) toInteger(b uint64, signed, toZero bool, width uint, to rounding) uint64 {
	least, most := int64(0), uint64(math.MaxUint64)>>(64-width)
	if signed {
		least, most = -1<<(width-1), 1<<(width-1)-1
	}
	switch {
	case f.isNaN(b) && toZero:
		return 0
	case f.isNaN(b):
		return 1 << (width - 1)
	case f.isInf(b) && b&f.minus() != 0:
		return uint64(least)
	case f.isInf(b):
		return most
	}
	n := f.integer(b, to)
	if n.Cmp(big.NewInt(least)) < 0 {
		return uint64(least)
	}
	if n.Cmp(new(big.Int).SetUint64(most)) > 0 {
		return most
	}
	if n.Sign() < 0 {
		return uint64(n.Int64())
	}
	return n.Uint64()
}

// wide is a product of 64 bits.
func wide(a, b uint32, signed bool) uint64 {
	if signed {
		return uint64(int64(int32(a)) * int64(int32(b)))
	}
	_, lo := bits.Mul64(uint64(a), uint64(b))
	return lo
}
