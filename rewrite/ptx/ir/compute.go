package ir

import (
	"math/bits"
	"strconv"
	"strings"
)

// What an instruction makes of numbers. A number stands for the bits of its type, with the last one
// as the sign; a predicate is 0 or 1.

// Integer is the width of the type that the opcode ends with, 0 where it is no integer's.
func (x *Inst) Integer() (width int, signed bool) { return integerType(x.Type()) }

// integerType is the width of an integer type, 0 for others.
func integerType(kind string) (width int, signed bool) {
	if len(kind) < 2 || !strings.Contains("sub", kind[:1]) {
		return 0, false
	}
	if n, err := strconv.Atoi(kind[1:]); err == nil && n <= 64 {
		return n, kind[0] == 's'
	}
	return 0, false
}

// Cut is a number's lower bits.
func Cut(v int64, width int) int64 { return v << (64 - width) >> (64 - width) }

// extend is the same, without a sign where the type has none.
func extend(v int64, width int, signed bool) int64 {
	if signed {
		return Cut(v, width)
	}
	return int64(uint64(v) << (64 - width) >> (64 - width))
}

// Compute is the result of the instruction on integers or predicates; ok is false for others, and
// where there is none.
func (x *Inst) Compute(in ...int64) (v int64, ok bool) {
	width, signed := x.Integer()
	predicate := x.Type() == "pred"
	if predicate {
		width = 64
	}
	if width == 0 || x.Has("sat", "relu") {
		return 0, false
	}
	in = append(in, 0, 0, 0)[:max(3, len(in))]
	a, b := extend(in[0], width, signed), extend(in[1], width, signed)
	less := uint64(a) < uint64(b)
	if signed {
		less = a < b
	}
	switch v = a; x.Op {
	case "mov":
	case "selp":
		v = in[1-in[2]&1]
	case "cvt":
		width, signed = 0, false
		if len(x.Words) > 1 {
			width, signed = integerType(x.Words[len(x.Words)-2])
		}
		if width == 0 {
			return 0, false
		}
		return extend(a, width, signed), true // a byte's register is wider
	case "add":
		v = a + b
	case "sub":
		v = a - b
	case "mul", "mad":
		if v = a*b + in[2]; !x.Has("lo") {
			return 0, false
		}
	case "div", "rem":
		if v = quotient(x.Op == "div", signed, a, b); b == 0 {
			return 0, false
		}
	case "neg":
		v = -a
	case "not":
		v = ^a
	case "and":
		v = a & b
	case "or":
		v = a | b
	case "xor":
		v = a ^ b
	case "shl":
		v = a << uint32(in[1])
	case "shr":
		v = a >> min(uint32(in[1]), 63)
		if !signed {
			v = int64(uint64(a) >> min(uint32(in[1]), 64))
		}
	case "min", "max":
		if v = b; less == (x.Op == "min") {
			v = a
		}
	case "abs":
		v = max(Cut(a, width), -Cut(a, width))
	case "clz":
		v = int64(min(bits.LeadingZeros64(uint64(a)<<(64-width)), width))
	case "popc":
		v = int64(bits.OnesCount64(uint64(a) << (64 - width)))
	case "setp":
		v, predicate = holds(x.Words[0], a, b, less), true
		if v < 0 || len(x.Words) != 2 {
			return 0, false
		}
	default:
		return 0, false
	}
	if predicate {
		return v & 1, true
	}
	return Cut(v, width), true
}

// quotient is one, or the remainder; 0 where there is none.
func quotient(div, signed bool, a, b int64) int64 {
	switch {
	case b == 0:
		return 0
	case div && signed:
		return a / b
	case div:
		return int64(uint64(a) / uint64(b))
	case signed:
		return a % b
	}
	return int64(uint64(a) % uint64(b))
}

// holds is 1 where a comparison does, and -1 where it is none of integers.
func holds(how string, a, b int64, less bool) int64 {
	is := false
	switch how {
	case "eq":
		is = a == b
	case "ne":
		is = a != b
	case "lt", "lo":
		is = less
	case "le", "ls":
		is = less || a == b
	case "gt", "hi":
		is = !less && a != b
	case "ge", "hs":
		is = !less
	default:
		return -1
	}
	if is {
		return 1
	}
	return 0
}
