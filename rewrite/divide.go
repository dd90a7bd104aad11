package rewrite

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gnvcc/graph"
	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
	"gnvcc/rewrite/recipe"
)

// divide=on computes integer divisions and remainders by multiplication, where the divisor is
// computed of arguments and of the sizes of block and grid alone. What that takes of the divisor is
// computed once, at entry.
//
//	                          ld.param.u32 %gnvcc_q32_3, [k_param_2+0];
//	                          div.u32 %gnvcc_q32_4, -1, %gnvcc_q32_3; ...     (M; 0 for d = 0)
//	$L__BB0_2:                $L__BB0_2:
//	div.u32 %r5, %r4, %r2;    mul.hi.u32 %gnvcc_q32_0, %r4, %gnvcc_q32_4;             (Q = n*M)
//	                          mad.lo.u32 %gnvcc_q32_1, %gnvcc_q32_0, %gnvcc_q32_5, %r4; (n - Q*d)
//	                          setp.ge.u32 %gnvcc_qp, %gnvcc_q32_1, %gnvcc_q32_3;
//	                          @%gnvcc_qp add.u32 %gnvcc_q32_0, %gnvcc_q32_0, %gnvcc_q32_7;
//	                          mov.b32 %r5, %gnvcc_q32_0;
//
// ptxas keeps the reciprocal of a 32-bit divisor in front of a loop, but corrects twice and looks
// for a divisor of 0 in each turn; a division of 64 bits it makes a call of some 70 instructions,
// reciprocal and all.
//
// Exact: with M = (2^w - 1)/d, rounded down, 2^w - M*d is from 1 to d, so that n*M/2^w is below n/d
// by n/2^w at most, less than 1. Its whole part Q is n/d's or one less, which n - Q*d tells: it has
// room in w bits, since Q*d is no more than n. With signs it is the same of absolute values. By 0
// ptxas' code gives -1, quotient and remainder, for every dividend (docs/facts.md), and so does
// this: M is 0, so that Q is 0 and n - Q*d is no less than d, and what is added is -1; where there
// are signs and in remainders all bits are set at the end.
//
// Allowed: divisors of which each register is written once, without a guard, by a load of an
// argument or an operation that depends on its operands alone, where one of the divisions by it
// stands in a loop, or six. A guarded division is computed always, and written under its guard. Left
// alone: functions that are called, dividends that are numbers, 16 bits.
//
// Safe: nothing is loaded but arguments, and no operation on integers stops a kernel, a division by
// 0 neither. Checked: ptxas compiles what is around anew.
//
// From: T. Granlund, P. Montgomery, Division by Invariant Integers using Multiplication, PLDI 1994.
func divide(k *pass.Kernel, terms []recipe.Term) error {
	value, err := pass.Only(terms)
	if err != nil {
		return err
	}
	if value != "on" {
		return errors.New("the only value is on")
	}
	if bytes.Contains(k.Text(), []byte(divisorMark)) {
		return errors.New("the kernel has registers called " + divisorMark + " already")
	}
	d, err := divisorsOf(k.Func)
	if err != nil {
		return err
	}
	found := d.divisions()
	if len(found) == 0 {
		return errors.New("no integer is divided by an argument in a loop, or six times")
	}
	for _, i := range found {
		ops := k.Operands(i, nil)
		k.Replace(i, strings.Join(d.divided(i, string(k.Bytes(ops[0])), string(k.Bytes(ops[1])),
			d.copied(string(k.Bytes(ops[2])))), "\n\t"))
	}
	declared := []string{".reg .pred " + divisorMark + "p;"}
	for _, w := range []int{16, 32, 64} {
		if n := d.count[w]; n > 0 {
			declared = append(declared, fmt.Sprintf(".reg .b%d %s%d_<%d>;", w, divisorMark, w, n))
		}
	}
	k.Insert(k.First(), strings.Join(append(declared, d.head...), "\n\t"))
	return nil
}

// divisorMark is in the names of all registers that divide brings in.
const divisorMark = "%gnvcc_q"

// Divided is the number of a kernel's divisions and remainders that divide takes.
func Divided(f *ptx.Func) int {
	d, err := divisorsOf(f)
	if err != nil {
		return 0
	}
	return len(d.divisions())
}

// Divisors are what divisions are by, and what is computed of them at entry.
type divisors struct {
	values // for the widths of registers
	origins *dataflow.Origins
	head    []string
	ours    map[string]string // by width and what is computed: our register
	count   map[int]int       // by width: our registers
}

func divisorsOf(f *ptx.Func) (*divisors, error) {
	if name := f.Hidden(); name != "" {
		return nil, fmt.Errorf("a scope declares %s again", name)
	}
	registers, err := f.Registers()
	return &divisors{values: values{Func: f, registers: registers}, origins: dataflow.OriginsOf(f),
		ours: map[string]string{}, count: map[int]int{}}, err
}

// divisions are the statements that divide takes.
func (d *divisors) divisions() (out []int) {
	blocks, err := d.Blocks()
	if err != nil {
		return nil
	}
	turns := make([]bool, len(d.Stmts))
	for _, l := range graph.Loops(dataflow.Successors(blocks)) {
		for _, b := range l.Body {
			for i := blocks[b].First; i < blocks[b].Last; i++ {
				turns[i] = true
			}
		}
	}
	by, pays := map[string][]int{}, map[string]bool{}
	for i := range d.Stmts {
		if w, _, _ := integerDivision(d.Func, i); w != 0 {
			ops := d.Operands(i, nil)
			_, number := dataflow.Literal(string(d.Bytes(ops[1])))
			name := string(d.Bytes(ops[2]))
			if argument, ok := d.fixed(name, mostOfDivisor); argument && ok && !number {
				by[name] = append(by[name], i)
				pays[name] = pays[name] || turns[i] || len(by[name]) == enoughDivisions
			}
		}
	}
	for name := range pays {
		if pays[name] {
			out = append(out, by[name]...)
		}
	}
	slices.Sort(out)
	return out
}

const (
	mostOfDivisor   = 6 // operations, one behind the other
	enoughDivisions = 6 // by one divisor, outside of loops: the entry costs as much as four save
)

// fixed tells whether an operand is what it is from entry on, and whether by arguments or sizes.
func (d *divisors) fixed(operand string, depth int) (argument, ok bool) {
	if _, number := dataflow.Literal(operand); number || ofLaunch(operand) {
		return !number, true
	}
	at := d.origins.Defs(operand)
	if len(at) != 1 || d.Stmts[at[0]].Guarded || depth == 0 || d.width(operand) < 16 ||
		d.width(operand) > 64 {
		return false, false
	}
	if l, ok := paramLoad(d.Func, at[0]); ok {
		return true, l.typ[0] != 'f'
	}
	ops := d.Operands(at[0], nil)
	width, _ := dataflow.IntegerType(d.Opcode(at[0]))
	if width == 0 || !dataflow.Pure(string(d.Base(at[0]))) || string(d.Bytes(ops[0])) != operand {
		return false, false
	}
	for _, s := range ops[1:] {
		by, fixed := d.fixed(string(d.Bytes(s)), depth-1)
		if !fixed {
			return false, false
		}
		argument = argument || by
	}
	return argument, true
}

// ofLaunch tells of special registers that are the same for all threads of a launch.
func ofLaunch(word string) bool {
	return strings.HasPrefix(word, "%ntid.") || strings.HasPrefix(word, "%nctaid.")
}

// copied computes at entry what is fixed, and gives the register that it is in.
func (d *divisors) copied(operand string) string {
	if _, number := dataflow.Literal(operand); number || ofLaunch(operand) {
		return operand
	}
	at := d.origins.Defs(operand)[0]
	if l, ok := paramLoad(d.Func, at); ok {
		for n, reg := range l.to {
			if reg == operand {
				return d.once(d.width(operand), fmt.Sprintf("ld.param.%s ?, [%s+%d];", l.typ,
					d.Params[l.index].Name, l.offset+n*pass.BitsOf(l.typ)/8))
			}
		}
	}
	var in []string
	for _, s := range d.Operands(at, nil)[1:] {
		in = append(in, d.copied(string(d.Bytes(s))))
	}
	return d.once(d.width(operand), fmt.Sprintf("%s ?, %s;", d.Opcode(at), strings.Join(in, ", ")))
}

// once writes lines for entry that leave something in a register of ours, where they don't stand
// there yet.
func (d *divisors) once(w int, text string) string {
	key := fmt.Sprint(w, text)
	if d.ours[key] == "" {
		d.count[w] = max(d.count[w], divisorsFree) + 1
		d.ours[key] = fmt.Sprintf("%s%d_%d", divisorMark, w, d.count[w]-1)
		d.head = append(d.head, pass.Fill(text, "?", d.ours[key])...)
	}
	return d.ours[key]
}

const divisorsFree = 3 // registers of each width for what one division computes

// divided is what stands in a division's place: a statement of the kernel alone is written to by
// its last line, since the registers of a division may be the same.
func (d *divisors) divided(i int, to, n, by string) []string {
	w, signed, rem := integerDivision(d.Func, i)
	words := []string{"TO", to, "IW", fmt.Sprint(w), "P", divisorMark + "p", "X", n, "D", by, "N", n,
		"A", by, "G", strings.TrimSpace(string(d.Text()[d.Stmts[i].Start:d.Stmts[i].Op]))}
	for r, name := range []string{"Q", "R", "T"} {
		words = append(words, name, fmt.Sprintf("%s%d_%d", divisorMark, w, r),
			"W"+name, fmt.Sprintf("%s64_%d", divisorMark, r))
	}
	entry := func(name, text string) { // what a word stands for is computed at entry
		lines := pass.Fill(text, append([]string{"TO", "?"}, words...)...)
		words = append([]string{name, d.once(w, strings.Join(lines, "\n"))}, words...)
	}
	if signed {
		entry("A", "abs.sIW TO, A;")
		words = append([]string{"N", fmt.Sprintf("%s%d_2", divisorMark, w)}, words...)
	}
	entry("B", "neg.sIW TO, A;")
	entry("Z", "setp.eq.uIW P, A, 0;\nselp.bIW TO, -1, 0, P;")
	text := ""
	if signed {
		text = "abs.sIW N, X;\n"
	}
	if w == 32 {
		d.count[64] = max(d.count[64], divisorsFree)
		entry("K", "clz.b32 TO, A;\nsub.s32 TO, 31, TO;\nmax.s32 TO, TO, 0;")
		entry("L", "clz.b32 TO, A;\nshl.b32 TO, A, TO;")
		entry("V", divisorReciprocal)
		entry("U", "mul.lo.u32 TO, V, L;\nnot.b32 TO, TO;\nshr.s32 TO, TO, 31;")
		entry("M", "sub.u32 TO, V, U;\nnot.b32 T, Z;\nand.b32 TO, TO, T;")
		entry("C", "not.b32 TO, U;\nand.b32 TO, TO, V;\nor.b32 TO, TO, Z;")
		text += `
			mad.lo.cc.u32 Q, N, M, C;
			madc.hi.u32 Q, N, M, Z;
			shr.u32 Q, Q, K;
			mad.lo.u32 R, Q, B, N;`
	} else {
		entry("M", "div.u64 TO, -1, A;")
		text += `
			mul.hi.u64 Q, N, M;
			mad.lo.u64 R, Q, B, N;
			setp.ge.u64 P, R, A;
			@P add.u64 Q, Q, 1;
			@P add.u64 R, R, B;`
	}
	text += "\n" + quotients[[2]bool{signed, rem}]
	if w == 32 && !signed && !rem {
		text = strings.Replace(text, "or.bIW TO, Q, Z", "mov.b32 TO, Q", 1)
	}
	return pass.Fill(text, words...)
}

// divisorReciprocal is (2^63 - 1)/L in 32 bits, where L's first bit is set.
const divisorReciprocal = `
	cvt.rp.f32.u32 TO, L;
	rcp.approx.ftz.f32 TO, TO;
	add.s32 TO, TO, 528482302;
	cvt.rzi.u32.f32 TO, TO;
	mul.wide.u32 WQ, TO, L;
	sub.s64 WQ, 9223372036854775807, WQ;
	shr.u64 WQ, WQ, 11;
	cvt.u32.u64 T, WQ;
	mul.hi.u32 T, T, TO;
	shr.u32 T, T, 20;
	add.s32 TO, TO, T;
	mul.wide.u32 WQ, TO, L;
	sub.s64 WQ, 9223372036854775807, WQ;
	cvt.u64.u32 WR, L;
	setp.ge.u64 P, WQ, WR;
	@P add.s32 TO, TO, 1;`

// quotients end a division, by whether it has signs and is a remainder.
var quotients = map[[2]bool]string{
	{false, false}: "G or.bIW TO, Q, Z;",
	{false, true}:  "G or.bIW TO, R, Z;",
	{true, false}:  "xor.bIW R, X, D;\nsetp.lt.sIW P, R, 0;\n@P neg.sIW Q, Q;\nG or.bIW TO, Q, Z;",
	{true, true}:   "setp.lt.sIW P, X, 0;\n@P neg.sIW R, R;\nG or.bIW TO, R, Z;",
}
