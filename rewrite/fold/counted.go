package fold

import (
	"fmt"
	"slices"

	"gnvcc/graph"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// Counted tells whether a kernel, or what it calls, may have a loop whose turns ptxas can count
// before it unrolls any: one that is left by what may be a number (numbers).
func Counted(m *ptx.Module, entry string) bool {
	reached, err := m.Reach(entry)
	if err != nil {
		return true
	}
	for _, f := range reached.Funcs {
		if !f.Body {
			continue
		}
		reach, err := dataflow.ReachingOf(f)
		if err != nil {
			return true
		}
		c := computation{f: f, reach: reach, made: map[int]result{}}
		number := c.numbers()
		after := dataflow.Successors(reach.Blocks)
		for _, l := range graph.Loops(after) {
			for _, b := range l.Body {
				leaves := slices.ContainsFunc(after[b], func(to int) bool {
					return !slices.Contains(l.Body, to)
				})
				if leaves && c.reads(reach.Blocks[b].Last-1, number) {
					return true
				}
			}
		}
	}
	return false
}

// numbers are the statements that may give a number that ptxas knows: what is made of numbers
// alone, on some way at least, and what is one whatever an operand is. Nothing of an argument, of
// the thread, of memory that nobody here stores to.
func (c computation) numbers() []bool {
	f, out := c.f, make([]bool, len(c.f.Stmts))
	stores := slices.ContainsFunc(slices.Collect(statements(f)), func(i int) bool {
		return string(f.Base(i)) == "st" && ptx.Space(f.Opcode(i)) != "param"
	})
	for again := true; again; {
		again = false
		for i := range statements(f) {
			base, space := string(f.Base(i)), ptx.Space(f.Opcode(i))
			if base == "ld" && (space == "param" && f.Entry || space == "const" ||
				space != "param" && !stores) || base != "ld" && !dataflow.Computes(base) {
				continue
			}
			if !out[i] && (c.reads(i, out) || c.absorbs(i, out)) {
				out[i], again = true, true
			}
		}
	}
	return out
}

// reads tells whether all that a statement reads may be numbers. A guard is read by a branch alone:
// both ways to a register may bring the same.
func (c computation) reads(i int, number []bool) bool {
	numbers, guard := true, ""
	if p, _ := c.f.Guard(i); p != nil && string(c.f.Base(i)) != "bra" {
		guard = string(p)
	}
	c.f.Effects(i, func(n ptx.Span, read, _ bool) {
		if name := string(c.f.Bytes(n)); read && name != guard {
			numbers = numbers && c.may(i, name, number)
		}
	})
	return numbers
}

// may tells whether an operand may be a number.
func (c computation) may(i int, name string, number []bool) bool {
	if !c.reach.Written(name) {
		return name[0] != '%'
	}
	return slices.ContainsFunc(c.reach.Of(i, name), func(d int) bool { return number[d] })
}

// absorbs tells of a statement that may give a number though an operand is none: x & 0, x ^ x, one
// of two numbers.
func (c computation) absorbs(i int, number []bool) bool {
	ops := c.operands(i)
	if len(ops) < 3 {
		return false
	}
	first, last := c.copied(i, ops[1]), c.copied(i, ops[len(ops)-1])
	is := func(k int, list ...int32) bool {
		v, certain := c.value(i, ops[k])
		return certain && slices.Contains(list, int32(v))
	}
	switch string(c.f.Base(i)) {
	case "selp", "slct":
		return c.may(i, ops[1], number) || c.may(i, ops[2], number)
	case "and", "or", "mul", "mul24", "mad", "mad24":
		return is(1, 0, -1) || is(2, 0, -1)
	case "min", "max":
		_, signed := dataflow.IntegerType(c.f.Opcode(i))
		return !signed && (is(1, 0, -1) || is(2, 0, -1))
	case "shl", "shr":
		v, certain := c.value(i, ops[2])
		return certain && uint32(v) >= 32
	case "bfe", "lop3":
		return is(len(ops)-1, 0, 255)
	case "rem", "div":
		return is(2, 1, -1) || first == last
	case "xor", "sub", "setp", "set":
		return first == last
	}
	return false
}

// copied is where an operand is copied from, as far as a single statement gives it.
func (c computation) copied(i int, operand string) string {
	defs := c.reach.Of(i, operand)
	for range 100 {
		if len(defs) != 1 || string(c.f.Base(defs[0])) != "mov" || c.f.Stmts[defs[0]].Guarded {
			break
		}
		i, operand = defs[0], c.operands(defs[0])[1]
		defs = c.reach.Of(i, operand)
	}
	return fmt.Sprint(operand, defs)
}

// statements are a function's instructions.
func statements(f *ptx.Func) func(yield func(i int) bool) {
	return func(yield func(i int) bool) {
		for i, s := range f.Stmts {
			if s.Kind == ptx.Inst && !yield(i) {
				return
			}
		}
	}
}
