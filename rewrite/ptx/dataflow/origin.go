package dataflow

import (
	"strconv"
	"strings"

	"gnvcc/rewrite/ptx"
)

// Where values come from: the constant in a register, the shared variable behind an address. A
// register may have several definitions; something is said of it only where it holds for all of
// them.

// Origins answers such questions for one function.
type Origins struct {
	f    *ptx.Func
	defs map[string][]int // by register: the statements that write it
}

// An Origin is where an address comes from.
type Origin struct {
	Shared bool // a generic address that was made of a shared one (cvta.shared) on every way
	// the one variable that it points into; "" where there are several or it is not known
	Root string
}

// OriginsOf reads the function's definitions.
func OriginsOf(f *ptx.Func) *Origins {
	o := &Origins{f: f, defs: make(map[string][]int)}
	for i := range f.Stmts {
		f.Effects(i, func(name ptx.Span, _, write bool) {
			if write {
				o.defs[string(f.Bytes(name))] = append(o.defs[string(f.Bytes(name))], i)
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
		if word := string(o.f.Bytes(s)); len(o.defs[word]) == 0 && word[0] == '%' && !fixed(word) {
			return 0, false
		}
	}
	return d[0], true
}

// fixed tells the special registers that are the same for a thread at any time.
func fixed(word string) bool {
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
	case base == "mov", base == "cvta", op == "cvt.u64.u32", op == "cvt.u32.u64", op == "cvt.s64.s32":
		return strings.Join(parts, ",")
	case base == "add":
		return strings.Join(parts, "+")
	}
	return op + "(" + strings.Join(parts, ",") + ")"
}

// Of tells where the base of an address comes from: a register or the name of a variable.
func (o *Origins) Of(base string) Origin {
	return o.of(base, make(map[string]bool))
}

// of walks up the definitions of an address. through: registers under way, a loop adds nothing.
func (o *Origins) of(base string, through map[string]bool) Origin {
	if base == "" {
		return Origin{}
	}
	if base[0] != '%' {
		if _, number := Literal(base); number {
			return Origin{}
		}
		return Origin{Root: base}
	}
	out, first := Origin{}, true
	if through[base] || len(through) > 64 {
		return out
	}
	through[base] = true
	defer delete(through, base)
	for _, i := range o.defs[base] {
		d, ok := o.definition(i, through)
		if !ok { // a loop's own step
			continue
		}
		if first {
			out, first = d, false
			continue
		}
		out.Shared = out.Shared && d.Shared
		if out.Root != d.Root {
			out.Root = ""
		}
	}
	return out
}

// definition is the origin of what one statement computes.
func (o *Origins) definition(i int, through map[string]bool) (Origin, bool) {
	f := o.f
	ops := f.Operands(i, nil)
	text := func(n int) string { return string(f.Bytes(ops[n])) }
	switch base := string(f.Base(i)); {
	case base == "mov" && len(ops) == 2, base == "cvt" && len(ops) == 2:
		if through[text(1)] {
			return Origin{}, false
		}
		return o.of(text(1), through), true
	case base == "cvta" && len(ops) == 2:
		if ptx.OwnShared(f.Opcode(i)) {
			d := o.of(text(1), through)
			d.Shared = true
			return d, true
		}
	case (base == "add" || base == "sub") && len(ops) == 3:
		if through[text(1)] || through[text(2)] {
			return Origin{}, false
		}
		return sum(o.of(text(1), through), o.of(text(2), through)), true
	case base == "mad" && len(ops) == 4:
		if through[text(3)] {
			return Origin{}, false
		}
		return o.of(text(3), through), true
	case base == "selp" && len(ops) == 4:
		a, b := o.of(text(1), through), o.of(text(2), through)
		a.Shared = a.Shared && b.Shared
		if a.Root != b.Root {
			a.Root = ""
		}
		return a, true
	}
	return Origin{}, true
}

// sum is the origin of an address plus an offset; of two addresses nothing is known.
func sum(a, b Origin) Origin {
	switch none := (Origin{}); {
	case a == none:
		return b
	case b == none:
		return a
	}
	return Origin{}
}
