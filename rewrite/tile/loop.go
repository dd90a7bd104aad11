package tile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gnvcc/graph"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// What is computed in a loop, in terms of values that are the same for all threads of a block
// (registers at the loop's beginning, blocks' numbers), of a thread's place in its block, and of
// the turns that the loop has made. A register of 32 bits stands for its value, sign-extended.
type affine = ir.Affine

func constant(n int64) affine { return ir.Number(n) }

// Of these leaves the value is not the same for all threads at any time.
const turnsName = "turns"

var (
	placeNames = [3]string{"%tid.x", "%tid.y", "%tid.z"}
	notUniform = append(placeNames[:], turnsName)
)

// limitTerms bounds what is worked out: addresses have some six terms.
const limitTerms = 24

// uniform reports whether all threads have the same value at the same time, in every turn.
func uniform(p affine) bool { return len(p.Without(notUniform...)) == len(p) }

// A tileLoop is one loop of a kernel in the form that tiles are for: the text of its blocks is one
// piece, it is entered at its first block, and its last statement alone leaves it or goes round.
type tileLoop struct {
	t     *tileFlow
	in    map[int]bool // blocks
	head  int          // block
	first int          // its label
	latch int          // statement: the branch back
	asked []divergence // branches in front of it on which threads may differ

	steps  map[ir.Reg]affine // what a turn adds
	busy   map[string]bool
	list   []widening // those met since the caller emptied it
	effort int        // instructions that may still be looked at
}

// A widening is a step from 32 bits to 64 at which the polynomial is the value only if it is within
// the range of the narrower type.
type widening struct {
	value  affine
	signed bool
}

func (w widening) String() string { return fmt.Sprint(w.value, w.signed) }

// limitAsked bounds the branches that are asked about at run time.
const limitAsked = 4

// newTileLoop says why a loop can't be tiled whatever its loads.
func newTileLoop(t *tileFlow, l graph.Loop) (*tileLoop, error) {
	n := &tileLoop{t: t, in: map[int]bool{}, head: l.Head, steps: map[ir.Reg]affine{},
		busy: map[string]bool{}}
	last := l.Head
	for _, b := range l.Body {
		n.in[b] = true
		last = max(last, b)
	}
	n.first, n.latch = t.Blocks[l.Head].First, t.Blocks[last].Last-1
	if t.Stmts[n.first].Kind != ptx.Label || t.Stmts[n.first].Depth != 0 {
		return nil, errors.New("it begins without a label")
	}
	x := t.Inst(n.latch)
	if x.Op != "bra" || x.Guard == ir.None || t.Stmts[n.latch].Depth != 0 ||
		last+1 >= len(t.Blocks) {
		return nil, errors.New("it does not end with the test that goes round")
	}
	for b := l.Head; b <= last; b++ {
		if !n.in[b] {
			return nil, errors.New("its blocks do not stand together")
		}
		for _, s := range t.Blocks[b].Succs {
			if !n.in[s] && b != last || s == l.Head && b != last {
				return nil, errors.New("it is left, or goes round, at several places")
			}
		}
		for i := t.Blocks[b].First; i < t.Blocks[b].Last; i++ {
			if why := t.stays(i); why != "" {
				return nil, fmt.Errorf("it has %s", why)
			}
		}
	}
	for b := range t.Blocks {
		if !n.in[b] && slices.ContainsFunc(t.Blocks[b].Succs, func(s int) bool {
			return n.in[s] && s != l.Head
		}) {
			return nil, errors.New("it is entered at several places")
		}
	}
	for _, other := range t.Loops() {
		if other.Head != l.Head && n.in[other.Head] {
			return nil, errors.New("there is a loop inside")
		}
	}
	n.asked = t.parts(l.Head)
	t.Spread = t.Uniform(func(i int) bool {
		return slices.ContainsFunc(n.asked, func(p divergence) bool { return p.stmt == i })
	})
	n.asked = slices.DeleteFunc(n.asked, func(p divergence) bool { return !t.Varying[p.predicate] })
	if len(n.asked) > limitAsked {
		return nil, fmt.Errorf("threads may part at %d places in front of it", len(n.asked))
	}
	for _, p := range n.asked {
		if t.Divergent[t.Block(p.stmt)] {
			return nil, errors.New("not all threads of a block come to it together")
		}
	}
	if t.Divergent[l.Head] || t.Varying[x.Guard] {
		return nil, errors.New("not all threads of a block come to it together, and go round equally often")
	}
	return n, nil
}

// stays says why a statement can't stand twice in the kernel, "" if it can.
func (t *tileFlow) stays(i int) string {
	switch s := t.Stmts[i]; s.Kind {
	case ptx.Decl:
		if s.Depth == 0 || string(t.Opcode(i)) != ".reg" {
			return "a declaration inside"
		}
	case ptx.Direction:
		if string(t.Opcode(i)) != ".pragma" {
			return "a table of branches"
		}
	case ptx.Inst:
		switch op := t.Inst(i).Op; op {
		case "bar", "barrier":
			return "a barrier"
		case "brx", "ret", "exit", "trap":
			return op
		}
	}
	return ""
}

// always reports whether a statement runs exactly once in every turn.
func (n *tileLoop) always(i int) bool {
	b := n.t.Block(i)
	return n.in[b] && n.t.Dominates(b, n.t.Block(n.latch)) && !n.t.Stmts[i].Guarded
}

var errNotAffine = errors.New("not affine")

// operand is what an operand of a statement holds when the statement runs.
func (n *tileLoop) operand(o ir.Operand, at int) (affine, error) {
	if o.Reg != ir.None {
		return n.register(o.Reg, at)
	}
	if v, ok := ir.Literal(o.Text); ok {
		return constant(v), nil
	}
	special, axis, _ := strings.Cut(o.Text, ".")
	if d := strings.Index("xyz", axis); d >= 0 && len(axis) == 1 {
		switch {
		case special == "%tid" && n.t.block[d] == 1:
			return affine{}, nil
		case special == "%tid", special == "%ctaid", special == "%nctaid":
			return affine{o.Text: 1}, nil
		case special == "%ntid":
			return constant(int64(n.t.block[d])), nil
		}
	}
	return nil, errNotAffine
}

// register is what a register holds where a statement reads it: of a statement in the loop, in the
// turn that it is in.
func (n *tileLoop) register(reg ir.Reg, at int) (affine, error) {
	t, name := n.t, n.t.Name(reg)
	var inside, outside []int
	for _, d := range t.Defs(reg) {
		if n.in[t.Block(d)] {
			inside = append(inside, d)
		} else {
			outside = append(outside, d)
		}
	}
	if n.busy[name] || len(n.busy) > 200 {
		return nil, errNotAffine
	}
	switch {
	case len(inside) == 1 && n.in[t.Block(at)]:
		d := inside[0]
		if !n.always(d) {
			return nil, errNotAffine
		}
		if at != d && t.Before(d, at) {
			n.busy[name] = true
			defer delete(n.busy, name)
			if len(outside) > 0 { // it has moved on: by a step, or it is only computed anew
				if now, err := n.computed(d); err == nil {
					return now, nil
				}
				head, err := n.atHead(reg, d, outside)
				if err != nil {
					return nil, err
				}
				return head.Plus(n.steps[reg], 1), nil
			}
			return n.computed(d)
		}
		if !t.Before(at, d) && at != d || len(outside) == 0 {
			return nil, errNotAffine
		}
		return n.atHead(reg, d, outside)
	case len(inside) > 0:
		return nil, errNotAffine
	case len(outside) == 1 && !t.Stmts[outside[0]].Guarded && t.Before(outside[0], at) &&
		t.Dominates(t.Block(outside[0]), n.head):
		n.busy[name] = true
		defer delete(n.busy, name)
		was := len(n.list)
		if p, err := n.computed(outside[0]); err == nil && (len(p) <= limitTerms) {
			return p, nil
		}
		n.list = n.list[:was]
		if !t.Varying[reg] {
			return affine{name: 1}, nil
		}
	case len(outside) > 1 && !t.Varying[reg] && (n.in[t.Block(at)] || t.kept(reg, at, n.head)):
		return affine{name: 1}, nil
	}
	return nil, errNotAffine
}

// atHead is what a register that a loop moves on holds at the beginning of a turn. d: the one
// statement in the loop that writes it.
func (n *tileLoop) atHead(reg ir.Reg, d int, outside []int) (affine, error) {
	t, name := n.t, n.t.Name(reg)
	if _, ok := n.steps[reg]; !ok {
		// an unknown of its own for what it holds now
		own := "=" + name
		if n.busy[own] {
			return affine{own: 1}, nil
		}
		n.busy[own] = true
		moving := n.busy[name]
		delete(n.busy, name)
		was := len(n.list)
		next, err := n.computed(d)
		narrow := len(n.list) == was
		n.list = n.list[:was]
		delete(n.busy, own)
		if moving {
			n.busy[name] = true
		}
		if err != nil {
			return nil, err
		}
		step := next.Plus(affine{own: 1}, -1)
		if !narrow || !uniform(step) || len(step) > limitTerms || strings.Contains(step.String(), "=") {
			return nil, errNotAffine
		}
		n.steps[reg] = step
	}
	turns := n.steps[reg].Times(affine{turnsName: 1})
	if n.entered(outside) {
		was := len(n.list)
		if p, err := n.computed(outside[0]); err == nil && len(p) <= limitTerms {
			return p.Plus(turns, 1), nil
		}
		n.list = n.list[:was]
	}
	if t.Varying[reg] {
		return nil, errNotAffine
	}
	return affine{name: 1}.Plus(turns, 1), nil
}

// entered reports whether one statement outside a loop gives a register what it holds when the loop
// is entered, each time.
func (n *tileLoop) entered(outside []int) bool {
	t := n.t
	if len(outside) != 1 || t.Stmts[outside[0]].Guarded || !t.Dominates(t.Block(outside[0]), n.head) {
		return false
	}
	home := func(b int) bool { return b == t.Block(outside[0]) }
	for _, s := range t.Blocks[t.Block(n.latch)].Succs {
		if !n.in[s] && t.Reaches([]int{s}, n.head, home) {
			return false
		}
	}
	return true
}

// computed is what an instruction that runs once a turn, or in front of the loop, gives.
func (n *tileLoop) computed(i int) (affine, error) {
	x := n.t.Inst(i)
	if n.effort--; n.effort < 0 || len(x.Args) < 2 || n.t.Stmts[i].Guarded {
		return nil, errNotAffine
	}
	out, ok := x.Arithmetic(func(k int) (affine, bool) {
		if k >= len(x.Args) {
			return nil, false
		}
		p, err := n.operand(x.Args[k], i)
		return p, err == nil && len(p) <= limitTerms
	}, n.widen)
	if !ok {
		return nil, errNotAffine
	}
	return out, nil
}

// widen carries a value from 32 bits to 64.
func (n *tileLoop) widen(p affine, signed bool) affine {
	if v, is := p.Constant(); is {
		if signed {
			return constant(int64(int32(v)))
		}
		return constant(int64(uint32(v)))
	}
	out := affine{} // of what agrees modulo 2^32 the smallest
	for key, c := range p {
		if c = int64(int32(c)); c != 0 {
			out[key] = c
		}
	}
	p = out
	if len(p) == 1 {
		for key, c := range p {
			// a register by itself, with its sign; numbers of threads and blocks are small
			if c == 1 && !strings.Contains(key, "*") && key != turnsName && (strings.Contains(key, ".") ||
				signed && n.t.bits(key) == 32) {
				return p
			}
		}
	}
	n.list = append(n.list, widening{p, signed})
	return p
}
