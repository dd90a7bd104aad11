package rewrite

import (
	"fmt"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx/ir"
)

// Types, as far as passes write instructions: do the registers of a statement that the passes
// brought in or changed have the width that the instruction's type asks for? ptxas checks that too,
// by a line of a file that nobody has seen; and some mistakes it does not see, a load into a
// register wider than what is loaded among them, are allowed here too.
//
// Known are the instructions that passes use. In others nothing is checked.

// fits checks one instruction.
func fits(w *ir.Func, i int) error {
	x := w.Inst(i)
	bits := pass.BitsOf(x.Type())
	if bits == 0 {
		return nil
	}
	var err error
	// all checks the operands from .. to-1; those of addresses have a width of their own.
	all := func(from, to, want int, wider bool) {
		for k := from; k < min(to, len(x.Args)); k++ {
			o := x.Args[k]
			for _, a := range w.Accesses(i) {
				if o.Address || a.At.Start < o.At.Start || a.At.End > o.At.End {
					continue
				}
				have := w.Bits(a.Reg)
				if err == nil && have != want && !(wider && have > want && have != pass.PredBits) {
					s := w.Stmts[i]
					err = fmt.Errorf("register %s has %d bits where %d are wanted: %s", w.Name(a.Reg), have, want,
						w.Text()[s.Start:s.End])
				}
			}
		}
	}
	most := len(x.Args)
	switch x.Op {
	case "mov":
		if most == 2 && x.Args[0].Text[0] != '{' && x.Args[1].Text[0] != '{' {
			all(0, 2, bits, false)
		}
	case "add", "sub", "and", "or", "xor", "not", "neg", "min", "max":
		all(0, most, bits, false)
	case "mul", "mad":
		if !x.Has("wide") {
			all(0, most, bits, false)
		}
	case "shl", "shr":
		all(0, 2, bits, false)
		all(2, 3, 32, false)
	case "setp":
		all(0, 1, pass.PredBits, false)
		all(1, 3, bits, false)
	case "selp":
		all(0, 3, bits, false)
		all(3, 4, pass.PredBits, false)
	case "ld":
		all(0, 1, bits, true)
	case "st":
		all(1, 2, bits, true)
	}
	if err == nil && x.Guard != ir.None && w.Bits(x.Guard) != pass.PredBits {
		err = fmt.Errorf("the guard %s is no predicate", w.Name(x.Guard))
	}
	return err
}
