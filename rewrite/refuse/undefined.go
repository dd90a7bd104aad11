package refuse

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// Integer operations without a result: a quotient by 0, a shift by the width or more, a field of
// bits that does not lie in its register. The GPU gives each a number (all ones; nothing is left, or
// the sign). cicc, once it knows the operand, treats the result as one that is not used, and deletes
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
		if !f.Body {
			continue
		}
		w, err := ir.Of(f)
		if err != nil {
			return err
		}
		c := computation{Func: w}
		for i := range f.Stmts {
			switch string(f.Opcode(i)) {
			case "bfe.s32", "bfi.b32", "slct.s32.s32":
				if c.mayFail(i) {
					return fmt.Errorf("ptxas up to 13.3 folds %s to another number than the GPU computes where it "+
						"knows the operands", c.text(i))
				}
			}
		}
	}
	return nil
}

// Undefined returns an error where fixed values make an integer operation of the kernel one that has
// no result. With none fixed that is so in loops alone whose number of turns stands in the code: such
// a one may be unrolled completely.
func Undefined(m *ptx.Module, entry string, fixed Fixed) error {
	c, err := computationOf(m, entry, fixed)
	if err != nil {
		return err
	}
	var list []int
	for i := range c.Stmts {
		if c.mayFail(i) {
			list = append(list, i)
		}
	}
	if len(list) == 0 {
		return nil
	}
	ended, err := c.walks(func(i int, value values) error {
		if _, is := slices.BinarySearch(list, i); !is {
			return nil
		}
		return c.fails(i, value)
	})
	if ended {
		return err
	}
	for _, i := range list {
		if err := c.fails(i, c.value); err != nil {
			return err
		}
	}
	return nil
}

func computationOf(m *ptx.Module, entry string, fixed Fixed) (c computation, err error) {
	f := m.Entry(entry)
	if f == nil {
		return c, fmt.Errorf("there is no kernel %s", entry)
	}
	c = computation{fixed: fixed, made: map[int]result{}}
	if c.Func, err = ir.Of(f); err != nil {
		return c, fmt.Errorf("analyse the integers of %s: %w", entry, err)
	}
	return c, nil
}

// mayFail reports an operation that has no result for some values of its last operands, of which one
// is a register.
func (c computation) mayFail(i int) bool {
	x := c.Inst(i)
	width, _ := x.Integer()
	if n := len(x.Args); width != 0 && n > 2 {
		switch x.Op {
		case "div", "rem", "shl", "shr":
			return !literal(x.Args[n-1])
		case "bfe", "bfi":
			return !literal(x.Args[n-1]) || !literal(x.Args[n-2])
		case "slct":
			return x.Is("slct.s32.s32") && !literal(x.Args[n-1])
		}
	}
	return false
}

// fails returns an error where the known operands leave such an operation no result.
func (c computation) fails(i int, value values) error {
	x := c.Inst(i)
	ops := x.Args
	by, certain := value(ops[len(ops)-1])
	if !certain {
		return nil
	}
	width, signed := x.Integer()
	switch x.Op {
	case "shl", "shr":
		if uint32(by) >= uint32(width) {
			return fmt.Errorf("%s would shift by %d: defined on the GPU, undefined for the compiler",
				c.text(i), uint32(by))
		}
		return nil
	case "bfe", "bfi":
		at, certain := value(ops[len(ops)-2])
		if end := int(uint8(at)) + int(uint8(by)); certain && end > width {
			return fmt.Errorf("%s would use a bit field that ends at %d: the GPU clamps it, "+
				"the compiler does not", c.text(i), end)
		}
		return nil
	case "slct":
		if int32(by) == math.MinInt32 {
			return fmt.Errorf("%s would select by %d, whose sign the compiler ignores",
				c.text(i), by)
		}
		return nil
	}
	if ir.Cut(by, width) == 0 {
		return fmt.Errorf("%s would divide by 0: defined on the GPU, undefined for the compiler",
			c.text(i))
	}
	least := int64(math.MinInt64) >> (64 - width)
	if of, both := value(ops[1]); signed && both && ir.Cut(by, width) == -1 &&
		ir.Cut(of, width) == least {
		return fmt.Errorf("%s would have no result that fits", c.text(i))
	}
	return nil
}

// A computation is what fixed values lead to in one function.
type computation struct {
	*ir.Func
	fixed Fixed
	made  map[int]result // by statement: what it always writes, as far as that was asked for
}

// values gives the number that an operand is known to be.
type values func(ir.Operand) (int64, bool)

// A result is a number that is known, or none.
type result struct {
	v       int64
	certain bool
}

func (c computation) text(i int) string {
	st := c.Stmts[i]
	return strings.Trim(strings.Join(strings.Fields(string(c.Bytes(ptx.Span{Start: st.Start,
		End: st.End}))), " "), "; ")
}

// value is that of an integer operand, where it is always the same and known.
func (c computation) value(o ir.Operand) (v int64, certain bool) {
	switch {
	case literal(o):
		return ir.Literal(o.Text)
	case o.Reg == ir.None:
		v, certain = c.fixed[strings.TrimPrefix(o.Text, "%")]
		return v, certain
	}
	at := c.Sole(o.Reg)
	if at < 0 {
		return 0, false
	}
	if x := c.Inst(at); len(x.Args) == 0 || x.Args[0].Reg != o.Reg { // one of several that it writes
		return 0, false
	}
	if n, asked := c.made[at]; asked {
		return n.v, n.certain
	}
	c.made[at] = result{} // where it is computed of itself
	v, certain = c.compute(at, c.value)
	c.made[at] = result{v, certain}
	return v, certain
}

// compute is what statement i gives.
func (c computation) compute(i int, value values) (v int64, certain bool) {
	x := c.Inst(i)
	if len(x.Args) < 2 || len(x.Args) > 4 {
		return 0, false
	}
	if x.Op == "ld" && ptx.Space(c.Opcode(i)) == "param" && x.Args[0].Reg != ir.None {
		return c.parameter(x)
	}
	if x.Op == "selp" && len(x.Args) == 4 { // the other side need not be known
		p, certain := value(x.Args[3])
		if !certain {
			return 0, false
		}
		return value(x.Args[2-int(p&1)])
	}
	var in []int64
	for _, o := range x.Args[1:] {
		if v, certain = value(o); !certain {
			return 0, false
		}
		in = append(in, v)
	}
	return x.Compute(in...)
}

// parameter is what a load finds at a place of the parameters.
func (c computation) parameter(x *ir.Inst) (int64, bool) {
	for k := range c.Params {
		if c.Params[k].Name == x.Args[1].Text {
			v, certain := c.fixed[fmt.Sprintf("%d+%d", k, x.Args[1].Offset)]
			cut, ok := (&ir.Inst{Op: "cvt", Words: []string{x.Type(), x.Type()}}).Compute(v)
			return cut, certain && ok
		}
	}
	return 0, false
}

// literal reports a number in the code.
func literal(o ir.Operand) bool {
	return o.Reg == ir.None && o.Text != "" && (o.Text[0] >= '0' && o.Text[0] <= '9' || o.Text[0] == '-')
}
