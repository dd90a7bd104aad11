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

// Bits are n (at most 57) bits from bit i on.
func (w Word) Bits(i, n uint) uint64 {
	mask := uint64(1)<<n - 1
	switch {
	case i >= 64:
		return w.Hi >> (i - 64) & mask
	case i+n <= 64:
		return w.Lo >> i & mask
	}
	return (w.Lo>>i | w.Hi<<(64-i)) & mask
}

func (w Word) bit(i uint) bool { return w.Bits(i, 1) == 1 }

// signed is the same with the last bit as a sign.
func (w Word) signed(i, n uint) int64 { return int64(w.Bits(i, n)<<(64-n)) >> (64 - n) }

// A Control is what the compiler gives the scheduler with each instruction.
type Control struct {
	Stall int // cycles before this warp's next instruction, 0 to 15
	Write int // scoreboard that is released when results are there, 0 to 5, or 7: none
	Read  int // scoreboard that is released when operands have been read, 0 to 5, or 7: none
	Wait  int // one bit a scoreboard: waited for before this instruction
}

// Control decodes bits 105 to 121.
func (w Word) Control() Control {
	return Control{
		Stall: int(w.Bits(105, 4)), Write: int(w.Bits(110, 3)), Read: int(w.Bits(113, 3)),
		Wait: int(w.Bits(116, 6)),
	}
}
