package sass

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
}

// always is the guard PT.
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

// unguarded says that the instruction runs in every thread that gets there.
func (i *Inst) unguarded() bool { return i.Guard == always && !i.Negated }

// Form is how the third and second operand are given: 1 registers, 2 and 4 an immediate, 3 and 5 a
// constant bank, 6 and 7 a uniform register.
func (i *Inst) Form() int { return int(i.Bits(9, 3)) }

// decode reads one word.
func decode(w Word, offset, cc int) Inst {
	i := Inst{Word: w, Offset: offset, Control: w.Control(), CC: uint16(cc), Target: -1}
	i.Guard, i.Negated = uint8(w.Bits(12, 3)), w.bit(15)
	i.op = lookup(uint16(w.Bits(0, 9)), cc)
	if i.op == nil {
		return i
	}
	if i.op.space != NoSpace {
		i.Bytes = width(w, i.op)
	}
	if i.op.class == Branch || i.op.code == 0x145 {
		i.branch()
	}
	return i
}

// width is what one thread moves, in bytes.
func width(w Word, o *op) uint8 {
	switch o.class {
	case Atomic:
		if o.code == 0x1a6 || o.code == 0x1a2 || o.code == 0x1a3 { // RED on floats of sm_90
			return [...]uint8{4, 4, 4, 8, 8, 8, 16, 16}[w.Bits(73, 3)]
		}
		return [...]uint8{4, 4, 8, 4, 4, 8, 8, 4}[w.Bits(73, 3)]
	case Texture:
		return 4
	case Load, Store, Constant:
		return [...]uint8{1, 1, 2, 2, 4, 8, 16, 16}[w.Bits(73, 3)]
	}
	return 0
}

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
		by = (i.signed(34, 48)<<8 | int64(i.Bits(16, 8))) * 4
	}
	to := int64(i.Offset) + wordBytes + by
	if to >= 0 && to < 1<<40 && to%wordBytes == 0 {
		i.Target = int(to)
	}
}
