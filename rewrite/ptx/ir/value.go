package ir

import (
	"fmt"
	"strconv"
	"strings"

	"gnvcc/rewrite/ptx"
)

// Where values come from: the constant in a register, the shared variable or the parameter behind
// an address. A register may have several definitions; something is said of it only where it holds
// for all of them.

// Forward works out a property of each register over all statements that write it, whatever way the
// control flow takes: join of what each of them gives, which value returns for a statement by what
// is known so far. join must only ever lose, so that it ends.
func Forward[T comparable](w *Func, known []T, join func(a, b T) T, value func(i int) T) {
	for again := true; again; {
		again = false
		for i := range w.Stmts {
			var v T
			asked := false
			for _, a := range w.Accesses(i) {
				if !a.Write {
					continue
				}
				if !asked {
					v, asked = value(i), true
				}
				if now := join(known[a.Reg], v); now != known[a.Reg] {
					known[a.Reg], again = now, true
				}
			}
		}
	}
}

// Literal is the value of a number as PTX writes it.
func Literal(text string) (int64, bool) {
	text = strings.TrimSuffix(text, "U")
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		u, err := strconv.ParseUint(text, 0, 64)
		return int64(u), err == nil
	}
	return n, true
}

// Constant returns the integer that an operand stands for: a literal, or a register that every
// definition sets to the same literal.
func (w *Func) Constant(o Operand) (n int64, ok bool) {
	if o.Reg == None {
		return Literal(o.Text)
	}
	for k, i := range w.defs[o.Reg] {
		x := w.Inst(i)
		if x.Op != "mov" || len(x.Args) != 2 || w.Stmts[i].Guarded {
			return 0, false
		}
		v, is := Literal(x.Args[1].Text)
		if !is || k > 0 && v != n {
			return 0, false
		}
		n, ok = v, true
	}
	return n, ok
}

// Sole returns the only statement that writes a register, where it is not guarded; -1 for others.
func (w *Func) Sole(r Reg) int {
	if r == None || len(w.defs[r]) != 1 || w.Stmts[w.defs[r][0]].Guarded {
		return -1
	}
	return w.defs[r][0]
}

// computed returns the only definition of a register where that is an unguarded instruction whose
// result depends on its operands alone; -1 for others.
func (w *Func) computed(r Reg) int {
	i := w.Sole(r)
	if i < 0 {
		return -1
	}
	x := w.Inst(i)
	if !Computes(x.Op) || len(x.Args) < 2 || x.Args[0].Reg != r { // a vector taken apart
		return -1
	}
	for _, o := range x.Args[1:] {
		if o.Reg != None && len(w.defs[o.Reg]) == 0 || o.Reg == None && o.Text[0] == '%' &&
			!OfThread(o.Text) {
			return -1
		}
	}
	return i
}

// OfThread reports whether a special register holds the same for a thread at any time.
func OfThread(word string) bool {
	name, _, _ := strings.Cut(word, ".")
	switch name {
	case "%tid", "%ntid", "%ctaid", "%nctaid", "%laneid":
		return true
	}
	return false
}

// Expression writes an operand out in terms of what it is computed from, so that two operands with
// the same text have the same value, as long as the registers that are left in it do not change:
// "_ZZ1kE5locks+shl.b32(%r5,2)".
func (w *Func) Expression(o Operand) string { return w.expression(o, 8) }

func (w *Func) expression(o Operand, depth int) string {
	if o.Reg == None {
		return o.Text
	}
	i := w.computed(o.Reg)
	if i < 0 || depth == 0 {
		return w.Name(o.Reg)
	}
	x := w.Inst(i)
	parts := make([]string, 0, 4)
	for _, o := range x.Args[1:] {
		parts = append(parts, w.expression(o, depth-1))
	}
	op := w.text[w.Stmts[i].Op:w.Stmts[i].OpEnd]
	switch {
	case x.Op == "mov", x.Op == "cvta":
		return strings.Join(parts, ",")
	case x.Op == "add" && len(x.Words) == 1 && strings.ContainsAny(op[4:5], "su"):
		return strings.Join(parts, "+")
	}
	return op + "(" + strings.Join(parts, ",") + ")"
}

// Location writes the address that a statement accesses out likewise, "" for one without.
func (w *Func) Location(i int) string {
	if o := w.Inst(i).Address(); o != nil {
		return fmt.Sprintf("%s%+d", w.Expression(*o), o.Offset)
	}
	return ""
}

// An Origin is where an address comes from.
type Origin struct {
	Shared bool // a generic address that was made of a shared one (cvta.shared) on every way
	// the one variable that it points into, or the parameter ("#2+8"); "" where there are several or
	// it is not known
	Root string
}

// Origin returns where an address, or its base, comes from.
func (w *Func) Origin(o Operand) (out Origin) {
	r := w.root(o)
	if !r.many && !r.others {
		out.Root = r.name
	}
	out.Shared = !r.plain && r != root{}
	return out
}

// Parameter returns which parameter an address points into, and where in it the pointer stands, as
// far as it points into any; ok is false for none and for several.
func (w *Func) Parameter(o Operand) (index, offset int, ok bool) {
	r := w.root(o)
	n, err := fmt.Sscanf(r.name, "#%d+%d", &index, &offset)
	return index, offset, n == 2 && err == nil && !r.many
}

// A root is what a value may begin with, over all ways.
type root struct {
	name   string // a variable, or a parameter with the pointer's place in it: "#2+8"
	many   bool   // and other ones
	others bool   // and what is none: an index, what comes from memory
	plain  bool   // it need not have been made of a shared address
}

// root is that of an operand. A pointer that a loop moves along comes back to itself, which adds
// nothing; what is multiplied or shifted on the way is an index.
func (w *Func) root(o Operand) root {
	return w.rootIn(o, w.from())
}

// origins are the roots of all registers.
func (w *Func) origins() []root {
	roots := make([]root, len(w.group))
	Forward(w, roots, root.or, func(i int) root { return w.defined(i, roots) })
	return roots
}

func (w *Func) rootIn(o Operand, roots []root) root {
	_, number := Literal(o.Text)
	switch {
	case o.Reg != None && len(w.defs[o.Reg]) > 0:
		return roots[o.Reg]
	case o.Reg != None || number || o.Text == "" || o.Text[0] == '{' || o.Text[0] == '%':
		return root{others: true, plain: true}
	}
	return root{name: o.Text, plain: true}
}

// or is the root of a value that is one of two.
func (r root) or(s root) root {
	if r.name == "" {
		r.name = s.name
	}
	return root{r.name, r.many || s.many || s.name != "" && r.name != s.name, r.others || s.others,
		r.plain || s.plain}
}

// defined is the root of what one statement computes.
func (w *Func) defined(i int, roots []root) root {
	x := w.Inst(i)
	of := func(n int) root { return w.rootIn(x.Args[n], roots) }
	switch n := len(x.Args); {
	case x.Op == "ld" && n == 2 && ptx.Space(w.Opcode(i)) == "param":
		for k := range w.Params {
			if p := &w.Params[k]; p.Name == x.Args[1].Text && (p.Pointer || p.Type == "u64" ||
				p.Type == "b64" || len(p.Dims) > 0) {
				return root{name: fmt.Sprintf("#%d+%d", k, x.Args[1].Offset), plain: true}
			}
		}
	case (x.Op == "mov" || x.Op == "cvt" || x.Op == "cvta") && n == 2:
		r := of(1)
		r.plain = r.plain && !(x.Op == "cvta" && ptx.OwnShared(w.Opcode(i)))
		return r
	case (x.Op == "add" || x.Op == "sub") && n == 3: // an address plus an offset
		a, b := of(1), of(2)
		r := a.or(b)
		r.others, r.plain = a.others && b.others, a.plain && b.plain
		return r
	case x.Op == "mad" && n == 4:
		return of(3)
	case x.Op == "selp" && n == 4:
		return of(1).or(of(2))
	}
	return root{others: true, plain: true}
}
