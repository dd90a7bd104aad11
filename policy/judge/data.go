package judge

import (
	"math"
	"math/rand"
	"strings"
)

// Kinds of numbers that buffers hold: those that rounding, signs and comparisons tell apart.
const Kinds = 10

// number is one of a kind.
func number(r *rand.Rand, kind int, before float64, tiny, wide float64) float64 {
	v := 2*r.Float64() - 1
	switch kind % Kinds {
	case 1:
		return v * 1000
	case 2:
		switch r.Intn(4) {
		case 0:
			return 0
		case 1:
			return math.Copysign(0, -1)
		}
		return v * 1e-3
	case 3:
		return math.Trunc(v*8) / 2
	case 4:
		return v * math.Pow(10, wide*(2*r.Float64()-1))
	case 5:
		if r.Intn(3) == 0 {
			return tiny * v
		}
	case 6:
		switch r.Intn(12) {
		case 0:
			return math.NaN()
		case 1:
			return math.Inf(1)
		case 2:
			return math.Inf(-1)
		case 3:
			return math.Copysign(0, -1)
		}
	case 7:
		switch r.Intn(3) {
		case 0:
			return -before
		case 1:
			return -before * (1 + 1e-7)
		}
		return v * math.Pow(10, 3*r.Float64())
	case 8, 9: // few of them, from 0 to 1: what a comparison does with equal ones shows
		steps := 8 + 56*(kind%Kinds-8)
		return float64(r.Intn(steps+1)) / float64(steps)
	}
	return v
}

// integer is one of a kind: an index, or in some kinds one at an edge.
func integer(r *rand.Rand, kind int) uint64 {
	switch kind %= Kinds; {
	case kind >= 8:
		return uint64(r.Intn(4))
	case kind >= 4 && r.Intn(8) == 0:
		edges := []int64{-1, math.MinInt32, math.MaxInt32, math.MinInt64, 1 << 32, -2}
		return uint64(edges[r.Intn(len(edges))])
	}
	return uint64(r.Intn(256))
}

// fill makes size bytes of numbers of a kind, of the type that a pointer leads to.
func fill(r *rand.Rand, kind int, pointer string, size int) []byte {
	b := make([]byte, size)
	each, is := elementOr(pointer)
	before := 0.0
	for n := 0; n+each <= size; n += each {
		at := b[n : n+each]
		switch is {
		case "double":
			before = number(r, kind, before, 1e-310, 300)
			put(at, 64, math.Float64bits(before))
		case "float":
			f := float32(number(r, kind, before, 1e-40, 36))
			before = float64(f)
			put(at, 32, uint64(math.Float32bits(f)))
		case "half":
			put(at, 16, uint64(r.Intn(1<<14)|r.Intn(2)<<15))
		default:
			put(at, 8*each, integer(r, kind))
			if strings.Contains(pointer, "bool") {
				at[0] &= 1
			}
		}
	}
	return b
}
