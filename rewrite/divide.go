package rewrite

import (
	"bytes"
	"fmt"
	mathbits "math/bits"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// A division by a number, as cicc writes it: shifts for powers of two, else the dividend is
// multiplied with 2^(w+s)/d, rounded up, of which the upper half is shifted by s (T. Granlund, P.
// Montgomery, Division by Invariant Integers using Multiplication, PLDI 1994). w is the width.
//
// With m = (2^(w+s) + e)/d, n*m / 2^(w+s) is n/d and n*e/(d*2^(w+s)) more, which is below 1/d, so
// that the whole part is n/d's, where e*n < 2^(w+s): for all n below 2^N where e <= 2^(w+s-N). Of a
// negative dividend the whole part is one less than the quotient.

// divideMark is in the names of the registers in which it is computed, of both widths.
const divideMark = "%gnvcc_l"

const divideRegisters = ".reg .b32 " + divideMark + "32_<3>;\n\t.reg .b64 " + divideMark + "64_<3>;"

// divide writes multiplications in place of a kernel's divisions by what always has one value: by
// 0, 1 and -1 they stay. value tells it, of an operand of a statement.
func divide(f *ptx.Func, value func(i int, operand string) (int64, bool)) {
	some, taken := false, bytes.Contains(f.Text(), []byte(divideMark))
	for i, s := range f.Stmts {
		width, signed, rem := integerDivision(f, i)
		if width == 0 || s.Guarded || taken {
			continue
		}
		ops := f.Operands(i, nil)
		if by, known := value(i, string(f.Bytes(ops[2]))); known {
			lines := dividedBy(by, width, signed, rem, string(f.Bytes(ops[0])),
				string(f.Bytes(ops[1])))
			if len(lines) > 0 {
				f.Replace(i, strings.Join(lines, "\n\t"))
				some = true
			}
		}
	}
	if some {
		f.Insert(f.First(), divideRegisters)
	}
}

// integerDivision tells what division of 32 or 64 bits a statement is; a width of 0: none.
func integerDivision(f *ptx.Func, i int) (width int, signed, rem bool) {
	if f.Stmts[i].Kind != ptx.Inst {
		return 0, false, false
	}
	switch op := string(f.Opcode(i)); op {
	case "div.u32", "div.s32", "div.u64", "div.s64", "rem.u32", "rem.s32", "rem.u64", "rem.s64":
		width, signed = dataflow.IntegerType(f.Opcode(i))
		return width, signed, op[0] == 'r'
	}
	return 0, false, false
}

// dividedBy gives the quotient or remainder of n in register to; nil: the division stays.
func dividedBy(by int64, w int, signed, rem bool, to, n string) []string {
	d := uint64(by) << (64 - w) >> (64 - w)
	minus := signed && by<<(64-w) < 0
	if minus {
		d = -d << (64 - w) >> (64 - w)
	}
	if d < 2 {
		return nil
	}
	var text string
	switch k := mathbits.TrailingZeros64(d); {
	case d == 1<<k && !signed && rem:
		text = fmt.Sprintf("and.bW TO, N, %d;", d-1)
	case d == 1<<k && !signed:
		text = fmt.Sprintf("shr.uW TO, N, %d;", k)
	case d == 1<<k: // what is added has it rounded towards zero
		text = fmt.Sprintf(`
			shr.sW T0, N, %d;
			shr.uW T0, T0, %d;
			add.sW T0, N, T0;`, w-1, w-k)
		if rem {
			text += fmt.Sprintf(`
			and.bW T0, T0, %d;
			sub.sW TO, N, T0;`, -int64(d)<<(64-w)>>(64-w))
		} else {
			text += fmt.Sprintf("\nshr.sW Q, T0, %d;", k)
		}
	case signed:
		m, shift := multiplier(d, w, 0, w-1)
		text = fmt.Sprintf("mul.hi.sW T0, N, %d;", int64(m)<<(64-w)>>(64-w))
		if m>>(w-1) != 0 { // the number is 2^w more than it is as one with a sign
			text += "\nadd.sW T0, T0, N;"
		}
		text += fmt.Sprintf(`
			shr.sW T0, T0, %d;
			shr.uW T1, N, %d;
			add.sW Q, T0, T1;`, shift, w-1)
	default:
		if m, shift := multiplier(d, w, 0, w); m != 0 {
			text = fmt.Sprintf("mul.hi.uW T0, N, %d;\nshr.uW Q, T0, %d;", m, shift)
		} else if m, shift := multiplier(d>>k, w, k, w-k); m != 0 {
			text = fmt.Sprintf("shr.uW T0, N, %d;\nmul.hi.uW T0, T0, %d;\nshr.uW Q, T0, %d;", k, m,
				shift)
		} else { // it has w+1 bits, of which the first is left out here
			shift = mathbits.Len64(d)
			hi, lo := uint64(1)<<shift-d, uint64(0) // 2^w * (2^shift - d)
			if w == 32 {
				hi, lo = 0, hi<<32
			}
			m, _ = mathbits.Div64(hi, lo, d)
			text = fmt.Sprintf(`
				mul.hi.uW T0, N, %d;
				sub.uW T1, N, T0;
				shr.uW T1, T1, 1;
				add.uW T0, T1, T0;
				shr.uW Q, T0, %d;`, m+1, shift-1)
		}
	}
	t := fmt.Sprintf("%s%d_", divideMark, w)
	quotient := to
	switch {
	case rem && d&(d-1) != 0: // the sign of the divisor is nothing to it
		quotient = t + "2"
		text += fmt.Sprintf("\nmul.lo.sW Q, Q, %d;\nsub.sW TO, N, Q;", int64(d)<<(64-w)>>(64-w))
	case minus && !rem:
		quotient = t + "2"
		text += "\nneg.sW TO, Q;"
	}
	return pass.Fill(text, "W", fmt.Sprint(w), "N", n, "Q", quotient, "TO", to, "T0", t+"0",
		"T1", t+"1")
}

// multiplier is that of a divisor for dividends of so many bits, behind a shift by pre, and the
// shift behind it; 0: none of w bits is exact.
func multiplier(d uint64, w, pre, n int) (m uint64, shift int) {
	for s := 0; s < mathbits.Len64(d); s++ {
		hi, lo := uint64(1)<<s, uint64(0)
		if w == 32 {
			hi, lo = 0, 1<<(32+s)
		}
		q, r := mathbits.Div64(hi, lo, d)
		if m = q + 1; m == 0 || w == 32 && m>>32 != 0 {
			return 0, 0
		}
		if e := d - r; s+w-n >= 64 || e <= 1<<(s+w-n) {
			return m, s
		}
	}
	return 0, 0
}
