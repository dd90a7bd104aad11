package fold

import (
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// What is left of an integer that no compiler knows. Of x*196608*196608 nothing is: the factors'
// twos are 2^32 together. Of an integer that was made wider the upper half is 0. Where one way of
// several is left, compilers see that, and the kernel's did not.

// keeps tells of a product, or of a move, that something is left of its operands.
func (s *state) keeps(i int, op []byte, ops []string) bool {
	for n := 0; n < len(ops) && s.halves(i); n++ {
		if ptx.HasModifier(op, "hi") || !s.full(i, ops[n], WidthOf(op), map[int]bool{}) {
			return false
		}
	}
	return true
}

// halves tells of a statement that multiplies by an even number, or leaves a product's upper half
// alone, or takes a register apart: it may leave nothing of what has lost bits before.
func (s *state) halves(i int) bool {
	f := s.f
	op, ops := f.Opcode(i), f.Operands(i, nil)
	switch string(f.Base(i)) {
	case "mov":
		return len(ops) == 2 && f.Bytes(ops[0])[0] == '{'
	case "mul":
		for n := 1; n < len(ops) && ptx.HasModifier(op, "lo"); n++ {
			if v, ok := dataflow.Literal(string(f.Bytes(ops[n]))); ok && v&1 != 0 {
				return false
			}
		}
		return !Float(op)
	}
	return false
}

// full tells of an operand of statement i that all its bits may be any: what it is made of, as far
// as memory, has lost none and was not made wider.
func (s *state) full(i int, operand string, bits int, seen map[int]bool) bool {
	f := s.f
	for _, d := range s.reach.Of(i, strings.TrimSpace(operand)) {
		if seen[d] {
			continue
		}
		seen[d] = true
		op, ops := f.Opcode(d), f.Operands(d, nil)
		switch base := string(f.Base(d)); {
		case base == "ld":
			if width := WidthOf(op); width < bits || ptx.Space(op) == "param" && !f.Entry {
				return false
			}
			continue
		case Float(op), base == "shfl", base == "atom":
			continue
		case s.halves(d), base == "call", base == "mul" && !ptx.HasModifier(op, "lo"):
			return false
		case base == "mov", base == "add", base == "sub", base == "neg", base == "mul", base == "mad":
			if WidthOf(op) < bits && base != "mov" || base == "mad" && !ptx.HasModifier(op, "lo") {
				return false
			}
		default:
			return false
		}
		for _, o := range ops[1:] {
			for _, part := range strings.Split(strings.Trim(string(f.Bytes(o)), "{}"), ",") {
				if !s.full(d, part, min(bits, WidthOf(op)), seen) {
					return false
				}
			}
		}
	}
	return true
}

// WidthOf is that of an instruction's type.
func WidthOf(op []byte) int {
	n := 0
	for _, c := range lastWord(op) {
		if c >= '0' && c <= '9' {
			n = 10*n + int(c-'0')
		}
	}
	return n
}
