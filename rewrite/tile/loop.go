package tile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gnvcc/graph"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// What is computed in a loop, in terms of values that are the same for all threads of a block
// (registers at the loop's beginning, blocks' numbers), of a thread's place in its block, and of
// the turns that the loop has made. A register of 32 bits stands for its value, sign-extended.
type affine = dataflow.Affine

func constant(n int64) affine { return dataflow.Number(n) }

// Of these leaves the value is not the same for all threads at any time.
const turnsName = "turns"

var (
	placeNames = [3]string{"%tid.x", "%tid.y", "%tid.z"}
	notUniform = append(placeNames[:], turnsName)
)

// limitTerms bounds what is worked out: addresses have some six terms.
const limitTerms = 24

// uniform tells whether all threads have the same value at the same time, in every turn.
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

	steps  map[string]affine // by register: what a turn adds
	busy   map[string]bool
	list   []widening // those met since the caller emptied it
	effort int        // instructions that may still be looked at
	behind bool       // what stands behind the loop may be asked about too: for counting, not for code
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
	n := &tileLoop{t: t, in: map[int]bool{}, head: l.Head, steps: map[string]affine{},
		busy: map[string]bool{}}
	f := t.f
	last := l.Head
	for _, b := range l.Body {
		n.in[b] = true
		last = max(last, b)
	}
	n.first, n.latch = t.blocks[l.Head].First, t.blocks[last].Last-1
	if f.Stmts[n.first].Kind != ptx.Label || f.Stmts[n.first].Depth != 0 {
		return nil, errors.New("it begins without a label")
	}
	guard, _ := f.Guard(n.latch)
	if string(f.Base(n.latch)) != "bra" || guard == nil || f.Stmts[n.latch].Depth != 0 ||
		last+1 >= len(t.blocks) {
		return nil, errors.New("it does not end with the test that goes round")
	}
	for b := l.Head; b <= last; b++ {
		if !n.in[b] {
			return nil, errors.New("its blocks do not stand together")
		}
		for _, s := range t.blocks[b].Succs {
			if !n.in[s] && b != last || s == l.Head && b != last {
				return nil, errors.New("it is left, or goes round, at several places")
			}
		}
		for i := t.blocks[b].First; i < t.blocks[b].Last; i++ {
			if why := t.stays(i); why != "" {
				return nil, fmt.Errorf("it has %s", why)
			}
		}
	}
	for b := range t.blocks {
		if !n.in[b] && slices.ContainsFunc(t.blocks[b].Succs, func(s int) bool {
			return n.in[s] && s != l.Head
		}) {
			return nil, errors.New("it is entered at several places")
		}
	}
	for _, other := range t.loops {
		if other.Head != l.Head && n.in[other.Head] {
			return nil, errors.New("there is a loop inside")
		}
	}
	n.asked = t.parts(l.Head)
	t.spread(n.asked)
	n.asked = slices.DeleteFunc(n.asked, func(p divergence) bool {
		return !t.varying[strings.TrimPrefix(p.leaves, "!")]
	})
	if len(n.asked) > limitAsked {
		return nil, fmt.Errorf("threads may part at %d places in front of it", len(n.asked))
	}
	for _, p := range n.asked {
		if t.divergent[t.of[p.stmt]] {
			return nil, errors.New("not all threads of a block come to it together")
		}
	}
	if t.divergent[l.Head] || t.varying[string(guard)] {
		return nil, errors.New("not all threads of a block come to it together, and go round equally often")
	}
	return n, nil
}

// stays says why a statement can't stand twice in the kernel, "" if it can.
func (t *tileFlow) stays(i int) string {
	f := t.f
	switch s := f.Stmts[i]; s.Kind {
	case ptx.Decl:
		if s.Depth == 0 || string(f.Opcode(i)) != ".reg" {
			return "a declaration inside"
		}
	case ptx.Direction:
		if string(f.Opcode(i)) != ".pragma" {
			return "a table of branches"
		}
	case ptx.Inst:
		switch string(f.Base(i)) {
		case "bar", "barrier":
			return "a barrier"
		case "brx", "ret", "exit", "trap":
			return string(f.Base(i))
		}
	}
	return ""
}

// always tells whether a statement runs exactly once in every turn.
func (n *tileLoop) always(i int) bool {
	return n.in[n.t.of[i]] && n.t.above(n.t.of[i], n.t.of[n.latch]) && !n.t.f.Stmts[i].Guarded
}

var errNotAffine = errors.New("not affine")

// operand is what an operand of a statement holds when the statement runs.
func (n *tileLoop) operand(text string, at int) (affine, error) {
	if text == "" {
		return nil, errNotAffine
	}
	if text[0] != '%' && n.t.width[text] == 0 {
		v, ok := dataflow.Literal(text)
		if !ok {
			return nil, errNotAffine
		}
		return constant(v), nil
	}
	if special, axis, ok := strings.Cut(text, "."); ok && len(axis) == 1 && n.t.width[text] == 0 {
		d := strings.Index("xyz", axis)
		switch {
		case d < 0:
		case special == "%tid" && n.t.block[d] == 1:
			return affine{}, nil
		case special == "%tid", special == "%ctaid", special == "%nctaid":
			return affine{text: 1}, nil
		case special == "%ntid":
			return constant(int64(n.t.block[d])), nil
		}
		return nil, errNotAffine
	}
	return n.register(text, at)
}

// register is what a register holds where a statement reads it: of a statement in the loop, in the
// turn that it is in.
func (n *tileLoop) register(reg string, at int) (affine, error) {
	t := n.t
	var inside, outside []int
	for _, d := range t.defs[reg] {
		if n.in[t.of[d]] {
			inside = append(inside, d)
		} else {
			outside = append(outside, d)
		}
	}
	if n.busy[reg] || len(n.busy) > 200 {
		return nil, errNotAffine
	}
	switch {
	case len(inside) == 1 && n.in[t.of[at]]:
		d := inside[0]
		if !n.always(d) {
			return nil, errNotAffine
		}
		if at != d && t.dominates(d, at) {
			n.busy[reg] = true
			defer delete(n.busy, reg)
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
		if !t.dominates(at, d) && at != d || len(outside) == 0 {
			return nil, errNotAffine
		}
		return n.atHead(reg, d, outside)
	case len(inside) > 0:
		return nil, errNotAffine
	case len(outside) == 1 && !t.f.Stmts[outside[0]].Guarded && t.dominates(outside[0], at) &&
		(n.behind || t.above(t.of[outside[0]], n.head)):
		n.busy[reg] = true
		defer delete(n.busy, reg)
		was := len(n.list)
		if p, err := n.computed(outside[0]); err == nil && (len(p) <= limitTerms) {
			return p, nil
		}
		n.list = n.list[:was]
		if !t.varying[reg] {
			return affine{reg: 1}, nil
		}
	case len(outside) > 1 && !t.varying[reg] && (n.in[t.of[at]] || t.kept(reg, at, n.head)):
		return affine{reg: 1}, nil
	}
	return nil, errNotAffine
}

// atHead is what a register that a loop moves on holds at the beginning of a turn. d: the one
// statement in the loop that writes it.
func (n *tileLoop) atHead(reg string, d int, outside []int) (affine, error) {
	t := n.t
	if _, ok := n.steps[reg]; !ok {
		// an unknown of its own for what it holds now
		own := "=" + reg
		if n.busy[own] {
			return affine{own: 1}, nil
		}
		n.busy[own] = true
		moving := n.busy[reg]
		delete(n.busy, reg)
		was := len(n.list)
		next, err := n.computed(d)
		narrow := len(n.list) == was
		n.list = n.list[:was]
		delete(n.busy, own)
		if moving {
			n.busy[reg] = true
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
	if t.varying[reg] {
		return nil, errNotAffine
	}
	return affine{reg: 1}.Plus(turns, 1), nil
}

// entered tells whether one statement outside a loop gives a register what it holds when the loop
// is entered, each time.
func (n *tileLoop) entered(outside []int) bool {
	t := n.t
	if len(outside) != 1 || t.f.Stmts[outside[0]].Guarded || !t.above(t.of[outside[0]], n.head) {
		return false
	}
	home := func(b int) bool { return b == t.of[outside[0]] }
	for _, s := range t.blocks[t.of[n.latch]].Succs {
		if !n.in[s] && t.reaches([]int{s}, n.head, home) {
			return false
		}
	}
	return true
}

// computed is what an instruction that runs once a turn, or in front of the loop, gives.
func (n *tileLoop) computed(i int) (affine, error) {
	f := n.t.f
	ops := f.Operands(i, nil)
	if n.effort--; n.effort < 0 || len(ops) < 2 || f.Stmts[i].Guarded {
		return nil, errNotAffine
	}
	out, ok := dataflow.Arithmetic(string(f.Opcode(i)), func(k int) (affine, bool) {
		if k >= len(ops) {
			return nil, false
		}
		p, err := n.operand(string(f.Bytes(ops[k])), i)
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
				signed && n.t.width[key] == 32) {
				return p
			}
		}
	}
	n.list = append(n.list, widening{p, signed})
	return p
}
