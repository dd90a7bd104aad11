package ptx

// Which registers a statement reads and writes. PTX writes its destination first, and a destination
// is never an address, so that a short list of exceptions does for all instructions.

// Effects calls yield for each name in an instruction's operands and guard, registers mostly, and
// says whether it is read, written or both. A guarded instruction's destination keeps its old value
// where the guard is false; it is listed as written only. Special registers (%tid.x), variables and
// functions are listed as read; labels of branches are left out.
func (f *Func) Effects(i int, yield func(name Span, read, write bool)) {
	s := f.Stmts[i]
	if s.Kind != Inst {
		return
	}
	if s.Guarded {
		f.Names(Span{s.Start, s.Op}, func(n Span) bool {
			yield(n, true, false)
			return true
		})
	}
	base := string(f.Base(i))
	if base == "bra" {
		return
	}
	writes := f.written(i, base)
	var list [8]Span
	for n, o := range f.Operands(i, list[:0]) {
		if n == 0 && f.text[o.Start] == '[' { // an address is no destination
			writes = 0
		}
		if n > 0 && base == "brx" { // labels
			return
		}
		f.Names(o, func(name Span) bool {
			write := n < writes
			yield(name, !write || base == "wgmma", write) // wgmma adds to its destination
			return true
		})
	}
}

// written is how many operands an instruction writes, its first ones.
func (f *Func) written(i int, base string) int {
	switch base {
	case "brx", "nanosleep", "stackrestore", "ret", "exit":
		return 0
	case "bar", "barrier":
		if !HasModifier(f.Opcode(i), "red") {
			return 0
		}
	case "call":
		if at := skip(f.text, int(f.Stmts[i].OpEnd)); f.text[at] != '(' {
			return 0
		}
	}
	return 1
}
