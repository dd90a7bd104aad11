package sass

import "encoding/binary"

// wordBytes is the size of an instruction since sm_70.
const wordBytes = 16

// A Word is one instruction as it stands in the code section.
type Word struct{ Lo, Hi uint64 }

// word reads the first 16 bytes.
func word(b []byte) Word {
	return Word{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
}

// bits are n (at most 57) bits from bit i on.
func (w Word) bits(i, n uint) uint64 {
	mask := uint64(1)<<n - 1
	switch {
	case i >= 64:
		return w.Hi >> (i - 64) & mask
	case i+n <= 64:
		return w.Lo >> i & mask
	}
	return (w.Lo>>i | w.Hi<<(64-i)) & mask
}

// Bits are n (at most 57) bits from bit i on.
func (w Word) Bits(i, n uint) uint64 { return w.bits(i, n) }

func (w Word) bit(i uint) bool { return w.bits(i, 1) == 1 }

// signed is the same with the last bit as a sign.
func (w Word) signed(i, n uint) int64 { return int64(w.bits(i, n)<<(64-n)) >> (64 - n) }

// A Control is what the compiler tells the scheduler with each instruction.
type Control struct {
	Stall int  // cycles before this warp's next instruction, 0 to 15
	Yield bool // another warp may go first (the bit is stored inverted)
	Write int  // scoreboard that is released when results are there, 0 to 5, or 7: none
	Read  int  // scoreboard that is released when operands have been read, 0 to 5, or 7: none
	Wait  int  // one bit a scoreboard: waited for before this instruction
	Reuse int  // one bit an operand slot: kept in the operand cache
}

// Control decodes bits 105 to 125.
func (w Word) Control() Control {
	return Control{
		Stall: int(w.bits(105, 4)), Yield: !w.bit(109), Write: int(w.bits(110, 3)),
		Read: int(w.bits(113, 3)),
		Wait: int(w.bits(116, 6)), Reuse: int(w.bits(122, 4)),
	}
}
