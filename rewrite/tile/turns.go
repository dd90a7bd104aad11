package tile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// How many turns a loop has left: shown by its own test, a comparison of an integer that grows by a
// constant with one that stays.

// A tileTest is the test of a loop: it goes round as long as the value of a turn is below the bound
// (above it, where the step is negative).
type tileTest struct {
	value, bound affine // value: at the end of the first turn
	step         int64
	orEqual      bool
	width        int // bits
	signed       bool
	checks       []widening

	reg, limit string
	turns      int
}

// turned are comparisons with their sides exchanged, opposite their contraries.
var (
	turned   = map[string]string{"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "ne": "ne", "eq": "eq"}
	opposite = map[string]string{"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "ne": "eq", "eq": "ne"}
	unsigned = map[string]string{"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
)

// turnTest reads a loop's test, for tiles of so many turns.
func (n *tileLoop) turnTest(turns int) (tileTest, error) {
	why := errors.New("how often it goes round is not shown by a counter and a bound")
	t, latch := n.t, n.t.Inst(n.latch)
	set := slices.DeleteFunc(slices.Clone(t.Defs(latch.Guard)), func(d int) bool { return !n.in[t.Block(d)] })
	if len(set) != 1 || !n.always(set[0]) {
		return tileTest{}, why
	}
	x := t.Inst(set[0])
	if x.Op != "setp" || len(x.Words) != 2 || len(x.Args) != 3 || x.Args[0].Reg != latch.Guard {
		return tileTest{}, why
	}
	how, kind := x.Words[0], x.Words[1]
	if to, ok := unsigned[how]; ok {
		how = to
	}
	out := tileTest{width: pass.BitsOf(kind), signed: kind[0] != 'u', turns: turns}
	if kind[0] == 'f' || out.width != 32 && out.width != 64 || opposite[how] == "" {
		return tileTest{}, why
	}
	if latch.Unless {
		how = opposite[how]
	}
	n.list, n.effort = nil, 4000
	a, err := n.operand(x.Args[1], set[0])
	if err != nil {
		return tileTest{}, why
	}
	b, err := n.operand(x.Args[2], set[0])
	if err != nil {
		return tileTest{}, why
	}
	if !uniform(b) {
		a, b, how = b, a, turned[how]
	}
	step, ok := a.Slope(turnsName)
	by, is := step.Constant()
	if out.width == 32 {
		by = int64(int32(by))
	}
	out.value, out.bound, out.step, out.checks = a.Without(turnsName), b, by, slices.Clone(n.list)
	const most = 1 << 20 // times the turns of a tile less than 2^31
	if !ok || !is || !uniform(out.value) || !uniform(b) || by == 0 || by > most || by < -most {
		return tileTest{}, why
	}
	switch {
	case how == "ne", by > 0 && how == "lt", by < 0 && how == "gt":
	case by > 0 && how == "le", by < 0 && how == "ge":
		out.orEqual = true
	default:
		return tileTest{}, why
	}
	return out, nil
}

// setup writes counter and bound.
func (c *tileTest) setup(x *tileText) {
	c.reg, c.limit = x.value(c.value), x.value(c.bound)
	if c.width == 32 {
		for _, r := range []*string{&c.reg, &c.limit} {
			n := x.r32()
			x.line("cvt.u32.u64 %s, %s;", n, *r)
			*r = n
		}
	}
	x.grows(c.reg, c.width == 64, constant(c.step))
}

// enough writes a predicate that is true where the loop makes all turns of a tile: after each of
// them but the last the test must hold. The counter is on the right side of the bound, and farther
// from it than it moves in that time.
func (c *tileTest) enough(x *tileText) string {
	kind, how, than := "u", "lt", "gt"
	if c.signed {
		kind = "s"
	}
	low, high, far := c.reg, c.limit, c.step
	if c.step < 0 {
		low, high, far = high, low, -far
	}
	if c.orEqual {
		how, than = "le", "ge"
	}
	side, distance := x.p(), x.r32()
	if c.width == 64 {
		distance = x.r64()
	}
	x.line("setp.%s.%s%d %s, %s, %s;", how, kind, c.width, side, low, high)
	x.line("sub.s%d %s, %s, %s;", c.width, distance, high, low)
	if c.turns > 2 {
		enough := x.p()
		x.line("setp.%s.u%d %s, %s, %d;", than, c.width, enough, distance, int64(c.turns-2)*far)
		x.line("and.pred %s, %s, %s;", side, side, enough)
	}
	return side
}

// followed says why a kernel can't be tiled because of one of its instructions, nil if there is
// none: barriers for a part of a block, and what is not known here.
func followed(f *ir.Func) error {
	for i, s := range f.Stmts {
		x := f.Inst(i)
		switch x.Op {
		case "":
		case "bar", "barrier":
			plain := x.Is("bar.sync") || x.Is("bar.cta.sync") || x.Op == "barrier" && x.Has("sync") &&
				!x.Has("cluster")
			if !plain || len(x.Args) != 1 || x.Args[0].Text != "0" || s.Guarded {
				return errors.New("it has barriers for a part of a block")
			}
		case "ld", "st", "ldu", "red", "atom", "bra", "brx", "ret", "exit", "trap", "prefetch",
			"prefetchu", "shfl", "vote", "redux", "tex", "tld4", "membar", "fence", "nanosleep":
			op := string(f.Opcode(i))
			if strings.Contains(op, "::func") || strings.Contains(op, "bulk") || strings.Contains(op, "async") {
				return fmt.Errorf("it has an instruction that is not followed (%s)", op)
			}
		default:
			if !ir.Computes(x.Op) {
				return fmt.Errorf("it has an instruction that is not followed (%s)", f.Opcode(i))
			}
		}
	}
	return nil
}

// mayWait names an instruction by which a thread may wait for another one and from which a way leads
// to a loop, "" if there is none. Who waits for a lock must not find its holder at a barrier of
// ours; behind the loop no thread waits at one.
func (t *tileFlow) mayWait(head int) string {
	for i := range t.Stmts {
		op := t.Opcode(i)
		switch t.Inst(i).Op {
		case "atom":
		case "ld", "st":
			if !ptx.Strong(op) {
				continue
			}
		default:
			continue
		}
		if t.Reaches([]int{t.Block(i)}, head, nil) {
			return string(op)
		}
	}
	return ""
}
