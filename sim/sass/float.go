package sass

import (
	"fmt"
	"strings"
)

// A Float is a floating-point instruction without its registers: what is computed, how it is
// rounded.
type Float struct {
	Name string
	// Modifiers are the bits that say how: rounding, saturation, flushing of subnormals, comparison,
	// function, formats. Operands' signs are not among them, for they move between an operand and an
	// immediate.
	Modifiers uint32
}

// String names the modifiers that are the same in all single- and double-precision arithmetic, and
// gives the rest as a number.
func (f Float) String() string {
	name, rest := f.Name, f.Modifiers
	take := func(mask uint32, text ...string) {
		if v := rest & mask; v != 0 {
			for at, m := 0, mask; m&1 == 0; at, m = at+1, m>>1 {
				v >>= 1
			}
			if int(v) < len(text) && text[v] != "" {
				name += "." + text[v]
				rest &^= mask
			}
		}
	}
	switch f.Name {
	case "FADD", "FMUL", "FFMA", "DADD", "DMUL", "DFMA":
		take(bitAt(80), "", "FTZ")
		take(bitAt(78)|bitAt(79), "", "RM", "RP", "RZ")
		take(bitAt(77), "", "SAT")
	case "MUFU":
		take(bitAt(74)|bitAt(75)|bitAt(76)|bitAt(77), "COS", "SIN", "EX2", "LG2", "RCP", "RSQ", "RCP64H",
			"RSQ64H", "SQRT")
		if f.Modifiers&(15<<2) == 0 {
			name += ".COS"
		}
	}
	if rest != 0 {
		name += fmt.Sprintf("/%x", rest)
	}
	return name
}

// bitAt is the place of a word's bit in Float.Modifiers, which begin with bit 72.
func bitAt(bit uint) uint32 { return 1 << (bit - 72) }

// span is the same for some bits, both ends included.
func span(from, to uint) uint32 { return bitAt(to+1) - bitAt(from) }

// modifiers says which bits of an operation say how it computes. ok is false for what computes no
// floating-point value: selections and moves among them.
func (i *Inst) modifiers() (mask uint32, ok bool) {
	if i.op == nil {
		return 0, false
	}
	switch i.op.code {
	case 0x021, 0x023, 0x022: // FADD, FFMA, FSWZADD
		return span(77, 80), true
	case 0x020: // FMUL, with a factor of a power of two in bits 84 to 86
		return span(77, 80) | span(84, 86), true
	case 0x009: // FMNMX: the predicate chooses between minimum and maximum
		return span(80, 81) | span(87, 90), true
	case 0x00a, 0x00b: // FSET, FSETP
		return span(74, 80), true
	case 0x02a: // DSETP
		return span(74, 79), true
	case 0x028, 0x029, 0x02b: // DMUL, DADD, DFMA
		return span(78, 79), true
	case 0x108: // MUFU
		return span(74, 80), true
	case 0x102: // FCHK
		return 0, true
	case 0x104, 0x105, 0x106, 0x107, 0x110, 0x111, 0x112, 0x113, 0x045: // conversions
		return bitAt(72) | span(74, 80) | span(84, 85), true
	case 0x03e: // F2FP
		return span(72, 80) | span(84, 86), true
	case 0x030, 0x032, 0x031, 0x035, 0x033, 0x034, 0x040: // HADD2, HMUL2, HFMA2, HSET2, HSETP2, HMNMX2
		if i.op.since > 0 { // 0x035 is IADD from sm_100 on
			return 0, false
		}
		if (i.op.code == 0x031 || i.op.code == 0x035) && i.constant() {
			return 0, false
		}
		return span(76, 80) | bitAt(82) | bitAt(85), true
	case 0x03c, 0x03f: // HMMA, DMMA
		return span(72, 86), true
	case 0x053, 0x054, 0x055, 0x056, 0x05a, 0x05d, 0x05e: // the scalar unit's
		return span(76, 80) | span(84, 86), true
	case 0x18e, 0x1a8, 0x18a, 0x18c, 0x1a6: // atomics on floats
		if i.op.code != 0x1a6 && i.Bits(73, 3) != 3 && i.Bits(73, 3) != 6 && i.Bits(73, 3) != 4 {
			return 0, false
		}
		return span(73, 75) | span(87, 89), true
	}
	return 0, false
}

// constant reports whether an HFMA2 multiplies zeroes: that is how ptxas loads constants by the
// floating-point pipe.
func (i *Inst) constant() bool {
	return i.Bits(24, 8) == 255 && (i.Form() == 1 && i.Bits(32, 8) == 255 || i.Form() == 2 &&
		i.Bits(64, 8) == 255)
}

// Float gives the floating-point part of an instruction; ok is false where it has none.
func (i *Inst) Float() (f Float, ok bool) {
	mask, ok := i.modifiers()
	if !ok {
		return Float{}, false
	}
	return Float{strings.TrimSuffix(i.op.name, ".MMA"), uint32(i.Bits(72, 20)) & mask}, true
}

// Floats lists a function's floating-point instructions, in the order of the code.
func (f *Function) Floats() []Float {
	var out []Float
	for n := range f.Insts {
		if x, ok := f.Insts[n].Float(); ok {
			out = append(out, x)
		}
	}
	return out
}
