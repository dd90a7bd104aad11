package rewrite

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
	"gnvcc/rewrite/recipe"
)

// approx=FUNCTIONS lets the special function units compute divisions, reciprocals, roots and
// reciprocal roots:
//
//	div.rn.f32 %f3, %f1, %f2;       div.approx.f32 %f3, %f1, %f2;
//	rcp.rn.f32 %f5, %f4;            rcp.approx.f32 %f5, %f4;
//	sqrt.rn.f32 %f7, %f6;           sqrt.approx.f32 %f7, %f6;
//	sqrt.rn.f32 %f9, %f8;           rsqrt.approx.f32 %f10, %f8;     (where nothing else reads %f9)
//	rcp.rn.f32 %f10, %f9;
//
// FUNCTIONS is a list of div, rcp, sqrt, rsqrt or all, each with its form behind a dot (as is: the
// f32 form that keeps the instruction's own .ftz); the last word about an instruction holds:
//
//	div            f32
//	div.ftz        f32, subnormal operands and results become 0 (for this function alone, whatever nvcc's -ftz says)
//	div.full       f32, div only: operands are scaled, so that it is right to 2 ulp over the full range
//	div.f64        f64 from the 20 leading bits of the significand: relative errors up to about 1.3e-6
//	div.f64+1      f64 with a Newton step behind it: up to about 1.2e-12
//
// (Both measured on an H200 with the same sequences.)
//
// In f64 (Table 6.2), as the units give a reciprocal and a reciprocal root only:
//
//	rcp     rcp.approx.ftz.f64 d, x;
//	div     rcp.approx.ftz.f64 d, y; mul.f64 d, d, x;
//	rsqrt   rsqrt.approx.ftz.f64 d, x;
//	sqrt    rsqrt.approx.ftz.f64 d, x; rcp.approx.ftz.f64 d, d;
//
// Special values (PTX ISA, and as measured on an H200). With .ftz a subnormal operand is a zero of
// its sign, and so is a subnormal result. NaN, infinities and zeros give what the accurate
// instruction gives, save for division: div.approx.f32 gives 0, or NaN for an infinite dividend,
// where the divisor is above 2^126 in absolute value. The f64 forms have the whole range of
// exponents of f64 (the unit reads the upper half of the operand), but subnormals are 0 to them: a
// subnormal divisor is a division by zero, a divisor above 2^1022 gives 0, the root of a subnormal
// is 0. The Newton step is left out where it would give something that is not finite.
//
// Guarded instructions are replaced in f32 only. Allowed for the instructions of the kernel itself
// that are not approximate yet: div.full, and .rn, .rz, .rm, .rp. Called functions stay as they
// are. Other results are intended, so the lever is for those who ask for it.
//
// From: Li, SFU-Driven Transparent Approximation Acceleration on GPUs, ICS 2016; thesis, chapter 6,
// Tables 6.1 and 6.2, section 6.4.2.
func approx(k *pass.Kernel, terms []recipe.Term) error {
	value, err := pass.Only(terms)
	if err != nil {
		return err
	}
	forms, err := parseForms(value)
	if err != nil {
		return err
	}
	if bytes.Contains(k.Text(), []byte(approxPrefix)) {
		return errors.New("the kernel has names that begin with " + approxPrefix + " already")
	}
	a := approximation{Kernel: k, forms: forms}
	all, err := inaccurates(k.Func)
	if err != nil {
		return err
	}
	for _, s := range all {
		a.site(s)
	}
	if a.count == 0 {
		return errors.New("no division, root or reciprocal in the kernel can be replaced so")
	}
	if a.doubles {
		k.Insert(k.First(), fmt.Sprintf(".reg .f64 %sd<3>;\n\t.reg .pred %sq;", approxPrefix,
			approxPrefix))
	}
	return nil
}

const approxPrefix = "%gnvcc_a"

// A form says how a function is approximated in one type; "" is not at all.
type form struct {
	f32 string // "keep", "ftz", "full"
	f64 string // "sfu", "newton"
}

var approxFunctions = []string{"div", "rcp", "sqrt", "rsqrt"}

// parseForms reads the list of functions.
func parseForms(list string) (map[string]form, error) {
	out := map[string]form{}
	for _, word := range strings.Split(list, ",") {
		name, kind, dotted := strings.Cut(word, ".")
		names := []string{name}
		if name == "all" {
			names = approxFunctions
		}
		for _, n := range names {
			f := out[n]
			switch {
			case n != "div" && n != "rcp" && n != "sqrt" && n != "rsqrt":
				return nil, fmt.Errorf("%q is none of div, rcp, sqrt, rsqrt, all", name)
			case !dotted:
				f.f32 = "keep"
			case kind == "ftz":
				f.f32 = "ftz"
			case kind == "full" && name == "div":
				f.f32 = "full"
			case kind == "f64":
				f.f64 = "sfu"
			case kind == "f64+1":
				f.f64 = "newton"
			default:
				return nil, fmt.Errorf("%q: %s has no form %q", word, name, kind)
			}
			out[n] = f
		}
	}
	return out, nil
}

// An inaccurate is an instruction, or a pair, that could be approximated.
type inaccurate struct {
	function string // "div", "rcp", "sqrt", "rsqrt"
	double   bool
	stmt     int
	root     int // of a pair: the sqrt; -1
}

// SFU counts what approx could replace in a kernel, by function, with ".f64" behind those of that
// type: "div", "rsqrt.f64".
func SFU(f *ptx.Func) map[string]int {
	out := map[string]int{}
	list, err := inaccurates(f)
	if err != nil {
		return out
	}
	for _, s := range list {
		name := s.function
		if s.double {
			name += ".f64"
		}
		out[name]++
	}
	return out
}

// inaccurates lists the instructions in the order of the text; a pair stands where its rcp does.
func inaccurates(f *ptx.Func) (out []inaccurate, err error) {
	w, err := ir.Of(f)
	if err != nil {
		return nil, err
	}
	roots := map[int]bool{}
	for i := range f.Stmts {
		if name, double, ok := accurate(w.Inst(i)); ok {
			s := inaccurate{function: name, double: double, stmt: i, root: -1}
			if name == "rcp" {
				if root := rootOf(w, i, double); root >= 0 {
					s.function, s.root, roots[root] = "rsqrt", root, true
				}
			}
			out = append(out, s)
		}
	}
	return slices.DeleteFunc(out, func(s inaccurate) bool { return roots[s.stmt] }), nil
}

// accurate reports whether an instruction is a division, root or reciprocal that is not
// approximate.
func accurate(x *ir.Inst) (name string, double, ok bool) {
	operands := map[string]int{"div": 3, "rcp": 2, "sqrt": 2}[x.Op]
	if operands == 0 || len(x.Words) < 2 || len(x.Args) != operands {
		return "", false, false
	}
	rounded, last := false, len(x.Words)-1
	for _, w := range x.Words[:last] {
		switch w {
		case "rn", "rz", "rm", "rp":
			rounded = true
		case "full":
			rounded = x.Op == "div"
		case "ftz":
		default:
			return "", false, false
		}
	}
	kind := x.Words[last]
	return x.Op, kind == "f64", rounded && (kind == "f32" || kind == "f64")
}

// rootOf finds the sqrt of the same block whose only reader is the rcp at i, with its operand
// unchanged in between; -1 if there is none.
func rootOf(w *ir.Func, i int, double bool) int {
	r := w.Inst(i).Args[1].Reg
	j := w.Sole(r)
	if w.Stmts[i].Guarded || j < 0 || j > i || w.Block(j) != w.Block(i) || w.Count(r) != 2 {
		return -1
	}
	name, d, ok := accurate(w.Inst(j))
	of := w.Inst(j).Args
	if !ok || name != "sqrt" || d != double || of[0].Reg != r {
		return -1
	}
	for n := j; n < i; n++ {
		if k := w.Stmts[n].Kind; k == ptx.Open || k == ptx.Close || of[1].Reg != ir.None && w.Writes(n, of[1].Reg) {
			return -1
		}
	}
	return j
}

// An approximation is the work on one kernel.
type approximation struct {
	*pass.Kernel
	forms   map[string]form
	count   int
	doubles bool // an f64 form needs registers
}

// site replaces one instruction or pair, if a form is asked for.
func (a *approximation) site(s inaccurate) {
	f := a.forms[s.function]
	wanted := f.f32
	if s.double {
		wanted = f.f64
	}
	if s.root >= 0 && wanted == "" { // no rsqrt is asked for: the pair is a root and a reciprocal
		a.site(inaccurate{function: "sqrt", double: s.double, stmt: s.root, root: -1})
		a.site(inaccurate{function: "rcp", double: s.double, stmt: s.stmt, root: -1})
		return
	}
	stmt := a.Stmts[s.stmt]
	if wanted == "" || stmt.Guarded && s.double {
		return
	}
	a.count++
	var room [4]ptx.Span
	ops := a.Operands(s.stmt, room[:0])
	d, x, y := string(a.Bytes(ops[0])), string(a.Bytes(ops[1])), ""
	if s.function == "div" {
		y = string(a.Bytes(ops[2]))
	}
	if s.root >= 0 {
		x = string(a.Bytes(a.Operands(s.root, room[:0])[1]))
		a.Delete(s.root)
	}
	if s.double {
		a.doubles = a.doubles || wanted == "newton"
		a.Replace(s.stmt, strings.Join(doubleCode(s.function, d, x, y, wanted == "newton"), "\n\t"))
		return
	}
	op := s.function + ".approx"
	if wanted == "full" {
		op = "div.full"
	}
	if wanted == "ftz" || ptx.HasModifier(a.Opcode(s.stmt), "ftz") {
		op += ".ftz"
	}
	op += ".f32"
	if s.root < 0 {
		a.ReplaceSpan(ptx.Span{Start: stmt.Op, End: stmt.OpEnd}, op)
		return
	}
	a.Replace(s.stmt, fmt.Sprintf("%s %s, %s;", op, d, x))
}

// doubleCode computes d = f(x) or x/y in f64. Operands may be numbers, and d may be one of them: it
// is written last.
//
// The Newton steps: r + r(1 - y r) for 1/y; s + (x - s s) r/2 for a root s with r = 1/s; r + (1 - x
// r r) r/2 for a reciprocal root. Each squares the relative error, which leaves 2^-43 or so of
// 2^-22.
func doubleCode(function, d, x, y string, newton bool) []string {
	text := onceCode[function]
	switch {
	case newton:
		text = newtonCode[function]
	case function == "div" && d == x: // the quotient's register is the dividend's
		text = "{ .reg .f64 T0;\n rcp.approx.ftz.f64 T0, Y;\n mul.f64 D, X, T0; }"
	}
	return pass.Fill(text, "D", d, "X", x, "Y", y, "OF", cmp.Or(y, x), "T", approxPrefix+"d", "Q", approxPrefix+"q",
		"ONE", "0d3FF0000000000000", "HALF", "0d3FE0000000000000")
}

var onceCode = map[string]string{
	"rcp":   "rcp.approx.ftz.f64 D, X;",
	"rsqrt": "rsqrt.approx.ftz.f64 D, X;",
	"sqrt":  "rsqrt.approx.ftz.f64 D, X;\n rcp.approx.ftz.f64 D, D;",
	"div":   "rcp.approx.ftz.f64 D, Y;\n mul.f64 D, X, D;",
}

// reciprocal leaves 1/OF in T0.
const reciprocal = `
		rcp.approx.ftz.f64 T0, OF;
		neg.f64 T1, OF;
		fma.rn.f64 T1, T1, T0, ONE;
		testp.finite.f64 Q, T1;
		@Q fma.rn.f64 T0, T0, T1, T0;
		`

var newtonCode = map[string]string{
	"rcp": reciprocal + "mov.f64 D, T0;",
	"div": reciprocal + "mul.f64 D, X, T0;",
	"sqrt": `
		rsqrt.approx.ftz.f64 T0, X;
		rcp.approx.ftz.f64 T1, T0;
		neg.f64 T2, T1;
		fma.rn.f64 T2, T2, T1, X;
		mul.f64 T0, T0, HALF;
		mul.f64 T2, T2, T0;
		testp.finite.f64 Q, T2;
		@Q add.f64 T1, T1, T2;
		mov.f64 D, T1;`,
	"rsqrt": `
		rsqrt.approx.ftz.f64 T0, X;
		mul.f64 T1, X, T0;
		neg.f64 T1, T1;
		fma.rn.f64 T1, T1, T0, ONE;
		mul.f64 T2, T0, HALF;
		mul.f64 T1, T1, T2;
		testp.finite.f64 Q, T1;
		@Q add.f64 T0, T0, T1;
		mov.f64 D, T0;`,
}
