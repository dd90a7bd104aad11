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
	both := base == "wgmma" // adds to its destination
	limit := -1             // operands behind this one are labels
	if base == "brx" {
		limit = 0
	}
	b, end := f.text, int(s.End)-1
	operand, depth, fresh := 0, 0, true
	for at := int(s.OpEnd); at < end; {
		c := b[at]
		switch {
		case class[c]&clSpace != 0:
			at++
			continue
		case class[c]&clFirst != 0:
			n := name(b, at)
			if c == '%' {
				n = word(b, n)
			}
			if limit < 0 || operand <= limit {
				write := operand < writes
				yield(Span{uint32(at), uint32(n)}, !write || both, write)
			}
			at = n
		case class[c]&clDigit != 0 || c == '.':
			at = max(word(b, at), at+1)
		case c == ',':
			if depth == 0 {
				operand++
				fresh = true
				at++
				continue
			}
			at++
		case c == '[' || c == '{' || c == '(':
			if c == '[' && fresh && operand == 0 { // an address is no destination
				writes = 0
			}
			depth++
			at++
		case c == ']' || c == '}' || c == ')':
			depth--
			at++
		case c == '/':
			if n := skip(b, at); n > at {
				at = n
				continue
			}
			at++
		case c == '"':
			n := quoted(b, at)
			if n < 0 {
				return
			}
			at = n
		default:
			at++
		}
		fresh = false
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
