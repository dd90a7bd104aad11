package await

import (
	"cmp"
	"slices"

	"gnvcc/rewrite/ptx/ir"
)

// Loops that end by themselves. A loop that is left when a counter has come far enough waits for no
// other block, whatever else ends it; nor does one that is left when an attempt to swap has
// succeeded, since each turn means that another thread's has. What is none of the forms that
// compilers make of these is taken for a loop that waits.

// ends reports whether every way around passes a branch at which the part is left by a counter or by
// the success of a retry.
func (a *waiter) ends(p *part) bool {
	through := map[int]bool{}
	for _, b := range p.Body {
		if pred, ends, ok := a.leaving(p, b); ok && (a.counted(p, b, pred, ends) || a.swapped(p, b, pred, ends)) {
			through[b] = true
		}
	}
	return len(through) > 0 && a.everyTurn(p, p.Head, through)
}

// leaving returns the predicate of a block's conditional branch out of the part, and its value with
// which the part is left.
func (a *waiter) leaving(p *part, b int) (pred ir.Reg, ends, ok bool) {
	i := a.Branch(b)
	if i < 0 || !a.leaves(p, b) {
		return 0, false, false
	}
	x := a.Inst(i)
	ends = !x.Unless
	switch to := a.Blocks[b].Succs; x.Op {
	case "brx":
		return 0, false, false
	case "bra":
		if len(to) != 2 || p.in[to[0]] == p.in[to[1]] {
			return 0, false, false
		}
		ends = ends != p.in[to[0]]
	}
	return x.Guard, ends, x.Guard != ir.None
}

// turnly returns the only statement that writes a register, where it runs on every way around
// through block b; -1 for others.
func (a *waiter) turnly(p *part, b int, r ir.Reg) int {
	d := a.Sole(r)
	if d < 0 || !p.in[a.Block(d)] || !a.everyTurn(p, b, map[int]bool{a.Block(d): true}) {
		return -1
	}
	return d
}

// swapped reports whether a predicate has this value exactly where the swap of a retry has
// succeeded.
func (a *waiter) swapped(p *part, b int, pred ir.Reg, value bool) bool {
	d := a.turnly(p, b, pred)
	if d < 0 {
		return false
	}
	x := a.Inst(d)
	if x.Op != "setp" || len(x.Words) != 2 || len(x.Args) != 3 || x.Words[1][0] == 'f' ||
		x.Words[0] != map[bool]string{true: "eq", false: "ne"}[value] {
		return false
	}
	for n := 1; n <= 2; n++ {
		i := a.Sole(x.Args[n].Reg)
		if i < 0 || !p.in[a.Block(i)] {
			continue
		}
		if cas := a.Inst(i); cas.Has("cas") && len(cas.Args) >= 4 && cas.Args[2].Text == x.Args[3-n].Text &&
			a.retry(p, i) {
			return true
		}
	}
	return false
}

// counted reports whether a predicate is sure to get this value in the end, by a counter, on every
// way around through block b.
func (a *waiter) counted(p *part, b int, pred ir.Reg, value bool) bool {
	d := a.turnly(p, b, pred)
	if d < 0 {
		return false
	}
	x := a.Inst(d)
	if x.Op != "setp" || len(x.Words) != 2 || x.Words[1][0] == 'f' || len(x.Args) != 3 {
		return false
	}
	for n := 1; n <= 2; n++ { // a counter, compared with anything
		sign, ok := a.counter(p, b, x.Args[n].Reg)
		if !ok {
			continue
		}
		if n == 2 {
			sign = -sign
		}
		switch x.Words[0] {
		case "eq", "ne": // steps that are not known may be none
			if sign != 0 && value == (x.Words[0] == "eq") {
				return true
			}
		case "lt", "le", "lo", "ls": // false in the end where it counts up
			if sign == 0 || (sign > 0) == !value {
				return true
			}
		case "gt", "ge", "hi", "hs":
			if sign == 0 || (sign > 0) == value {
				return true
			}
		}
	}
	return false
}

// counter reports whether all that the part does to a register is to add to it, on every way around
// through block b: constants of one sign, which is returned, or what is the same in every turn
// (sign 0: not known).
func (a *waiter) counter(p *part, b int, r ir.Reg) (sign int, ok bool) {
	if r == ir.None {
		return 0, false
	}
	writes := map[int]bool{}
	for n, d := range a.inside(p, r) {
		s, ok := a.step(p, b, d, r)
		if !ok || n > 0 && s != sign {
			return 0, false
		}
		sign, writes[a.Block(d)] = s, true
	}
	return sign, len(writes) > 0 && a.everyTurn(p, b, writes)
}

// step returns the sign of what a definition adds to what the register held before.
func (a *waiter) step(p *part, b, d int, r ir.Reg) (sign int, ok bool) {
	sum, ok := a.sum(p, b, d, r, 6)
	slope, linear := sum.Slope(a.Name(r))
	if n, is := slope.Constant(); !ok || !linear || !is || n != 1 {
		return 0, false
	}
	if n, known := sum.Without(a.Name(r)).Constant(); known {
		return cmp.Compare(n, 0), n != 0
	}
	return 0, true
}

// sum is what a definition computes of a register and of what is the same in every turn. It may pass
// other registers that are written once in the part, in every turn.
func (a *waiter) sum(p *part, b, d int, r ir.Reg, depth int) (ir.Affine, bool) {
	x := a.Inst(d)
	if a.Stmts[d].Guarded || depth == 0 {
		return nil, false
	}
	return x.Arithmetic(func(n int) (ir.Affine, bool) {
		if n >= len(x.Args) {
			return nil, false
		}
		o := x.Args[n]
		if v, known := a.constant(o); known {
			return ir.Number(v), true
		}
		if o.Reg == ir.None {
			return nil, false
		}
		if o.Reg == r || len(a.inside(p, o.Reg)) == 0 {
			return ir.Affine{a.Name(o.Reg): 1}, true
		}
		defs := a.inside(p, o.Reg)
		if len(defs) != 1 || !a.everyTurn(p, b, map[int]bool{a.Block(defs[0]): true}) {
			return nil, false
		}
		return a.sum(p, b, defs[0], r, depth-1)
	}, func(v ir.Affine, _ bool) ir.Affine { return v })
}

// constant is the integer that an operand is known to be.
func (a *waiter) constant(o ir.Operand) (int64, bool) {
	if o.Reg != ir.None && a.unset[o.Reg] {
		return 0, false
	}
	return a.Constant(o)
}

// advances reports whether a swap waits for no other block: a retry, after whose success the part is
// left. Nothing else in the part may write to memory of other blocks: who swaps is overtaken by others
// alone.
func (a *waiter) advances(p *part, i int) bool {
	x := a.Inst(i)
	return x.Op == "atom" && x.Has("cas") && len(x.Args) >= 4 && a.retry(p, i) &&
		slices.ContainsFunc(p.Body, func(b int) bool {
			pred, ends, ok := a.leaving(p, b)
			return ok && a.everyTurn(p, a.Block(i), map[int]bool{b: true}) && a.swapped(p, b, pred, ends)
		})
}

// written reports whether an instruction of the part other than a swap may write to memory of other
// blocks.
func (a *waiter) written(p *part, swap int) bool {
	return slices.ContainsFunc(p.body, func(j int) bool {
		op := a.Inst(j).Op
		return j != swap && (op == "call" ||
			slices.Contains([]string{"st", "atom", "red", "sust", "cp"}, op) && elsewhere(a.Opcode(j)))
	})
}

// retry reports whether the comparand of a swap is read anew from the same place on every way from
// one attempt to the next: what the attempt itself returned, or another look.
func (a *waiter) retry(p *part, cas int) bool {
	o := a.Inst(cas).Args
	if o[2].Reg == ir.None || o[2].Text == o[3].Text || a.written(p, cas) {
		return false // of one value it would store what it found: that is a look
	}
	renewed := map[int]bool{}
	for _, d := range a.inside(p, o[2].Reg) {
		x := a.Inst(d)
		copies := x.Op == "mov" && len(x.Args) == 2 && a.Sole(x.Args[1].Reg) == cas
		looks := (x.Op == "ld" || x.Op == "ldu" || x.Op == "atom") && a.Location(d) == a.Location(cas)
		if a.Stmts[d].Guarded || d != cas && !copies && !looks {
			return false
		}
		renewed[a.Block(d)] = true
	}
	return a.everyTurn(p, a.Block(cas), renewed)
}
