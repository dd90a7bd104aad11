package ptx

// Which registers a statement reads and writes. PTX writes its destination first, and a destination is never an
// address, so that a short list of exceptions does for all instructions.

// Effects calls yield for each register name of an instruction, its guard's too, and says whether it is read, written
// or both. A guarded instruction's destination keeps its old value where the guard is false; it is told as written
// only. Special registers (%tid.x) are told as read like others. Operands that name .param variables are left out.
func (f *Func) Effects(i int, yield func(reg Span, read, write bool)) {
	s := f.Stmts[i]
	if s.Kind != Inst {
		return
	}
	each := func(o Span, read, write bool) {
		f.Names(o, func(n Span) bool {
			yield(n, read, write)
			return true
		})
	}
	if s.Guarded {
		each(Span{s.Start, s.Op}, true, false)
	}
	ops := f.Operands(i, make([]Span, 0, 8))
	op := f.Opcode(i)
	switch string(f.Base(i)) {
	case "call":
		for k, o := range ops {
			each(o, k > 0 || f.text[o.Start] != '(' || len(ops) == 1, k == 0 && f.text[o.Start] == '(')
		}
		return
	case "bra", "brx":
		for k, o := range ops {
			if k == 0 && string(f.Base(i)) == "bra" || k == 1 {
				continue // labels
			}
			each(o, true, false)
		}
		return
	case "bar", "barrier":
		if HasModifier(op, "red") {
			break
		}
		fallthrough
	case "nanosleep", "stackrestore", "ret", "exit":
		for _, o := range ops {
			each(o, true, false)
		}
		return
	}
	for k, o := range ops {
		switch {
		case k > 0 || f.text[o.Start] == '[':
			each(o, true, false)
		default:
			// wgmma adds to its destination
			each(o, string(f.Base(i)) == "wgmma", true)
		}
	}
}
