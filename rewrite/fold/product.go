package fold

import (
	"strings"

	"gnvcc/rewrite/ptx"
)

// What ptxas may contract: a product and the sum that it goes into become one instruction, which
// rounds once, where neither names its rounding.

// contractible tells of instructions that cicc lets ptxas contract: those that don't name their
// rounding.
func contractible(op []byte) bool { return !ptx.NamesRounding(op) && Float(op) }

// FreeSum tells of an addition that ptxas may contract with a product.
func FreeSum(f *ptx.Func, i int) bool {
	base := string(f.Base(i))
	return (base == "add" || base == "sub") && contractible(f.Opcode(i))
}

// FreeProduct tells of what ptxas may contract with a sum: a product; x + x, which may be x * 2; an
// approximate division or root, which ends in a multiplication.
func FreeProduct(f *ptx.Func, i int) bool {
	op := f.Opcode(i)
	if !contractible(op) {
		return false
	}
	switch string(f.Base(i)) {
	case "mul":
		return true
	case "add":
		o := f.Operands(i, nil)
		return len(o) == 3 && string(f.Bytes(o[1])) == string(f.Bytes(o[2]))
	case "div", "sqrt":
		return approximates(op)
	}
	return false
}

// powers are the numbers that ptxas scales a product with: FMUL.D8 to FMUL.M8.
var powers = names("0f3e000000 0f3e800000 0f3f000000 0f40000000 0f40800000 0f41000000")

// PowerOfTwo tells of a number, as PTX writes it, with which ptxas multiplies a product of single
// precision in one instruction, so that the two are rounded once.
func PowerOfTwo(text string) bool { return powers[strings.ToLower(text)] }

// FreeFactor tells of a product that ptxas may scale with a power of two.
func FreeFactor(f *ptx.Func, i int) bool {
	op := f.Opcode(i)
	return string(f.Base(i)) == "mul" && contractible(op) && ptx.HasModifier(op, "f32")
}

// approximates tells of a modifier that says so.
func approximates(op []byte) bool {
	return ptx.HasModifier(op, "approx") || ptx.HasModifier(op, "full")
}
