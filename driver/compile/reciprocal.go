package compile

import (
	"bytes"
	"slices"

	"gnvcc/rewrite/fold/same"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// An approximate division is a product with the reciprocal, which the GPU looks up. Where there is
// no such instruction at a division's line, ptxas has taken the reciprocal for another division, or
// has computed it.

// shares tells of a division by the same value as another one that is computed on the GPU: ptxas
// takes the reciprocal once, and multiplies.
func (d *doings) shares(s same.Statement) bool {
	f := s.Func
	ops := f.Operands(s.Index, nil)
	if string(f.Base(s.Index)) != "div" || len(ops) != 3 {
		return false
	}
	v := values{f: f, reach: d.reach[f]}
	for other, did := range d.did {
		if did != looked || other.Func != f || !bytes.Equal(f.Opcode(other.Index), f.Opcode(s.Index)) {
			continue
		}
		if more := f.Operands(other.Index, nil); len(more) == 3 && v.equal(s.Index, ops[2], other.Index,
			more[2], 0) {
			return true
		}
	}
	return false
}

// computes tells of a division of the variant by a constant of the text, of which ptxas takes the
// reciprocal by itself: in the kernel (d) it does so in every division by that constant, too.
func (d *doings) computes(after *doings, s same.Statement) bool {
	by := after.divisor(s)
	found := false
	for other, did := range d.did {
		if by == "" || !bytes.Equal(other.Func.Opcode(other.Index), s.Func.Opcode(s.Index)) ||
			d.divisor(other) != by {
			continue
		}
		if did == looked {
			return false
		}
		found = true
	}
	return found
}

// divisor is the constant that a division divides by, "" where it is none.
func (d *doings) divisor(s same.Statement) string {
	ops := s.Func.Operands(s.Index, nil)
	if string(s.Func.Base(s.Index)) != "div" || len(ops) != 3 {
		return ""
	}
	by := string(s.Func.Bytes(ops[2]))
	if reach := d.reach[s.Func]; reach.Written(by) {
		of := reach.Of(s.Index, by)
		if len(of) != 1 || string(s.Func.Base(of[0])) != "mov" || s.Func.Stmts[of[0]].Guarded {
			return ""
		}
		by = string(s.Func.Bytes(s.Func.Operands(of[0], nil)[1]))
	}
	if by == "" || by[0] < '0' || by[0] > '9' {
		return ""
	}
	return by
}

// values compares what registers of a function hold.
type values struct {
	f     *ptx.Func
	reach *dataflow.Reaching
	pairs pairs // mayEqual's
}

// equal tells that operand x of statement i is made as operand y of statement j is: by the same
// writes, or by instructions without memory that have equal operands.
func (v values) equal(i int, x ptx.Span, j int, y ptx.Span, depth int) bool {
	const deepest = 8
	a, b := string(v.f.Bytes(x)), string(v.f.Bytes(y))
	if !v.reach.Written(a) || !v.reach.Written(b) {
		return a == b
	}
	from, to := v.reach.Of(i, a), v.reach.Of(j, b)
	if a == b && slices.Equal(from, to) {
		return true
	}
	if len(from) != 1 || len(to) != 1 || depth == deepest {
		return false
	}
	i, j = from[0], to[0]
	op := v.f.Opcode(i)
	if !bytes.Equal(op, v.f.Opcode(j)) || v.f.Stmts[i].Guarded || v.f.Stmts[j].Guarded {
		return false
	}
	switch string(v.f.Base(i)) {
	case "cvt", "mov", "mul", "mad", "fma", "add", "sub", "neg", "abs", "shl", "shr":
	case "ld":
		if !ptx.HasModifier(op, "param") {
			return false
		}
	default:
		return false
	}
	of, with := v.f.Operands(i, nil), v.f.Operands(j, nil)
	if len(of) != len(with) || len(of) < 2 {
		return false
	}
	for k := 1; k < len(of); k++ {
		if !v.equal(i, of[k], j, with[k], depth+1) {
			return false
		}
	}
	return true
}
