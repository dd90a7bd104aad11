package tile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
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
	f := n.t.f
	guard, negated := f.Guard(n.latch)
	var set []int
	for _, d := range n.t.defs[string(guard)] {
		if n.in[n.t.of[d]] {
			set = append(set, d)
		}
	}
	if len(set) != 1 || !n.always(set[0]) {
		return tileTest{}, why
	}
	words := strings.Split(string(f.Opcode(set[0])), ".")
	ops := f.Operands(set[0], nil)
	if words[0] != "setp" || len(words) != 3 || len(ops) != 3 || string(f.Bytes(ops[0])) !=
		string(guard) {
		return tileTest{}, why
	}
	how, kind := words[1], words[2]
	if to, ok := unsigned[how]; ok {
		how = to
	}
	out := tileTest{width: pass.BitsOf(kind), signed: kind[0] != 'u', turns: turns}
	if kind[0] == 'f' || out.width != 32 && out.width != 64 || opposite[how] == "" {
		return tileTest{}, why
	}
	if negated {
		how = opposite[how]
	}
	n.list, n.effort = nil, 4000
	a, err := n.operand(string(f.Bytes(ops[1])), set[0])
	if err != nil {
		return tileTest{}, why
	}
	b, err := n.operand(string(f.Bytes(ops[2])), set[0])
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
// none: barriers for a part of a block, and what nobody here knows.
func followed(f *ptx.Func) error {
	for i, s := range f.Stmts {
		if s.Kind != ptx.Inst {
			continue
		}
		switch op, base := string(f.Opcode(i)), string(f.Base(i)); base {
		case "bar", "barrier":
			plain := slices.Contains([]string{"bar.sync", "bar.cta.sync", "barrier.sync",
				"barrier.cta.sync", "barrier.sync.aligned", "barrier.cta.sync.aligned"}, op)
			ops := f.Operands(i, nil)
			if !plain || len(ops) != 1 || string(f.Bytes(ops[0])) != "0" || s.Guarded {
				return errors.New("it has barriers for a part of a block")
			}
		case "ld", "st", "ldu", "red", "atom", "bra", "brx", "ret", "exit", "trap", "prefetch",
			"prefetchu", "shfl", "vote", "redux", "tex", "tld4", "membar", "fence", "nanosleep":
			if strings.Contains(op, "::func") || strings.Contains(op, "bulk") || strings.Contains(op, "async") {
				return fmt.Errorf("it has an instruction that is not followed (%s)", op)
			}
		default:
			if !dataflow.Computes(base) {
				return fmt.Errorf("it has an instruction that is not followed (%s)", op)
			}
		}
	}
	return nil
}

// tells names an instruction by which a thread may wait for another one and from which a way leads
// to a loop, "" if there is none. Who waits for a lock must not find its holder at a barrier of
// ours; behind the loop no thread waits at one.
func (t *tileFlow) tells(head int) string {
	f := t.f
	for i, s := range f.Stmts {
		if s.Kind != ptx.Inst {
			continue
		}
		op, base := f.Opcode(i), string(f.Base(i))
		strong := base == "atom"
		if base == "ld" || base == "st" {
			strong = ptx.Strong(op)
		}
		if strong && t.reaches([]int{t.of[i]}, head, func(int) bool { return false }) {
			return string(op)
		}
	}
	return ""
}
