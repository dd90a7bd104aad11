package tile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gnvcc/graph"
	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// The form of loops that are tiled, and what is computed in them: in terms of registers at the
// beginning of a turn, modulo the width of the result.
type affine = ir.Affine

// A tileLoop is one loop of a kernel: a block that its last statement leaves, or goes round.
type tileLoop struct {
	t     *tileFlow
	head  int         // block
	first int         // its label
	latch int         // statement: the branch back
	asked *divergence // where threads may leave in front of it, nil: nowhere

	spread *ir.Spread // what differs between the threads of a block
	turn   *ir.Turn
	loads  []tileLoad
	test   tileTest
	seen   map[string]affine // origin
}

// A tileLoad is a load that could be taken from a tile.
type tileLoad struct {
	stmt    int
	width   int    // bytes
	written bool   // it is no .nc load: somebody may write there, but not while the loop runs
	address affine // at the beginning of a turn
	step    affine // what a turn adds
}

// A tileTest is the test of a loop: it goes round as long as a counter is below the bound (above
// it, where the step is negative).
type tileTest struct {
	kind    string // of the comparison: s32
	counter string // a register
	plus    int64  // what is compared in the first turn: the counter, and so much
	step    int64
	bound   string
	orEqual bool
}

// A divergence is a branch on which threads may differ, of which one way alone leads to the loop: a
// thread takes the other one where the predicate is true, or where it is false.
type divergence struct {
	stmt      int
	predicate ir.Reg
	whenFalse bool
}

// newTileLoop says why a loop can't be tiled whatever its box.
func newTileLoop(t *tileFlow, l graph.Loop) (*tileLoop, error) {
	b := t.Blocks[l.Head]
	n := &tileLoop{t: t, head: l.Head, first: b.First, latch: b.Last - 1, turn: t.Turn(t.named),
		seen: map[string]affine{}}
	latch := t.Inst(n.latch)
	switch {
	case len(l.Body) > 1:
		return nil, errors.New("there are branches or loops inside")
	case t.Stmts[n.first].Kind != ptx.Label || t.Stmts[n.first].Depth != 0:
		return nil, errors.New("it begins without a label")
	case latch.Op != "bra" || latch.Guard == ir.None || t.Stmts[n.latch].Depth != 0 || b.Succs[0] != l.Head ||
		l.Head+1 >= len(t.Blocks):
		return nil, errors.New("it does not end with the test that goes round")
	}
	for i := n.first + 1; i < n.latch; i++ {
		switch s, op := t.Stmts[i], string(t.Opcode(i)); {
		case s.Kind == ptx.Label, s.Kind == ptx.Decl && (s.Depth == 0 || op != ".reg"),
			s.Kind == ptx.Direction && op != ".pragma",
			s.Kind == ptx.Inst && slices.Contains([]string{"bar", "barrier", "trap"}, t.Inst(i).Op):
			return nil, fmt.Errorf("it has %s inside", op)
		}
	}
	if err := t.hangs(l.Head); err != nil {
		return nil, err
	}
	asked := t.parts(l.Head)
	n.spread = t.Uniform(func(i int) bool {
		return slices.ContainsFunc(asked, func(p divergence) bool { return p.stmt == i })
	})
	asked = slices.DeleteFunc(asked, func(p divergence) bool { return !n.spread.Varying[p.predicate] })
	if len(asked) > 0 {
		n.asked = &asked[0]
	}
	switch {
	case n.spread.Divergent[l.Head], n.spread.Varying[latch.Guard],
		n.asked != nil && n.spread.Divergent[t.Block(n.asked.stmt)],
		n.asked != nil && t.Reaches(t.Blocks[t.Block(n.asked.stmt)].Succs, t.Block(n.asked.stmt), nil): // asked once
		return nil, errors.New("not all threads of a block come to it together, and go round equally often")
	case len(asked) > 1:
		return nil, fmt.Errorf("threads may part at %d places in front of it", len(asked))
	}
	return n, n.follow()
}

// follow goes through a turn once, and notes the loads and the test.
func (n *tileLoop) follow() error {
	t, latch := n.t, n.t.Inst(n.latch)
	var sides [2]affine
	var set *ir.Inst // the one that sets the latch's predicate
	still := n.still()
	for i := n.first; i < n.latch; i++ {
		x, exact := t.Inst(i), !t.Stmts[i].Guarded
		width, readOnly := tileable(x)
		if width > 0 && (readOnly || still) && exact && x.Args[1].Reg != ir.None && t.Bits(x.Args[1].Reg) == 64 {
			if p, ok := n.turn.Operand(x, 1); ok {
				n.loads = append(n.loads, tileLoad{stmt: i, width: width, written: !readOnly, address: p.Plus(number(x.Args[1].Offset), 1)})
			}
		}
		if t.Writes(i, latch.Guard) {
			if set != nil {
				return errNoCounter
			}
			a, known := n.turn.Operand(x, 1)
			b, too := n.turn.Operand(x, 2)
			if x.Op != "setp" || len(x.Words) != 2 || len(x.Args) != 3 || !exact || !known || !too {
				return errNoCounter
			}
			set, sides = x, [2]affine{a, b}
		}
		p, ok := x.Arithmetic(func(k int) (affine, bool) { return n.turn.Operand(x, k) },
			func(p affine, signed bool) affine { // from 32 bits to 64: of constants alone
				v, is := p.Constant()
				if exact = exact && is; signed {
					return number(int64(int32(v)))
				}
				return number(int64(uint32(v)))
			})
		if !ok || !exact || len(p) > limitTerms {
			p = nil
		}
		n.turn.Write(i, p)
	}
	if set == nil || latch.Unless || !n.counts(set, sides[0], sides[1]) {
		return errNoCounter
	}
	n.loads = slices.DeleteFunc(n.loads, func(l tileLoad) bool { _, ok := n.turn.Step(l.address); return !ok })
	for i := range n.loads {
		n.loads[i].step, _ = n.turn.Step(n.loads[i].address)
	}
	if len(n.loads) == 0 {
		return errors.New("no load of what stays unwritten has a 64-bit address that moves by the same in every turn")
	}
	return nil
}

var errNoCounter = errors.New("how often it goes round is not shown by a counter and a bound")

// limitTerms bounds what is worked out: addresses have some six terms.
const limitTerms = 24

func number[T ~int | ~int64](v T) affine { return ir.Number(int64(v)) }

// counts reads the test of a loop: a comparison of an integer that grows by a constant with one that
// stays.
func (n *tileLoop) counts(x *ir.Inst, a, b affine) bool {
	const most = 1 << 20 // times the turns of a tile less than 2^31
	how, kind := x.Words[0], x.Words[1]
	bits := pass.BitsOf(kind)
	step, known := n.turn.Step(a)
	by, constant := step.Constant()
	still, too := n.turn.Step(b)
	plus := a[""]
	if bits == 32 {
		by, plus = int64(int32(by)), int64(int32(plus))
	}
	if bits < 32 || bits > 64 || kind[0] == 'f' || !known || !constant || !too || len(still) > 0 || by == 0 ||
		by > most || by < -most {
		return false
	}
	same := func(p affine) (name string, ok bool) { // a register that is the same for all threads
		for key, c := range p {
			r, is := n.t.named[key]
			name, ok = key, is && len(p) == 1 && c == 1 && n.t.Bits(r) == bits && !n.spread.Varying[r]
		}
		return name, ok
	}
	counter, known := same(a.Plus(number(plus), -1))
	bound, too := same(b)
	if v, constant := b.Constant(); constant {
		bound, too = fmt.Sprint(v), true
	}
	n.test = tileTest{kind: map[bool]string{true: "u", false: "s"}[kind[0] == 'u'] + fmt.Sprint(bits),
		counter: counter, plus: plus, step: by, bound: bound, orEqual: how == "le" || how == "ge"}
	onward := by > 0 && (how == "lt" || how == "le") || by < 0 && (how == "gt" || how == "ge")
	return known && too && (how == "ne" || onward)
}

// still reports whether loads in the loop that are not .nc read the same at any time while it runs:
// no statement in it or on a way to it writes to memory that others see, and nothing in it orders or
// waits for others' writes. A thread of another block that writes there meanwhile races with the
// loads, which then may read either.
func (n *tileLoop) still() bool {
	t := n.t
	for b := range t.Blocks {
		reaches := b == n.head || t.Reaches(t.Blocks[b].Succs, n.head, nil)
		for i := t.Blocks[b].First; i < t.Blocks[b].Last && reaches; i++ {
			x := t.Inst(i)
			switch x.Op {
			case "st", "atom", "red":
				if !x.Has("shared", "local", "param") {
					return false
				}
			case "cp", "sust", "sured", "multimem", "wmma", "tensormap", "call", "discard":
				return false
			case "membar", "fence", "griddepcontrol", "mbarrier", "elect":
				if b == n.head {
					return false
				}
			case "ld":
				if b == n.head && x.Has("volatile", "relaxed", "acquire") {
					return false
				}
			}
		}
	}
	return true
}

// tileable returns the width in bytes of a plain load from global memory, 0 for others, and whether it
// is .nc.
func tileable(x *ir.Inst) (width int, readOnly bool) {
	if x.Op != "ld" || len(x.Words) < 2 || x.Words[0] != "global" || len(x.Args) != 2 || !x.Args[1].Address {
		return 0, false
	}
	many := 1
	for _, w := range x.Words[1 : len(x.Words)-1] {
		switch kind := ptx.KindOf(w); {
		case kind == ptx.ReadOnlyWord:
			readOnly = true
		case w == "v2":
			many = 2
		case w == "v4":
			many = 4
		case kind == ptx.OperatorWord && w != "lu", kind == ptx.PriorityWord,
			kind == ptx.PrefetchWord, kind == ptx.WeakWord:
		default:
			return 0, false
		}
	}
	if width = pass.BitsOf(x.Type()) / 8 * many; width > 16 {
		return 0, false
	}
	return width, readOnly
}

// guess writes a value at the loop's entry in terms of the thread's place and of registers, as far
// as the way in which it is computed can be followed. It may be wrong, where 32-bit arithmetic wraps
// or a register changes: what is built on it is compared at run time.
func (n *tileLoop) guess(p affine) (out affine) {
	for key, c := range p {
		term := number(c)
		if key != "" {
			for leaf := range strings.SplitSeq(key, "*") {
				term = term.Times(n.origin(leaf))
			}
		}
		out = out.Plus(term, 1)
	}
	return out
}

func (n *tileLoop) origin(leaf string) affine {
	if p, known := n.seen[leaf]; known {
		return p
	}
	n.seen[leaf] = affine{leaf: 1} // where it is computed from itself
	r, is := n.t.named[leaf]
	if d := n.outside(r); is && d >= 0 {
		x := n.t.Inst(d)
		p, ok := x.Arithmetic(func(k int) (affine, bool) {
			switch {
			case k >= len(x.Args):
				return nil, false
			case x.Args[k].Reg != ir.None:
				return n.origin(n.t.Name(x.Args[k].Reg)), true
			}
			text := x.Args[k].Text
			special, axis, _ := strings.Cut(text, ".")
			at := strings.Index("xyz", axis)
			switch v, ok := ir.Literal(text); {
			case ok:
				return number(v), true
			case axis == "" || at < 0 || special == "%tid" && n.t.block[at] == 1:
				return nil, axis != ""
			case special == "%ntid":
				return number(n.t.block[at]), true
			}
			return affine{text: 1}, special == "%tid" || special == "%ctaid" || special == "%nctaid"
		}, func(p affine, _ bool) affine { return p })
		if ok && len(p) <= limitTerms {
			n.seen[leaf] = p
		}
	}
	return n.seen[leaf]
}

// outside returns the one statement outside the loop that gives a register its value, in front of
// it; -1 where there are several or none.
func (n *tileLoop) outside(r ir.Reg) int {
	defs := slices.DeleteFunc(slices.Clone(n.t.Defs(r)), func(d int) bool { return n.t.Block(d) == n.head })
	if len(defs) != 1 || n.t.Stmts[defs[0]].Guarded || !n.t.Dominates(n.t.Block(defs[0]), n.head) {
		return -1
	}
	return defs[0]
}

// parts lists the branches of which one way alone comes to a block.
func (t *tileFlow) parts(head int) (out []divergence) {
	for b := t.Dominator(head); b >= 0; b = t.Dominator(b) {
		last := t.Blocks[b].Last - 1
		x, to := t.Inst(last), t.Blocks[b].Succs
		if x.Guard == ir.None {
			continue
		}
		p := divergence{last, x.Guard, x.Unless}
		home := func(x int) bool { return x == b }
		switch {
		case x.Op == "ret" || x.Op == "exit":
		case x.Op == "bra" && len(to) == 2:
			jumps, falls := t.Reaches(to[:1], head, home), t.Reaches(to[1:], head, home)
			away := to[:1]
			if jumps { // the others fall through
				p.whenFalse, away = !x.Unless, to[1:]
			}
			if jumps == falls || t.Reaches(away, b, nil) {
				continue // a loop's own test: who goes round comes back
			}
		default:
			continue
		}
		out = append(out, p)
	}
	return out
}

// hangs says why a barrier in a loop might wait for ever, nil if it can't: other barriers for a part
// of a block, what is not known here, and instructions by which a thread may wait for another one
// and from which a way leads to the loop. Who waits for a lock must not find its holder at a barrier
// of ours; behind the loop no thread waits at one.
func (t *tileFlow) hangs(head int) error {
	for i, s := range t.Stmts {
		x, op := t.Inst(i), string(t.Opcode(i))
		switch x.Op {
		case "":
		case "bar", "barrier":
			if !x.Has("sync") || x.Has("cluster", "warp") || len(x.Args) != 1 || x.Args[0].Text != "0" || s.Guarded {
				return errors.New("the kernel has barriers for a part of a block")
			}
		case "ld", "st", "atom":
			if (x.Op == "atom" || ptx.Strong(t.Opcode(i))) && t.Reaches([]int{t.Block(i)}, head, nil) {
				return fmt.Errorf("a thread may wait for another one in front of it (%s)", op)
			}
		case "ldu", "red", "bra", "brx", "ret", "exit", "trap", "prefetch", "prefetchu", "shfl", "vote", "redux",
			"tex", "tld4", "membar", "fence", "nanosleep":
		default:
			if !ir.Computes(x.Op) {
				return fmt.Errorf("the kernel has an instruction that is not followed (%s)", op)
			}
		}
		if strings.Contains(op, "::func") || strings.Contains(op, "bulk") || strings.Contains(op, "async") {
			return fmt.Errorf("the kernel has an instruction that is not followed (%s)", op)
		}
	}
	return nil
}
