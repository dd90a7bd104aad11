package dataflow

import (
	"fmt"
	"strconv"
	"strings"

	"gnvcc/rewrite/ptx"
)

// Where values come from: the constant in a register, the shared variable behind an address. A
// register may have several definitions; something is said of it only where it holds for all of
// them.

// Origins answers such questions for one function.
type Origins struct {
	f     *ptx.Func
	defs  map[string][]int // by register: the statements that write it
	roots map[string]root  // by register; nil: not asked yet
}

// An Origin is where an address comes from.
type Origin struct {
	Shared bool // a generic address that was made of a shared one (cvta.shared) on every way
	// the one variable that it points into, or the parameter ("#2+8"); "" where there are several or
	// it is not known
	Root string
}

// OriginsOf reads the function's definitions.
func OriginsOf(f *ptx.Func) *Origins {
	o := &Origins{f: f, defs: make(map[string][]int)}
	for i := range f.Stmts {
		f.Effects(i, func(name ptx.Span, _, write bool) {
			if reg := string(f.Bytes(name)); write {
				o.defs[reg] = append(o.defs[reg], i)
			}
		})
	}
	return o
}

// Defs returns the statements that write a register.
func (o *Origins) Defs(reg string) []int { return o.defs[reg] }

// Constant returns the integer that an operand stands for: a literal, or a register that every
// definition sets to the same literal.
func (o *Origins) Constant(operand string) (int64, bool) {
	if operand == "" || operand[0] != '%' {
		return Literal(operand)
	}
	out, found := int64(0), false
	for _, i := range o.defs[operand] {
		ops := o.f.Operands(i, nil)
		if string(o.f.Base(i)) != "mov" || len(ops) != 2 || o.f.Stmts[i].Guarded {
			return 0, false
		}
		n, ok := Literal(string(o.f.Bytes(ops[1])))
		if !ok || found && n != out {
			return 0, false
		}
		out, found = n, true
	}
	return out, found
}

func Literal(text string) (int64, bool) {
	text = strings.TrimSuffix(text, "U")
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		u, err := strconv.ParseUint(text, 0, 64)
		return int64(u), err == nil
	}
	return n, true
}

// Pure tells of instructions whose result depends on their operands alone; those that only pass an
// address on have no name in an expression.
func Pure(word string) bool {
	switch word {
	case "mov", "cvt", "cvta", "add", "sub", "mul", "mad", "and", "or", "xor", "shl", "shr",
		"min", "max", "bfe", "bfi", "rem", "div", "lop3", "not", "neg", "selp", "prmt", "shf",
		"abs":
		return true
	}
	return false
}

// computed returns the only definition of a register where that is an unguarded instruction whose
// result depends on its operands alone.
func (o *Origins) computed(reg string) (stmt int, ok bool) {
	d := o.defs[reg]
	if len(d) != 1 || o.f.Stmts[d[0]].Guarded || !Pure(string(o.f.Base(d[0]))) {
		return 0, false
	}
	ops := o.f.Operands(d[0], nil)
	if len(ops) < 2 || string(o.f.Bytes(ops[0])) != reg { // a vector taken apart
		return 0, false
	}
	for _, s := range ops[1:] {
		if word := string(o.f.Bytes(s)); len(o.defs[word]) == 0 && word[0] == '%' && !OfThread(word) {
			return 0, false
		}
	}
	return d[0], true
}

// OfThread tells the special registers that are the same for a thread at any time.
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
func (o *Origins) Expression(operand string) string { return o.expression(operand, 8) }

func (o *Origins) expression(operand string, depth int) string {
	i, ok := o.computed(operand)
	if !ok || depth == 0 {
		return operand
	}
	ops := o.f.Operands(i, nil)
	parts := make([]string, 0, 4)
	for _, s := range ops[1:] {
		parts = append(parts, o.expression(string(o.f.Bytes(s)), depth-1))
	}
	op := string(o.f.Opcode(i))
	switch base := string(o.f.Base(i)); {
	case base == "mov", base == "cvta":
		return strings.Join(parts, ",")
	case sums[op]:
		return strings.Join(parts, "+")
	}
	return op + "(" + strings.Join(parts, ",") + ")"
}

var sums = map[string]bool{"add.s16": true, "add.u16": true, "add.s32": true, "add.u32": true,
	"add.s64": true, "add.u64": true}

// Place writes an address with its offset out likewise, "" for other operands.
func (o *Origins) Place(address ptx.Span) string {
	base, offset, ok := o.f.Address(address)
	if !ok {
		return ""
	}
	return o.Expression(string(base)) + string(offset)
}

// A root is what a value may begin with, over all ways.
type root struct {
	name   string // a variable, or a parameter with the pointer's place in it: "#2", "#2+8"
	many   bool   // and other ones
	others bool   // and what is none: an index, what comes from memory
	plain  bool   // it need not have been made of a shared address
}

// Of tells where the base of an address comes from: a register or the name of a variable.
func (o *Origins) Of(base string) (out Origin) {
	r := o.root(base)
	if !r.many && !r.others {
		out.Root = r.name
	}
	out.Shared = !r.plain && r != root{}
	return out
}

// Parameter tells which parameter an address points into, and where in it the pointer stands
// ("2", "8"), as far as it points into any; ok is false for none and for several.
func (o *Origins) Parameter(base string) (index, offset string, ok bool) {
	r := o.root(base)
	name, ok := strings.CutPrefix(r.name, "#")
	index, offset, _ = strings.Cut(name, "+")
	return index, offset, ok && !r.many
}

// root is that of an operand. A pointer that a loop moves along comes back to itself, which adds
// nothing.
func (o *Origins) root(text string) root {
	if o.roots == nil {
		o.roots = map[string]root{}
		Forward(o.f, o.roots, root.or, o.definition)
	}
	return o.begins(text)
}

// begins is the root of an operand. What is multiplied or shifted on the way is an index.
func (o *Origins) begins(text string) root {
	_, number := Literal(text)
	switch {
	case text == "" || number || text[0] == '{' || text[0] == '%' && len(o.defs[text]) == 0:
		return root{others: true, plain: true}
	case text[0] != '%' && len(o.defs[text]) == 0: // inline assembly's registers need no %
		return root{name: text, plain: true}
	}
	return o.roots[text]
}

// or is the root of a value that is one of two.
func (r root) or(s root) root {
	if r.name == "" {
		r.name = s.name
	}
	return root{r.name, r.many || s.many || s.name != "" && r.name != s.name, r.others || s.others,
		r.plain || s.plain}
}

// definition is the root of what one statement computes.
func (o *Origins) definition(i int) root {
	f := o.f
	ops := f.Operands(i, nil)
	of := func(n int) root { return o.begins(string(f.Bytes(ops[n]))) }
	switch base := string(f.Base(i)); {
	case base == "ld" && len(ops) == 2 && ptx.Space(f.Opcode(i)) == "param":
		name, offset, _ := f.Address(ops[1])
		for k := range f.Params {
			if p := &f.Params[k]; p.Name == string(name) && (p.Pointer || p.Type == "u64" ||
				p.Type == "b64" || len(p.Dims) > 0) {
				return root{name: fmt.Sprintf("#%d%s", k, offset), plain: true}
			}
		}
	case (base == "mov" || base == "cvt" || base == "cvta") && len(ops) == 2:
		r := of(1)
		r.plain = r.plain && !(base == "cvta" && ptx.OwnShared(f.Opcode(i)))
		return r
	case (base == "add" || base == "sub") && len(ops) == 3: // an address plus an offset
		a, b := of(1), of(2)
		r := a.or(b)
		r.others, r.plain = a.others && b.others, a.plain && b.plain
		return r
	case base == "mad" && len(ops) == 4:
		return of(3)
	case base == "selp" && len(ops) == 4:
		return of(1).or(of(2))
	}
	return root{others: true, plain: true}
}
