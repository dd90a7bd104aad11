package await

import (
	"slices"

	"gnvcc/rewrite/ptx/ir"
)

// Loops that end by themselves. A loop that is left when a counter has come far enough waits for no
// other block, whatever else ends it; nor does one that is left when an attempt to swap has
// succeeded, since each turn means that another thread's has. What is none of the forms that
// compilers make of these is taken for a loop that waits.

// ends reports whether every way around passes a branch at which the part is left by a counter or by
// the success of a retry.
func (a *waiter) ends(p *ir.Loop) bool {
	through := map[int]bool{}
	for _, b := range p.Body {
		if pred, ends, ok := a.leaving(p, b); ok && (a.counted(p, b, pred, ends) || a.swapped(p, b, pred, ends)) {
			through[b] = true
		}
	}
	return len(through) > 0 && p.EveryTurn(p.Head, through)
}

// leaving returns the predicate of a block's conditional branch out of the part, and its value with
// which the part is left.
func (a *waiter) leaving(p *ir.Loop, b int) (pred ir.Reg, ends, ok bool) {
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
		if len(to) != 2 || p.In[to[0]] == p.In[to[1]] {
			return 0, false, false
		}
		ends = ends != p.In[to[0]]
	}
	return x.Guard, ends, x.Guard != ir.None
}

// turnly returns the only statement that writes a register, where it runs on every way around
// through block b; -1 for others.
func (a *waiter) turnly(p *ir.Loop, b int, r ir.Reg) int {
	d := a.Sole(r)
	if d < 0 || !p.In[a.Block(d)] || !p.EveryTurn(b, map[int]bool{a.Block(d): true}) {
		return -1
	}
	return d
}

// swapped reports whether a predicate has this value exactly where the swap of a retry has
// succeeded.
func (a *waiter) swapped(p *ir.Loop, b int, pred ir.Reg, value bool) bool {
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
		if i < 0 || !p.In[a.Block(i)] {
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
func (a *waiter) counted(p *ir.Loop, b int, pred ir.Reg, value bool) bool {
	d := a.turnly(p, b, pred)
	if d < 0 {
		return false
	}
	x := a.Inst(d)
	if x.Op != "setp" || len(x.Words) != 2 || x.Words[1][0] == 'f' || len(x.Args) != 3 {
		return false
	}
	for n := 1; n <= 2; n++ { // a counter, compared with anything
		sign, ok := p.Counter(b, x.Args[n].Reg, a.constant)
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
func (a *waiter) advances(p *ir.Loop, i int) bool {
	x := a.Inst(i)
	return x.Op == "atom" && x.Has("cas") && len(x.Args) >= 4 && a.retry(p, i) &&
		slices.ContainsFunc(p.Body, func(b int) bool {
			pred, ends, ok := a.leaving(p, b)
			return ok && p.EveryTurn(a.Block(i), map[int]bool{b: true}) && a.swapped(p, b, pred, ends)
		})
}

// written reports whether an instruction of the part other than a swap may write to memory of other
// blocks.
func (a *waiter) written(p *ir.Loop, swap int) bool {
	return slices.ContainsFunc(p.Insts, func(j int) bool {
		op := a.Inst(j).Op
		return j != swap && (op == "call" ||
			slices.Contains([]string{"st", "atom", "red", "sust", "cp"}, op) && elsewhere(a.Opcode(j)))
	})
}

// retry reports whether the comparand of a swap is read anew from the same place on every way from
// one attempt to the next: what the attempt itself returned, or another look.
func (a *waiter) retry(p *ir.Loop, cas int) bool {
	o := a.Inst(cas).Args
	if o[2].Reg == ir.None || o[2].Text == o[3].Text || a.written(p, cas) {
		return false // of one value it would store what it found: that is a look
	}
	renewed := map[int]bool{}
	for _, d := range p.Inside(o[2].Reg) {
		x := a.Inst(d)
		copies := x.Op == "mov" && len(x.Args) == 2 && a.Sole(x.Args[1].Reg) == cas
		looks := (x.Op == "ld" || x.Op == "ldu" || x.Op == "atom") && a.Location(d) == a.Location(cas)
		if a.Stmts[d].Guarded || d != cas && !copies && !looks {
			return false
		}
		renewed[a.Block(d)] = true
	}
	return p.EveryTurn(a.Block(cas), renewed)
}
