package sass

import "math/bits"

// A File is a register file.
type File uint8

// The register files.
const (
	General File = iota // R0 to R254, one per thread
	Scalar              // UR0 to UR254, one per warp
)

// A Span is some neighbouring registers of one file.
type Span struct {
	File  File
	First uint8
	N     uint8
}

// An Inst is one instruction.
type Inst struct {
	Word
	op     *op // nil: unknown
	Offset int // bytes from the section's start
	Control
	Guard   uint8 // predicate, 7: always
	Negated bool  // runs where the guard is false
	Bytes   uint8 // of memory that one thread moves, 0: none
	CC      uint16
	// Target is where a branch goes, as an offset in the section; -1 where that is not in the word.
	Target int
	nw     uint8
	writes [2]Span
}

// Never and Always are guards: PT, and PT negated.
const always = 7

// Name is the operation's, without modifiers, "" for an unknown one.
func (i *Inst) Name() string {
	if i.op == nil {
		return ""
	}
	return i.op.name
}

// Class is what the operation belongs to.
func (i *Inst) Class() Class {
	if i.op == nil {
		return Unknown
	}
	return i.op.class
}

// Space is the memory that it goes to.
func (i *Inst) Space() Space {
	if i.op == nil {
		return NoSpace
	}
	return i.op.space
}

// Writes are the registers written.
func (i *Inst) Writes() []Span { return i.writes[:i.nw] }

// unguarded tells that the instruction runs in every thread that gets there.
func (i *Inst) unguarded() bool { return i.Guard == always && !i.Negated }

// Form is how the third and second operand are given: 1 registers, 2 and 4 an immediate, 3 and 5 a
// constant bank, 6 and 7 a uniform register.
func (i *Inst) Form() int { return int(i.bits(9, 3)) }

func (i *Inst) write(f File, first uint64, n int) {
	if n > 0 && !i.zero(f, first) && int(i.nw) < len(i.writes) {
		i.writes[i.nw] = Span{f, uint8(first), uint8(n)}
		i.nw++
	}
}

// zero reports whether a number names RZ or URZ, which hold nothing. URZ was 63 before sm_100.
func (i *Inst) zero(f File, n uint64) bool {
	return n == 255 || f == Scalar && i.CC < 100 && n >= 63
}

func (i *Inst) uniform(at uint) uint64 {
	if i.CC < 100 {
		return i.bits(at, 6)
	}
	return i.bits(at, 8)
}

// decode reads one word.
func decode(w Word, offset, cc int) Inst {
	i := Inst{Word: w, Offset: offset, Control: w.Control(), CC: uint16(cc), Target: -1}
	i.Guard, i.Negated = uint8(w.bits(12, 3)), w.bit(15)
	i.op = lookup(uint16(w.bits(0, 9)), cc)
	if i.op == nil {
		return i
	}
	if i.op.space != NoSpace {
		i.Bytes = width(w, i.op)
	}
	i.destination()
	if i.op.class == Branch || i.op.code == 0x145 {
		i.branch()
	}
	return i
}

// destination is bits 16 to 23. Of textures two registers more are named at bit 64: as many in all
// as the mask of bits 72 to 75 has ones.
func (i *Inst) destination() {
	n := 1
	switch i.op.regs[0] {
	case '-':
		return
	case 'R', 'U':
		n = 2
	case 'm':
		n = words(i.Bytes)
	}
	f := General
	switch i.op.code {
	case 0x002: // MOV.64: with an immediate always, else by bit 80
		if i.CC >= 100 && (i.Form() == 2 || i.bit(80)) {
			n = 2
		}
	case 0x007, 0x048: // SEL.64
		n = pairIf(i.Form() == 2 || i.Form() == 3 || i.Form() == 7)
	case 0x035: // IADD.64
		n = pairIf(i.op.since > 0 && i.bit(73))
	case 0x005: // CS2R reads 64 bits unless told otherwise
		n = pairIf(i.bit(80))
	case 0x104, 0x105, 0x106, 0x107, 0x110, 0x111, 0x112, 0x113:
		n = pairIf(i.bits(75, 2) == 3)
	case 0x082: // UMOV.64 of an immediate
		n = pairIf(i.Form() == 2 || i.CC >= 100 && i.Form() == 6 && i.bit(80))
	case 0x03c, 0x037, 0x03f, 0x03d:
		if n = 4; i.op.code == 0x03c && !i.bit(76) { // HMMA with sums of 16 bits
			n = 2
		}
	}
	switch {
	case i.op.code == 0x1a7 && i.Form() == 2: // SYNCS.PHASECHK gives a predicate
		return
	case i.op.class == Texture && i.op.regs[0] == 'm':
		n := bits.OnesCount64(i.bits(72, 4))
		i.write(General, i.bits(16, 8), min(n, 2))
		i.write(General, i.bits(64, 8), n-2)
		return
	}
	if i.op.class == Uniform || i.op.regs[0] == 'u' || i.op.regs[0] == 'U' || i.op.code == 0x0b9 ||
		i.op.code == 0x1ac {
		f = Scalar
		i.write(f, i.uniform(16), n)
		return
	}
	i.write(f, i.bits(16, 8), n)
}

func pairIf(is bool) int {
	if is {
		return 2
	}
	return 1
}

// width is what one thread moves, in bytes.
func width(w Word, o *op) uint8 {
	switch o.class {
	case Atomic:
		if o.code == 0x1a6 || o.code == 0x1a2 || o.code == 0x1a3 { // RED on floats of sm_90
			return [...]uint8{4, 4, 4, 8, 8, 8, 16, 16}[w.bits(73, 3)]
		}
		return [...]uint8{4, 4, 8, 4, 4, 8, 8, 4}[w.bits(73, 3)]
	case Texture:
		return 4
	case Load, Store, Constant:
		return [...]uint8{1, 1, 2, 2, 4, 8, 16, 16}[w.bits(73, 3)]
	}
	return 0
}

// words is the number of registers for so many bytes.
func words(bytes uint8) int { return (int(bytes) + 3) / 4 }

// branch finds the target. Up to sm_89 the distance from the next instruction stands in bytes from
// bit 32 on; later its low part, in words, stands in bits 16 to 23.
func (i *Inst) branch() {
	switch i.op.code {
	case 0x147, 0x144, 0x145: // BRA, CALL.REL, BSSY
	default:
		return
	}
	if i.op.code == 0x144 && i.Form() == 1 { // through a register
		return
	}
	by := i.signed(34, 48) * 4
	switch {
	case i.op.code == 0x145:
		by = i.signed(32, 32)
	case i.CC >= 90:
		by = (i.signed(34, 48)<<8 | int64(i.bits(16, 8))) * 4
	}
	to := int64(i.Offset) + wordBytes + by
	if to >= 0 && to < 1<<40 && to%wordBytes == 0 {
		i.Target = int(to)
	}
}
