package refuse

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// Integer operations without a result: a quotient by 0, a shift by the width or more, a field of
// bits that does not lie in its register. The GPU gives each a number (all ones; nothing is left, or
// the sign). cicc, once it knows the operand, treats the result as one that nobody uses, and deletes
// what is computed from it, stores too (12.4, 13.0).
//
// What fixed values lead to is followed: in straight lines (x / n, x % (n - 4), x << m + n), and
// along the paths that they open (walk.go).

// Fixed says which integers a recipe fixes, and to what: a parameter by its index and the byte in it
// ("2+0"), a size as "ntid.x" (blockDim.x) or "nctaid.y" (gridDim.y).
type Fixed map[string]int64

// Misfolded returns an error where a kernel, or a function that it calls, has an instruction of
// which ptxas up to 13.3 computes another number than the GPU once it knows the operands: bfe.s32
// from bit 32 on, bfi.b32 by a length beyond 32, slct.s32.s32 by the smallest integer. A recipe that
// changes which loops are unrolled changes where the operands are known.
func Misfolded(m *ptx.Module, entry string) error {
	reach, err := m.Reach(entry)
	if err != nil {
		return err
	}
	for _, f := range reach.Funcs {
		c := computation{f: f}
		for i, st := range f.Stmts {
			if st.Kind != ptx.Inst {
				continue
			}
			switch string(f.Opcode(i)) {
			case "bfe.s32", "bfi.b32", "slct.s32.s32":
				if c.mayFail(i, c.operands(i)) {
					return fmt.Errorf("ptxas up to 13.3 computes another number than the GPU for %s where it "+
						"knows the operands", c.text(i))
				}
			}
		}
	}
	return nil
}

// Undefined returns an error where fixed values make an integer operation of the kernel one that has
// no result.
func Undefined(m *ptx.Module, entry string, fixed Fixed) error {
	if len(fixed) == 0 {
		return nil
	}
	c, err := computationOf(m, entry, fixed)
	if err != nil {
		return err
	}
	var list []int
	for i, st := range c.f.Stmts {
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
		err := c.fails(i, c.operands(i), func(o string) (int64, bool) { return c.value(i, o) })
		if err != nil {
			return err
		}
	}
	return nil
}

// Integers returns a function that gives the number which an operand of a statement always is, as
// far as fixed values alone lead to it.
func Integers(m *ptx.Module, entry string, fixed Fixed) (
	func(i int, operand string) (int64, bool), error) {
	c, err := computationOf(m, entry, fixed)
	return c.value, err
}

func computationOf(m *ptx.Module, entry string, fixed Fixed) (c computation, err error) {
	c = computation{f: m.Entry(entry), fixed: fixed, made: map[int]result{}}
	if c.f == nil {
		return c, fmt.Errorf("there is no kernel %s", entry)
	}
	if c.reach, err = dataflow.ReachingOf(c.f); err != nil {
		return c, fmt.Errorf("follow the integers of %s: %w", entry, err)
	}
	return c, nil
}

// mayFail reports an operation that has no result for some values of its last operands, of which one
// is a register.
func (c computation) mayFail(i int, ops []string) bool {
	width, _ := dataflow.IntegerType(c.f.Opcode(i))
	if n := len(ops); width != 0 && n > 2 {
		switch string(c.f.Base(i)) {
		case "div", "rem", "shl", "shr":
			return !literal(ops[n-1])
		case "bfe", "bfi":
			return !literal(ops[n-1]) || !literal(ops[n-2])
		case "slct":
			return string(c.f.Opcode(i)) == "slct.s32.s32" && !literal(ops[n-1])
		}
	}
	return false
}

// fails returns an error where the known operands leave such an operation no result.
func (c computation) fails(i int, ops []string, value func(string) (int64, bool)) error {
	by, certain := value(ops[len(ops)-1])
	if !certain {
		return nil
	}
	width, signed := dataflow.IntegerType(c.f.Opcode(i))
	switch string(c.f.Base(i)) {
	case "shl", "shr":
		if uint32(by) >= uint32(width) {
			return fmt.Errorf("%s would shift by %d, of which the GPU gives a number and the compiler none",
				c.text(i), uint32(by))
		}
		return nil
	case "bfe", "bfi":
		at, certain := value(ops[len(ops)-2])
		if end := int(uint8(at)) + int(uint8(by)); certain && end > width {
			return fmt.Errorf("%s would have a field of bits that ends at %d, which the GPU cuts off "+
				"and the compiler does not", c.text(i), end)
		}
		return nil
	case "slct":
		if int32(by) == math.MinInt32 {
			return fmt.Errorf("%s would choose by %d, of which the compiler does not see the sign",
				c.text(i), by)
		}
		return nil
	}
	if dataflow.Cut(by, width) == 0 {
		return fmt.Errorf("%s would divide by 0, of which the GPU gives a number and the compiler none",
			c.text(i))
	}
	least := int64(math.MinInt64) >> (64 - width)
	if of, both := value(ops[1]); signed && both && dataflow.Cut(by, width) == -1 &&
		dataflow.Cut(of, width) == least {
		return fmt.Errorf("%s would have no result that fits", c.text(i))
	}
	return nil
}

// A computation is what fixed values lead to in one function.
type computation struct {
	f     *ptx.Func
	reach *dataflow.Reaching
	fixed Fixed
	made  map[int]result // by statement: what it always writes, as far as that was asked for
}

// A result is a number that is known, or none.
type result struct {
	v       int64
	certain bool
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
func (c computation) value(i int, operand string) (v int64, certain bool) {
	if operand == "" {
		return 0, false
	}
	if literal(operand) {
		return dataflow.Literal(operand)
	}
	if !c.reach.Written(operand) {
		name, axis, _ := strings.Cut(operand[1:], ".")
		v, certain = c.fixed[name+"."+axis]
		return v, certain
	}
	defs := c.reach.Of(i, operand)
	if len(defs) != 1 || c.f.Stmts[defs[0]].Guarded {
		return 0, false
	}
	at := defs[0]
	ops := c.operands(at)
	if len(ops) == 0 || ops[0] != operand { // one of several that it writes
		return 0, false
	}
	if n, asked := c.made[at]; asked {
		return n.v, n.certain
	}
	c.made[at] = result{} // where it is computed of itself
	v, certain = c.compute(at, ops, func(o string) (int64, bool) { return c.value(at, o) })
	c.made[at] = result{v, certain}
	return v, certain
}

// compute is what statement i gives.
func (c computation) compute(i int, ops []string,
	value func(operand string) (int64, bool)) (v int64, certain bool) {
	op := c.f.Opcode(i)
	if len(ops) < 2 || len(ops) > 4 {
		return 0, false
	}
	if string(c.f.Base(i)) == "ld" && ptx.Space(op) == "param" && !strings.HasPrefix(ops[0], "{") {
		return c.parameter(strings.Trim(ops[1], "[] "), op)
	}
	if string(c.f.Base(i)) == "selp" && len(ops) == 4 { // the other side need not be known
		p, certain := value(ops[3])
		if !certain {
			return 0, false
		}
		return value(ops[2-int(p&1)])
	}
	var in []int64
	for _, o := range ops[1:] {
		if v, certain = value(o); !certain {
			return 0, false
		}
		in = append(in, v)
	}
	return dataflow.Compute(op, in...)
}

// parameter is what a load finds at a place of the parameters.
func (c computation) parameter(place string, op []byte) (int64, bool) {
	name, offset, _ := strings.Cut(place, "+")
	for k := range c.f.Params {
		if c.f.Params[k].Name == name {
			v, certain := c.fixed[fmt.Sprintf("%d+%s", k, cmp.Or(offset, "0"))]
			typ := string(op)[strings.LastIndexByte(string(op), '.')+1:]
			cut, ok := dataflow.Compute([]byte("cvt."+typ+"."+typ), v)
			return cut, certain && ok
		}
	}
	return 0, false
}

// literal reports a number in the code.
func literal(operand string) bool {
	return operand != "" && (operand[0] >= '0' && operand[0] <= '9' || operand[0] == '-')
}
