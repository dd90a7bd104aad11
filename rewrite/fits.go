package rewrite

import (
	"bytes"
	"fmt"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
)

// Types, as far as passes write instructions: do the registers of a statement that the passes
// brought in or changed have the width that the instruction's type asks for? ptxas checks that too,
// by a line of a file that nobody has seen; and some mistakes it does not see, a load into a
// register wider than what is loaded among them, are allowed here too.
//
// Known are the instructions that passes use. In others nothing is checked.

// fits checks one instruction. width gives a register's declared width, 0 for what is no register.
func fits(f *ptx.Func, i int, width func(name []byte) int) error {
	op := f.Opcode(i)
	last := bytes.LastIndexByte(op, '.')
	if last < 0 {
		return nil
	}
	bits := pass.BitsOf(string(op[last+1:]))
	if bits == 0 {
		return nil
	}
	var room [6]ptx.Span
	ops := f.Operands(i, room[:0])
	check := func(k, want int, wider bool) error {
		if k >= len(ops) {
			return nil
		}
		var err error
		if b := f.Bytes(ops[k]); b[0] == '[' { // an address has a width of its own
			return nil
		}
		f.Names(ops[k], func(n ptx.Span) bool {
			have := width(f.Bytes(n))
			if have == 0 || have == want || wider && have > want && have != pass.PredBits {
				return true
			}
			s := f.Stmts[i]
			err = fmt.Errorf("register %s has %d bits where %d are wanted: %s", f.Bytes(n), have, want,
				f.Text()[s.Start:s.End])
			return false
		})
		return err
	}
	all := func(from, to, want int) error {
		for k := from; k < min(to, len(ops)); k++ {
			if err := check(k, want, false); err != nil {
				return err
			}
		}
		return nil
	}
	var err error
	switch string(f.Base(i)) {
	case "mov":
		if len(ops) == 2 && f.Bytes(ops[0])[0] != '{' && f.Bytes(ops[1])[0] != '{' {
			err = all(0, 2, bits)
		}
	case "add", "sub", "and", "or", "xor", "not", "neg", "min", "max":
		err = all(0, len(ops), bits)
	case "mul", "mad":
		if !ptx.HasModifier(op, "wide") {
			err = all(0, len(ops), bits)
		}
	case "shl", "shr":
		if err = all(0, 2, bits); err == nil {
			err = all(2, 3, 32)
		}
	case "setp":
		if err = all(0, 1, pass.PredBits); err == nil {
			err = all(1, 3, bits)
		}
	case "selp":
		if err = all(0, 3, bits); err == nil {
			err = all(3, 4, pass.PredBits)
		}
	case "ld":
		err = check(0, bits, true)
	case "st":
		err = check(1, bits, true)
	}
	if err != nil {
		return err
	}
	if reg, _ := f.Guard(i); reg != nil {
		if have := width(reg); have != 0 && have != pass.PredBits {
			return fmt.Errorf("the guard %s is no predicate", reg)
		}
	}
	return nil
}
