package judge

import (
	"encoding/binary"
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
	word := func(name string) bool { return strings.Contains(pointer, name) }
	before := 0.0
	switch {
	case word("double"):
		for n := 0; n+8 <= size; n += 8 {
			before = number(r, kind, before, 1e-310, 300)
			binary.LittleEndian.PutUint64(b[n:], math.Float64bits(before))
		}
	case word("long") || word("int64") || word("size_t"):
		for n := 0; n+8 <= size; n += 8 {
			binary.LittleEndian.PutUint64(b[n:], integer(r, kind))
		}
	case word("float") || strings.Contains(pointer, "T*"):
		for n := 0; n+4 <= size; n += 4 {
			f := float32(number(r, kind, before, 1e-40, 36))
			before = float64(f)
			binary.LittleEndian.PutUint32(b[n:], math.Float32bits(f))
		}
	case word("half") || word("bfloat"):
		for n := 0; n+2 <= size; n += 2 {
			binary.LittleEndian.PutUint16(b[n:], uint16(r.Intn(1<<14)|r.Intn(2)<<15))
		}
	case word("char") || word("bool") || word("int8"):
		for n := range b {
			b[n] = byte(integer(r, kind))
			if word("bool") {
				b[n] &= 1
			}
		}
	case word("short") || word("int16"):
		for n := 0; n+2 <= size; n += 2 {
			binary.LittleEndian.PutUint16(b[n:], uint16(integer(r, kind)))
		}
	default:
		for n := 0; n+4 <= size; n += 4 {
			binary.LittleEndian.PutUint32(b[n:], uint32(integer(r, kind)))
		}
	}
	return b
}
