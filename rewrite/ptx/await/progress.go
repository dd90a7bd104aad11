package await

import (
	"slices"
	"strings"

	"gnvcc/rewrite/ptx/ir"
)

// Loops that end by themselves. A loop that is left when a counter has come far enough waits for no
// other block, whatever else ends it; nor does one that is left when an attempt to swap has
// succeeded, since each turn means that another thread's has.

// progress returns the blocks of a part at which it is left by a counter (every way around through
// such a block counts on, and the part does not set the counter back) or by the success of a retry.
func (a *waiter) progress(p *part) map[int]bool {
	out := map[int]bool{}
	for _, b := range p.blocks {
		pred, ends, ok := a.leaving(p, b)
		if ok && (a.counted(p, b, pred, ends, 8) || a.swapped(p, b, pred, ends)) {
			out[b] = true
		}
	}
	return out
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
func (a *waiter) counted(p *part, b int, pred ir.Reg, value bool, depth int) bool {
	d := a.turnly(p, b, pred)
	if depth == 0 || d < 0 {
		return false
	}
	x := a.Inst(d)
	part := func(n int, value bool) bool {
		return n < len(x.Args) && x.Args[n].Reg != ir.None && a.counted(p, b, x.Args[n].Reg, value, depth-1)
	}
	switch {
	case x.Is("and.pred") && value, x.Is("or.pred") && !value:
		return part(1, value) && part(2, value)
	case x.Is("and.pred"), x.Is("or.pred"):
		return part(1, value) || part(2, value)
	case x.Is("not.pred"):
		return part(1, !value)
	case x.Is("mov.pred"):
		return part(1, value)
	case x.Op != "setp" || len(x.Words) != 2 || x.Words[1][0] == 'f' || len(x.Args) != 3:
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

// step returns the sign of what a definition adds to what the register held before. It may pass
// copies, and other registers that are written once in the part, in every turn.
func (a *waiter) step(p *part, b, d int, r ir.Reg) (sign int, ok bool) {
	added := false
	for range 6 {
		x := a.Inst(d)
		if a.Stmts[d].Guarded || len(x.Args) < 2 || x.Type() == "" || strings.Contains("fp", x.Type()[:1]) {
			return 0, false
		}
		from := x.Args[1]
		switch {
		case x.Op == "mov" || x.Op == "cvt" && len(x.Args) == 2:
		case added || x.Op != "add" && x.Op != "sub" || len(x.Args) != 3:
			return 0, false
		default:
			n, known := a.constant(x.Args[2])
			switch {
			case known && n != 0:
				sign = 1
				if (n < 0) != (x.Op == "sub") {
					sign = -1
				}
			case a.steady(p, x.Args[2].Reg):
			case a.steady(p, from.Reg) && x.Op == "add":
				from = x.Args[2]
			default:
				return 0, false
			}
			added = true
		}
		if from.Reg == ir.None || from.Reg == r {
			return sign, added && from.Reg == r
		}
		defs := a.inside(p, from.Reg)
		if len(defs) != 1 || !a.everyTurn(p, b, map[int]bool{a.Block(defs[0]): true}) {
			return 0, false
		}
		d = defs[0]
	}
	return 0, false
}

// steady reports whether a register has the same value in every turn: the part does not write it,
// or with an argument of the function's own, which a compiler may read anew in each turn.
func (a *waiter) steady(p *part, r ir.Reg) bool {
	if r == ir.None {
		return false
	}
	inside := a.inside(p, r)
	return len(inside) == 0 || a.Sole(r) >= 0 && a.Inst(inside[0]).Op == "ld" && a.ownParameter(inside[0])
}

// constant is the integer that an operand is known to be.
func (a *waiter) constant(o ir.Operand) (int64, bool) {
	if o.Reg != ir.None && a.unset[o.Reg] {
		return 0, false
	}
	return a.Constant(o)
}

// advances reports whether an atomic waits for no other block. Nothing else in the part may write
// to the same place: what is added there is not taken back, and who swaps is overtaken by others
// alone.
func (a *waiter) advances(p *part, i int) bool {
	x := a.Inst(i)
	if x.Op != "atom" || len(x.Args) < 3 {
		return false
	}
	switch {
	case x.Has("inc", "dec"):
		n, known := a.constant(x.Args[2])
		return known && n != 0 && !a.written(p, i, 0)
	case x.Has("add"):
		sign := a.added(x)
		return sign != 0 && !a.written(p, i, sign)
	case x.Has("cas"):
		return len(x.Args) >= 4 && a.retry(p, i) && slices.ContainsFunc(p.blocks, func(b int) bool {
			pred, ends, ok := a.leaving(p, b)
			return ok && a.everyTurn(p, a.Block(i), map[int]bool{b: true}) && a.swapped(p, b, pred, ends)
		})
	}
	return false
}

// written reports whether another instruction of the part may write to an atomic's place; additions
// of one sign are fine.
func (a *waiter) written(p *part, atomic, sign int) bool {
	return slices.ContainsFunc(p.body, func(j int) bool {
		switch x := a.Inst(j); {
		case j == atomic:
			return false
		case x.Op == "call":
			return true
		case !slices.Contains([]string{"st", "atom", "red", "sust", "cp"}, x.Op) ||
			!elsewhere(a.Opcode(j)):
			return false
		case (x.Op == "atom" || x.Op == "red") && x.Has("add") && sign != 0 && a.added(x) == sign:
			return false
		}
		return a.mayAlias(atomic, j)
	})
}

// added is the sign of what an addition adds, 0 where it is not known; sizes of blocks and grids
// count.
func (a *waiter) added(x *ir.Inst) int {
	o := x.Args[len(x.Args)-1]
	if x.Op == "atom" && len(x.Args) > 2 {
		o = x.Args[2]
	}
	n, known := a.constant(o)
	if strings.HasSuffix(x.Type(), "32") { // 0xffffffff takes 1 away
		n = int64(int32(n))
	}
	switch {
	case known && n < 0:
		return -1
	case known && n > 0:
		return 1
	case known:
		return 0
	}
	switch strings.TrimSuffix(strings.TrimPrefix(a.Expression(o), "cvt.u64.u32("), ")") {
	case "%ntid.x", "%ntid.y", "%ntid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z":
		return 1
	}
	return 0
}

// retry reports whether the comparand of a swap is read anew from the same place on every way from
// one attempt to the next: what the attempt itself returned, or another look.
func (a *waiter) retry(p *part, cas int) bool {
	o := a.Inst(cas).Args
	if o[2].Reg == ir.None || o[2].Text == o[3].Text || a.written(p, cas, 0) {
		return false // of one value it would store what it found: that is a look
	}
	renewed := map[int]bool{}
	for _, d := range a.inside(p, o[2].Reg) {
		if !a.newer(p, cas, d, 4) {
			return false
		}
		renewed[a.Block(d)] = true
	}
	return a.everyTurn(p, a.Block(cas), renewed)
}

// newer reports whether a definition copies what a swap returned, or a load of the same place.
func (a *waiter) newer(p *part, cas, d, depth int) bool {
	x := a.Inst(d)
	switch {
	case a.Stmts[d].Guarded || depth == 0:
		return false
	case d == cas:
		return true
	case x.Op == "ld" || x.Op == "ldu" || x.Op == "atom":
		return a.Location(d) == a.Location(cas)
	case x.Op != "mov" || len(x.Args) != 2 || x.Args[1].Reg == ir.None:
		return false
	}
	from := a.inside(p, x.Args[1].Reg)
	return len(from) > 0 && !slices.ContainsFunc(from, func(f int) bool {
		return !a.newer(p, cas, f, depth-1) || !a.everyTurn(p, a.Block(cas), map[int]bool{a.Block(f): true})
	})
}
