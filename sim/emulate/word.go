package emulate

import (
	"fmt"

	"gnvcc/sim/sass"
)

// A decoder reads one instruction, and remembers which of its bits were read: at the end none may
// be left that says something.
type decoder struct {
	*sass.Inst
	program *Program
	seen    [2]uint64
	err     error
}

// bits are n bits from bit i on, which are known from here.
func (d *decoder) bits(i, n uint) uint64 {
	for k := i; k < i+n; k++ {
		d.seen[k/64] |= 1 << (k % 64)
	}
	return d.Bits(i, n)
}

func (d *decoder) bit(i uint) bool { return d.bits(i, 1) == 1 }

// signed is the same with the last bit as a sign.
func (d *decoder) signed(i, n uint) int64 { return int64(d.bits(i, n)<<(64-n)) >> (64 - n) }

// refuse makes the instruction an error.
func (d *decoder) refuse(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}

// want refuses bits that are not as they are known.
func (d *decoder) want(i, n uint, value uint64) {
	if got := d.bits(i, n); got != value {
		d.refuse("bits %d to %d are %#x, not %#x", i, i+n-1, got, value)
	}
}

// skip are bits that change nothing of what is computed: how a cache or a scheduler is used.
func (d *decoder) skip(i, n uint) { d.bits(i, n) }

// unused are the places of registers and predicates, and what stands there where there is none.
var unused = []struct{ at, n uint }{{16, 8}, {24, 8}, {32, 8}, {64, 8}, {81, 3}, {84, 3}, {87, 3}}

const firstControl = 105 // of the bits for the scheduler

// rest refuses the instruction where it has bits that were not read.
func (d *decoder) rest() {
	for _, u := range unused {
		v := d.Bits(u.at, u.n)
		if v == 1<<u.n-1 || u.n == 8 && v == noUniform {
			for k := u.at; k < u.at+u.n; k++ {
				d.seen[k/64] |= 1 << (k % 64)
			}
		}
	}
	d.skip(0, 16)
	d.skip(firstControl, 128-firstControl)
	lo, hi := d.Lo&^d.seen[0], d.Hi&^d.seen[1]
	if lo != 0 || hi != 0 {
		d.refuse("its bits %016x %016x are not known", hi, lo)
	}
}

// code is the operation, without its form.
func (d *decoder) code() uint16 { return uint16(d.Lo & 511) }

// scalar reports the operations of a warp's own unit, whose sources and results are all uniform
// registers and predicates.
func (d *decoder) scalar() bool { return d.code() >= 0x080 && d.code() < 0x0c0 }
