package fold

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// Integers that no source may compute: a quotient by 0, a shift by the width or more. The GPU gives
// each a number (all ones; nothing is left, or the sign), and cicc, once it knows the operand,
// takes the result for one that nobody uses: what is computed of it goes, stores too (12.4, 13.0).
// A kernel that was launched so has bits of its own, which a variant has to keep.
//
// Looked at is what fixed values alone lead to: in straight lines, x / n, x % (n - 4), x << m + n,
// and on the ways that they open (undefinedwalk.go).

// Undefined is an error where a value that is fixed makes an integer operation of the kernel one
// that has no result.
func Undefined(m *ptx.Module, entry string, fixed Fixed) error {
	if len(fixed.Integers) == 0 {
		return nil
	}
	e := m.Entry(entry)
	if e == nil {
		return fmt.Errorf("there is no kernel %s", entry)
	}
	reach, err := dataflow.ReachingOf(e)
	if err != nil {
		return fmt.Errorf("it can't be told what its divisors are: %w", err)
	}
	c := computation{f: e, reach: reach, fixed: fixed}
	var list []int
	for i, st := range e.Stmts {
		if st.Kind == ptx.Inst && c.mayFail(i, c.operands(i)) {
			list = append(list, i)
		}
	}
	if len(list) == 0 {
		return nil
	}
	ended, err := c.walks(func(i int, value func(string) (int64, bool)) error {
		if _, is := slices.BinarySearch(list, i); !is {
			return nil
		}
		return c.fails(i, c.operands(i), value)
	})
	if ended {
		return err
	}
	for _, i := range list {
		err := c.fails(i, c.operands(i), func(o string) (int64, bool) { return c.value(i, o, deepest) })
		if err != nil {
			return err
		}
	}
	return nil
}

// mayFail tells of an operation that has no result for some second operand, which is a register.
func (c computation) mayFail(i int, ops []string) bool {
	switch string(c.f.Base(i)) {
	case "div", "rem", "shl", "shr":
		return len(ops) == 3 && !literal(ops[2]) && widthOf(c.f.Opcode(i)) != 0
	}
	return false
}

// fails is an error where what is known of its operands leaves such an operation no result.
func (c computation) fails(i int, ops []string, value func(string) (int64, bool)) error {
	by, told := value(ops[2])
	if !told {
		return nil
	}
	op := c.f.Opcode(i)
	width := widthOf(op)
	if base := string(c.f.Base(i)); base == "shl" || base == "shr" {
		if uint32(by) >= uint32(width) {
			return fmt.Errorf("%s would shift by %d, which the GPU does and the compiler does not",
				c.text(i), uint32(by))
		}
		return nil
	}
	if cut(by, width) == 0 {
		return fmt.Errorf("%s would divide by 0, which the GPU does and the compiler does not",
			c.text(i))
	}
	least := int64(math.MinInt64) >> (64 - width)
	if of, both := value(ops[1]); both && cut(by, width) == -1 && cut(of, width) == least &&
		signedOp(op) {
		return fmt.Errorf("%s would have no result that fits", c.text(i))
	}
	return nil
}

// deepest bounds how far a value is followed.
const deepest = 32

// A computation is what fixed values lead to in one function.
type computation struct {
	f     *ptx.Func
	reach *dataflow.Reaching
	fixed Fixed
}

func (c computation) operands(i int) (out []string) {
	for _, o := range c.f.Operands(i, nil) {
		out = append(out, strings.TrimSpace(string(c.f.Bytes(o))))
	}
	return out
}

func (c computation) text(i int) string {
	st := c.f.Stmts[i]
	return strings.Trim(strings.Join(strings.Fields(string(c.f.Bytes(ptx.Span{Start: st.Start,
		End: st.End}))), " "), "; ")
}

// value is that of an integer operand of statement i, where it is known.
func (c computation) value(i int, operand string, left int) (v int64, told bool) {
	if left == 0 || operand == "" {
		return 0, false
	}
	if literal(operand) {
		n, err := strconv.ParseInt(operand, 0, 64)
		return n, err == nil
	}
	if !c.reach.Written(operand) {
		name, axis, _ := strings.Cut(operand[1:], ".")
		v, told = c.fixed.Integers[name+"."+axis]
		return v, told
	}
	defs := c.reach.Of(i, operand)
	if len(defs) != 1 || c.f.Stmts[defs[0]].Guarded {
		return 0, false
	}
	return c.compute(defs[0], c.operands(defs[0]), func(o string) (int64, bool) {
		return c.value(defs[0], o, left-1)
	})
}

// compute is what statement i gives.
func (c computation) compute(i int, ops []string,
	value func(operand string) (int64, bool)) (v int64, told bool) {
	op, width := c.f.Opcode(i), widthOf(c.f.Opcode(i))
	if len(ops) < 2 || width == 0 {
		return 0, false
	}
	base := string(c.f.Base(i))
	if base == "ld" && ptx.Space(op) == "param" && !strings.HasPrefix(ops[0], "{") {
		return c.parameter(strings.Trim(ops[1], "[] "), width, signedOp(op))
	}
	var in [3]int64
	for k, o := range ops[1:] {
		if k >= len(in) {
			return 0, false
		}
		if in[k], told = value(o); !told {
			return 0, false
		}
	}
	switch base {
	case "mov":
		v = in[0]
	case "cvt":
		words := strings.Split(string(op), ".")
		from := words[len(words)-1]
		v = extend(in[0], widthOf([]byte("."+from)), from[0] == 's')
		width = widthOf([]byte("." + words[len(words)-2]))
	case "add":
		v = in[0] + in[1]
	case "sub":
		v = in[0] - in[1]
	case "mul":
		if !ptx.HasModifier(op, "lo") {
			return 0, false
		}
		v = in[0] * in[1]
	case "mad":
		if !ptx.HasModifier(op, "lo") {
			return 0, false
		}
		v = in[0]*in[1] + in[2]
	case "div", "rem":
		a, b := extend(in[0], width, signedOp(op)), extend(in[1], width, signedOp(op))
		switch {
		case b == 0:
			return 0, false
		case base == "div" && signedOp(op):
			v = a / b
		case base == "div":
			v = int64(uint64(a) / uint64(b))
		case signedOp(op):
			v = a % b
		default:
			v = int64(uint64(a) % uint64(b))
		}
	case "neg":
		v = -in[0]
	case "not":
		v = ^in[0]
	case "and":
		v = in[0] & in[1]
	case "or":
		v = in[0] | in[1]
	case "xor":
		v = in[0] ^ in[1]
	case "shl":
		v = in[0] << uint32(in[1])
	case "shr":
		v = extend(in[0], width, signedOp(op)) >> min(uint32(in[1]), 63)
	default:
		return 0, false
	}
	return cut(v, width), true
}

// parameter is what a load finds at a place of the parameters.
func (c computation) parameter(place string, width int, signed bool) (int64, bool) {
	name, offset, _ := strings.Cut(place, "+")
	for k := range c.f.Params {
		if c.f.Params[k].Name != name {
			continue
		}
		if offset == "" {
			offset = "0"
		}
		v, told := c.fixed.Integers[fmt.Sprintf("%d+%s", k, offset)]
		return extend(v, width, signed), told
	}
	return 0, false
}

// cut is a number's lower bits, with the last one as a sign.
func cut(v int64, width int) int64 { return v << (64 - width) >> (64 - width) }

// extend is the same, without a sign where the type has none.
func extend(v int64, width int, signed bool) int64 {
	if width == 0 || signed {
		return cut(v, max(width, 1))
	}
	return int64(uint64(v) << (64 - width) >> (64 - width))
}

// widthOf is that of an operation on integers, by its last type; 0: it has another type.
func widthOf(op []byte) int {
	last := lastWord(op)
	if len(last) < 2 || !strings.Contains("sub", last[:1]) {
		return 0
	}
	n, err := strconv.Atoi(last[1:])
	if err != nil || n > 64 {
		return 0
	}
	return n
}

func signedOp(op []byte) bool { return strings.HasPrefix(lastWord(op), "s") }
