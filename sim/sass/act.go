package sass

// An Act is what an instruction does in single or double precision, as far as rounding goes.
type Act uint8

const (
	NoAct      Act = iota // nothing that rounds a sum or a product
	Adds                  // one sum, rounded
	Multiplies            // one product, rounded
	Contracts             // a product and a sum, rounded once
	Scales                // a product, times a power of two, rounded once
	LooksUp               // an approximate function
	UnknownAct            // it is not known
)

// Act tells it of an instruction. A product with 1 or -1 that is added to something is a sum.
// Arithmetic on halves looks like the conversions and constants that it serves for.
func (i *Inst) Act() Act {
	if i.op == nil {
		return UnknownAct
	}
	switch i.op.name {
	case "FADD", "DADD", "UFADD":
		return Adds
	case "FMUL":
		if i.bits(84, 3) != unscaled {
			return Scales
		}
		return Multiplies
	case "DMUL", "UFMUL":
		return Multiplies
	case "MUFU":
		return LooksUp
	case "FFMA", "UFFMA":
		return i.contracts(0x3f800000)
	case "DFMA":
		return i.contracts(0x3ff00000) // the upper half of an immediate
	case "FSWZADD":
		return UnknownAct
	}
	return NoAct
}

// unscaled is what bits 84 to 86 of FMUL hold where the product is taken as it is; else FMUL.D8 to
// D2 and M2 to M8, which round once: of a product that overflows, or is subnormal, they have other
// bits than two multiplications.
const unscaled = 4

// contracts looks at the factor of a multiply-add that may be an immediate. one is 1.
func (i *Inst) contracts(one uint64) Act {
	if i.Form() == 4 && i.bits(32, 31) == one {
		return Adds
	}
	return Contracts
}
