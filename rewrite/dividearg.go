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
// stands in a loop, or six in all. A guarded division is computed always, and written under its
// guard. Left alone: functions that are called, dividends that are numbers, 16 bits.
//
// Safe: nothing is loaded but arguments, and no operation on integers stops a kernel, a division by
// 0 neither. Checked: ptxas compiles what is around anew.
//
// From: T. Granlund, P. Montgomery, Division by Invariant Integers using Multiplication, PLDI 1994.
func divideByArguments(k *pass.Kernel, terms []recipe.Term) error {
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
	values  // for the widths of registers
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

// once writes lines for entry that leave something in a register of ours, called ?, where they
// don't stand there yet.
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

// divided is what stands in a division's place: its last line alone writes to what is not ours,
// since a division may write to what it reads.
func (d *divisors) divided(i int, to, n, by string) []string {
	w, signed, rem := integerDivision(d.Func, i)
	words := []string{"TO", to, "W", fmt.Sprint(w), "P", divisorMark + "p", "X", n, "D", by, "N", n,
		"A", by, "G", strings.TrimSpace(string(d.Text()[d.Stmts[i].Start:d.Stmts[i].Op]))}
	for r, name := range []string{"Q", "R", "T"} {
		words = append(words, name, fmt.Sprintf("%s%d_%d", divisorMark, w, r))
	}
	entry := func(name, text string) { // what a word stands for is computed at entry
		lines := pass.Fill(text, append([]string{"TO", "?"}, words...)...)
		words = append([]string{name, d.once(w, strings.Join(lines, "\n"))}, words...)
	}
	text := ""
	if signed {
		text = "abs.sW T, X;"
		entry("A", "abs.sW TO, A;")
		words = append([]string{"N", fmt.Sprintf("%s%d_2", divisorMark, w)}, words...)
	}
	entry("M", "setp.eq.uW P, A, 0;\ndiv.uW TO, -1, A;\nselp.bW TO, 0, TO, P;")
	entry("B", "neg.sW TO, A;")
	entry("Z", "setp.eq.uW P, A, 0;\nselp.bW TO, -1, 0, P;")
	text += `
		mul.hi.uW Q, N, M;
		mad.lo.uW R, Q, B, N;
		setp.ge.uW P, R, A;`
	switch {
	case rem && signed:
		text += `
			@P add.uW R, R, B;
			setp.lt.sW P, X, 0;
			@P neg.sW R, R;
			G or.bW TO, R, Z;`
	case rem:
		text += `
			@P add.uW R, R, B;
			G or.bW TO, R, Z;`
	case signed:
		text += `
			@P add.uW Q, Q, 1;
			xor.bW R, X, D;
			setp.lt.sW P, R, 0;
			@P neg.sW Q, Q;
			G or.bW TO, Q, Z;`
	default:
		entry("O", "or.bW TO, Z, 1;")
		text += `
			@P add.uW Q, Q, O;
			G mov.bW TO, Q;`
	}
	return pass.Fill(text, words...)
}
