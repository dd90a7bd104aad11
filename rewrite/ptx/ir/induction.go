package ir

import (
	"cmp"
	"slices"

	"gnvcc/graph"
	"gnvcc/rewrite/ptx"
)

// What a turn of a loop adds to registers: counters, and addresses that move.

// A Loop is a loop of a body, with what is asked of one.
type Loop struct {
	*Func
	Head  int // block
	Body  []int
	In    map[int]bool // by block
	Insts []int        // statements
}

// Loop readies a loop for questions.
func (w *Func) Loop(l graph.Loop) *Loop {
	p := &Loop{Func: w, Head: l.Head, Body: slices.Sorted(slices.Values(l.Body)), In: map[int]bool{}}
	for _, b := range p.Body {
		p.In[b] = true
		for i := w.Blocks[b].First; i < w.Blocks[b].Last; i++ {
			if w.Stmts[i].Kind == ptx.Inst {
				p.Insts = append(p.Insts, i)
			}
		}
	}
	return p
}

// Inside lists the statements of the loop that write a register.
func (p *Loop) Inside(r Reg) []int {
	return slices.DeleteFunc(slices.Clone(p.Defs(r)), func(d int) bool { return !p.In[p.Block(d)] })
}

// EveryTurn reports whether every way around from block b to itself, within the loop, passes one of
// these blocks.
func (p *Loop) EveryTurn(b int, through map[int]bool) bool {
	return through[b] || !p.Reaches(p.Blocks[b].Succs, b, func(s int) bool {
		return s == b || !p.In[s] || through[s]
	})
}

// Counter reports whether all that the loop does to a register is to add to it, on every way around
// through block b: constants of one sign, which is returned, or what is the same in every turn
// (sign 0: not known). constant is the integer that an operand is known to be.
func (p *Loop) Counter(b int, r Reg, constant func(Operand) (int64, bool)) (sign int, ok bool) {
	if r == None {
		return 0, false
	}
	writes := map[int]bool{}
	for n, d := range p.Inside(r) {
		s, ok := p.step(b, d, r, constant)
		if !ok || n > 0 && s != sign {
			return 0, false
		}
		sign, writes[p.Block(d)] = s, true
	}
	return sign, len(writes) > 0 && p.EveryTurn(b, writes)
}

// step returns the sign of what a definition adds to what the register held before.
func (p *Loop) step(b, d int, r Reg, constant func(Operand) (int64, bool)) (sign int, ok bool) {
	sum, ok := p.sum(b, d, r, constant, 6)
	slope, linear := sum.Slope(p.Name(r))
	if n, is := slope.Constant(); !ok || !linear || !is || n != 1 {
		return 0, false
	}
	if n, known := sum.Without(p.Name(r)).Constant(); known {
		return cmp.Compare(n, 0), n != 0
	}
	return 0, true
}

// sum is what a definition computes of a register and of what is the same in every turn. It may pass
// other registers that are written once in the loop, in every turn.
func (p *Loop) sum(b, d int, r Reg, constant func(Operand) (int64, bool), depth int) (Affine, bool) {
	x := p.Inst(d)
	if p.Stmts[d].Guarded || depth == 0 {
		return nil, false
	}
	return x.Arithmetic(func(n int) (Affine, bool) {
		if n >= len(x.Args) {
			return nil, false
		}
		o := x.Args[n]
		if v, known := constant(o); known {
			return Number(v), true
		}
		if o.Reg == None {
			return nil, false
		}
		if o.Reg == r || len(p.Inside(o.Reg)) == 0 {
			return Affine{p.Name(o.Reg): 1}, true
		}
		defs := p.Inside(o.Reg)
		if len(defs) != 1 || !p.EveryTurn(b, map[int]bool{p.Block(defs[0]): true}) {
			return nil, false
		}
		return p.sum(b, defs[0], r, constant, depth-1)
	}, func(v Affine, _ bool) Affine { return v })
}

// A Turn is one turn of a loop of one block: what registers hold, in terms of what they held at its
// beginning, modulo the width of the result.
type Turn struct {
	w     *Func
	named map[string]Reg // by Name
	now   map[Reg]Affine // what registers that the loop writes hold; nil: not known
}

// Turn begins one; named has the registers by their names.
func (w *Func) Turn(named map[string]Reg) *Turn { return &Turn{w, named, map[Reg]Affine{}} }

// Write notes what a statement writes; nil: not known.
func (n *Turn) Write(stmt int, v Affine) {
	for _, a := range n.w.Accesses(stmt) {
		if a.Write {
			n.now[a.Reg] = v
		}
	}
}

// Operand is what an operand holds behind the last statement that was noted.
func (n *Turn) Operand(x *Inst, k int) (Affine, bool) {
	if k >= len(x.Args) {
		return nil, false
	}
	o := x.Args[k]
	if o.Reg == None {
		v, ok := Literal(o.Text)
		return Number(v), ok
	}
	if p, written := n.now[o.Reg]; written {
		return p, p != nil
	}
	return Affine{n.w.Name(o.Reg): 1}, true
}

// Step is what a turn adds to a value: the same in every turn.
func (n *Turn) Step(p Affine) (out Affine, ok bool) {
	for key, c := range p {
		r, is := n.named[key]
		if !is && key != "" {
			return nil, false
		}
		if next, written := n.now[r]; is && written {
			if next == nil {
				return nil, false
			}
			out = out.Plus(next, c).Plus(Affine{key: 1}, -c)
		}
	}
	for key := range out {
		r, is := n.named[key]
		if _, written := n.now[r]; key != "" && (!is || written) {
			return nil, false
		}
	}
	return out, true
}
