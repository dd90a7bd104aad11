package sass

// The registers that an instruction reads: nobody but the tests wants them. What nvdisasm names is
// compared with them, and the control field has to wait for them.

// sources are those of one instruction.
type sources struct {
	*Inst
	list []Span
}

// reads are the registers read.
func reads(i *Inst) []Span {
	s := sources{Inst: i}
	if i.op != nil && !s.special() {
		s.operands()
	}
	return s.list
}

func (i *sources) read(f File, first uint64, n int) {
	if n > 0 && !i.zero(f, first) {
		i.list = append(i.list, Span{f, uint8(first), uint8(n)})
	}
}

// operands reads the sources and predicates of an op in the short form.
func (i *sources) operands() {
	form := i.Form()
	for _, s := range i.op.regs[1:] {
		switch s {
		case 'a':
			i.read(General, i.bits(24, 8), i.size())
		case 'A':
			i.read(General, i.bits(24, 8), 2)
		case 'b', 'B':
			n := i.size()
			if s == 'B' || i.op.code == 0x025 && form != 1 && form < 4 || i.op.code == 0x025 && form == 7 {
				n = 2
			}
			switch {
			case form == 1, form == 3 && i.op.code == 0x007 && i.CC >= 100: // SEL.64 has its pair here
				i.read(General, i.bits(32, 8), n)
			case form >= 6:
				i.read(Scalar, i.uniform(32), n)
			}
		case 'c', 'C':
			n := i.size()
			if s == 'C' && (i.op.class == FP64 || form == 1 || form >= 4 && form <= 6) {
				n = 2
			}
			i.read(General, i.bits(64, 8), n)
		case 'i', 'I':
			i.read(Scalar, i.uniform(24), pairIf(s == 'I'))
		case 'j', 'J':
			if form == 1 || form == 6 {
				i.read(Scalar, i.uniform(32), pairIf(s == 'J'))
			}
		case 'k', 'K':
			i.read(Scalar, i.uniform(64), pairIf(s == 'K'))
		}
	}
}

// size is the width in registers of an ordinary source operand.
func (i *sources) size() int {
	switch i.op.code {
	case 0x035, 0x007, 0x002, 0x082: // IADD.64, SEL.64, MOV.64: as wide as the result
		if i.nw > 0 {
			return int(i.writes[0].N)
		}
	}
	return 1
}

// special reads the operands of the operations that the short form does not fit.
func (i *sources) special() bool {
	switch i.op.code {
	case 0x029: // DADD: the second operand stands in slot c where it is a register
		i.read(General, i.bits(24, 8), 2)
		switch i.Form() {
		case 1:
			i.read(General, i.bits(64, 8), 2)
		case 7:
			i.read(Scalar, i.uniform(32), 2)
		}
	case 0x054: // UFADD, too
		i.read(Scalar, i.uniform(24), 1)
		if i.Form() == 1 {
			i.read(Scalar, i.uniform(64), 1)
		}
	case 0x104, 0x105, 0x106, 0x107, 0x110, 0x111, 0x112, 0x113:
		// conversions: the source's width in bits 84 and 85
		n := pairIf(i.bits(84, 2) == 3)
		switch i.Form() {
		case 1:
			i.read(General, i.bits(32, 8), n)
		case 6:
			i.read(Scalar, i.uniform(32), n)
		}
	case 0x182: // LDC: an index register, one or, on sm_100, uniform as well
		i.read(General, i.bits(24, 8), 1)
	case 0x0b9:
	case 0x1b2: // SYNCS.EXCH
		i.read(Scalar, i.uniform(24), 1)
		i.read(Scalar, i.uniform(32), 2)
	case 0x1a7: // SYNCS
		if i.Form() != 2 { // .PHASECHK
			i.read(General, i.bits(24, 8), 1)
		}
		i.read(General, i.bits(32, 8), 2)
		if i.bit(91) {
			i.read(Scalar, i.uniform(64), 1)
		}
	case 0x1ac: // LDCU
		i.read(Scalar, i.uniform(24), 1)
	case 0x037, 0x03c, 0x03d, 0x03f:
		a, b, c := i.tensor()
		i.read(General, i.bits(24, 8), a)
		i.read(General, i.bits(32, 8), b)
		i.read(General, i.bits(64, 8), c)
	case 0x189: // SHFL: lane and mask are registers or immediates each
		i.read(General, i.bits(24, 8), 1)
		if f := i.Form(); f == 1 || f == 2 {
			i.read(General, i.bits(32, 8), 1)
		}
		if f := i.Form(); f == 1 || f == 4 {
			i.read(General, i.bits(64, 8), 1)
		}
	default:
		if !i.control() && !i.memory() {
			return false
		}
	}
	return true
}

// control reads the operands of the operations that let threads wait for each other, or go
// elsewhere.
func (i *sources) control() bool {
	switch i.op.code {
	case 0x148: // WARPSYNC
		switch {
		case i.Form() == 1 && (i.CC >= 90 || i.bits(85, 2) != 0): // .EXCLUSIVE, .COLLECTIVE
			i.read(General, i.bits(24, 8), 1)
		case i.Form() == 1:
			i.read(General, i.bits(32, 8), 1)
		}
	case 0x11d: // BAR: a register holds its number, or that and how many threads
		if f := i.Form(); f == 1 || f == 2 {
			i.read(General, i.bits(32, 8), 1)
		}
	case 0x15d: // NANOSLEEP
		if i.Form() == 1 {
			i.read(General, i.bits(32, 8), 1)
		}
	case 0x147: // BRA: BRA.U and BRA.DIV have a uniform operand
		if i.bit(91) && i.Form() == 4 {
			i.read(Scalar, i.uniform(24), 1)
		}
	case 0x144, 0x14a: // CALL.REL
		if i.Form() == 1 {
			i.read(General, i.bits(24, 8), 2)
		}
	default:
		return false
	}
	return true
}

// memory reads the operands of an access that needs its address read.
func (i *sources) memory() bool {
	switch i.op.class {
	case Load, Store, Atomic:
		i.address()
	case Texture:
		i.texture()
	default:
		return false
	}
	return true
}

// address reads the operands of a memory access: the address in slot a (with a uniform register
// added where bit 91 says so), data at bit 32, a second datum of compare and swap at bit 64.
func (i *sources) address() {
	code, far := i.op.code, i.op.space == Global || i.op.space == Generic
	n := 1
	if far {
		n = pairIf(i.bit(72)) // .E: addresses of 64 bits
		if i.bit(91) && i.op.class != Atomic {
			n = pairIf(i.bit(90)) // beside a uniform base the register may be an offset of 32 bits
		}
	}
	i.read(General, i.bits(24, 8), n)
	stored := i.op.class == Store || i.op.class == Atomic
	if i.bit(91) {
		at := uint(32)
		if stored {
			at = 64
		}
		i.read(Scalar, i.uniform(at), pairIf(far)) // a base or a descriptor
	}
	if !stored {
		if code == 0x1ae { // LDGSTS: from global memory (slot b) to shared memory (slot a)
			i.read(General, i.bits(32, 8), 2)
		}
		return
	}
	if i.Form() == 7 && code == 0x18c { // ATOMS.POPC.INC has no datum
		return
	}
	data := uint(32)
	if code == 0x185 && i.Form() == 1 { // ST without a uniform register
		data = 64
	}
	i.read(General, i.bits(data, 8), words(i.Bytes))
	switch code {
	case 0x18d, 0x18b, 0x1a9: // CAS
		i.read(General, i.bits(64, 8), words(i.Bytes))
	}
}

// texture reads coordinates, and the handle's uniform register. How many registers hold the
// coordinates was not found in the word: the least is taken.
func (i *sources) texture() {
	i.read(General, i.bits(24, 8), 1)
	i.read(General, i.bits(32, 8), 1)
	if i.Form() == 7 {
		i.read(Scalar, i.uniform(40), 1)
	}
}

// tensor gives the registers of the three operands of a matrix instruction.
func (i *sources) tensor() (a, b, c int) {
	switch i.op.code {
	case 0x03c: // HMMA: m16n8k8, or k16 with bit 75; 32-bit sums with bit 76
		a, b, c = 2, 1, 2
		if i.bit(75) {
			a, b = 4, 2
		}
		if i.bit(76) {
			c = 4
		}
		return a, b, c
	case 0x03f: // DMMA.8x8x4
		return 2, 2, 4
	}
	return 2, 1, 4
}
