package await

import (
	"errors"
	"maps"
	"slices"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// One loop at a time: does it go on by what other blocks have written?
//
// Looks at memory are loads that are made anew each time (volatile, relaxed, acquire, mmio, .cv,
// .cg), atomics, what a function brings back that looks, and weak loads where a barrier, a fence, a
// sleep, an ordered access or such a call stands in the loop, or where the address is the same in
// every turn. What follows from them is followed through registers, through memory that is not
// global (one thread polls for its block), and through branches. The loop waits
//
//   - if a branch that leaves it follows from a look that is made anew each time;
//   - if a branch that follows from any look decides whether it is come back to, unless every turn
//     is counted: then the loop ends by itself (progress.go).
//
// One kind of atomics waits for no other block: a compare-and-swap whose comparand is read anew in
// every turn from the same place, and after whose success the loop is left, the usual retry, in
// which a thread fails only because another one succeeded. (Additions by which blocks take work from a
// queue count as looks: that is rare, and errs on the safe side.)

// A waiter looks at the loops of one function.
type waiter struct {
	*ir.Func
	called callee
	// registers that may be read before they are written: they have no value that is known
	unset map[ir.Reg]bool
	work  int
}

// limitWork bounds the statements of all loops of a function: one in five loops counts five times.
const limitWork = 1 << 24

// awaits returns the first instruction of a function that a loop waits for, -1 if there is none.
func awaits(f *ptx.Func, called callee) (int, error) {
	w, err := ir.Of(f)
	if err != nil {
		return -1, err
	}
	loops := w.Loops()
	if len(loops) == 0 {
		return -1, nil
	}
	a := &waiter{Func: w, called: called, unset: map[ir.Reg]bool{}}
	for _, r := range w.Live(0) {
		a.unset[r] = true
	}
	for _, l := range loops {
		p := a.Loop(l)
		if a.work += len(p.Insts); a.work > limitWork {
			return -1, errors.New("ptx: the loops are more than is followed")
		}
		if at := a.loop(p); at >= 0 {
			return at, nil
		}
	}
	return -1, nil
}

// loop returns the look that a loop waits for, -1 if it doesn't.
func (a *waiter) loop(p *ir.Loop) int {
	at := a.decides(p, func(i int) bool { return a.looks(p, i) }, a.leaves)
	if at >= 0 || a.ends(p) {
		return at
	}
	synced := slices.ContainsFunc(p.Insts, func(i int) bool { return a.does(i, a.called.orders, orders) })
	return a.decides(p, func(i int) bool { return a.looks(p, i) || a.reloads(p, i, synced) }, a.repeats)
}

// decides returns the first look in a part where a branch of some kind follows from looks; -1 where
// none does. A block hands on to itself what one of its threads has seen through shared and local
// memory, and through arguments and results of calls.
func (a *waiter) decides(p *ir.Loop, look func(i int) bool, kind func(p *ir.Loop, b int) bool) int {
	seeds := map[int]bool{}
	for _, i := range p.Insts {
		if look(i) {
			seeds[i] = true
		}
	}
	if len(seeds) == 0 {
		return -1
	}
	memory, from := false, (*ir.Spread)(nil)
	for range 2 { // again where a load stands before the store
		from = a.Spread(p.Body, func(i int, from *ir.Spread) bool {
			is := seeds[i] || from.Divergent[a.Block(i)] || from.Reads(i) || memory && a.takes(i)
			memory = memory || is && a.hands(i)
			return is
		}, func(i int, from *ir.Spread) bool { return from.Reads(i) })
	}
	for _, b := range p.Body {
		if i := a.Branch(b); i >= 0 && from.Reads(i) && kind(p, b) {
			return slices.Min(slices.Collect(maps.Keys(seeds)))
		}
	}
	return -1
}

// leaves reports whether a block has a way out of the part.
func (a *waiter) leaves(p *ir.Loop, b int) bool {
	last := a.Blocks[b].Last - 1
	op := a.Inst(last).Op
	return op != "" && a.Leaves(last) && op != "bra" && op != "brx" || // a guarded ret
		slices.ContainsFunc(a.Blocks[b].Succs, func(s int) bool { return !p.In[s] })
}

// repeats reports whether a branch decides about coming back to itself: it can before its ways have
// met.
func (a *waiter) repeats(p *ir.Loop, b int) bool {
	stop := a.Meet(b)
	return b != stop && a.Reaches(a.Blocks[b].Succs, b, func(s int) bool { return s == stop || !p.In[s] })
}

// does reports what an instruction does, or what any function does that a call may lead to.
func (a *waiter) does(i int, called bool, own func(*ptx.Func, int) bool) bool {
	if a.Inst(i).Op == "call" {
		return called
	}
	return own(a.Func.Func, i)
}

// looks reports whether an instruction looks at other blocks' memory anew in each turn.
func (a *waiter) looks(p *ir.Loop, i int) bool {
	return a.does(i, a.called.asks, asks) && !a.ofBlock(i) && !a.advances(p, i)
}

// reloads reports whether an instruction reads other blocks' memory and may do so anew in each
// turn.
func (a *waiter) reloads(p *ir.Loop, i int, synced bool) bool {
	switch x := a.Inst(i); x.Op {
	case "call":
		return a.called.reads
	case "cp": // into shared memory
		return synced && x.Has("global")
	case "ld", "ldu", "suld", "tex", "tld4":
		return reads(a.Func.Func, i) && !a.ofBlock(i) && (synced || a.sameAddress(p, i) || x.Op == "ld" &&
			slices.ContainsFunc(p.Insts, func(j int) bool { // an atomic on the place: behind it
				return a.Inst(j).Op == "atom" && elsewhere(a.Opcode(j)) && !a.ofBlock(j)
			}))
	}
	return false
}

// ofBlock reports whether a generic address is known to be the block's own shared memory.
func (a *waiter) ofBlock(i int) bool {
	o := a.Inst(i).Address()
	return o != nil && !a.Inst(i).Has("global") && a.Origin(*o).Shared
}

// sameAddress reports whether there is a way around from a load to itself on which nothing changes
// the registers of its address. Its guard is none of them: it may be computed anew in every turn,
// from what the load returned.
func (a *waiter) sameAddress(p *ir.Loop, i int) bool {
	writers := make(map[int]bool)
	for _, x := range a.Accesses(i) {
		if x.Read && !a.guards(x) && !a.invariant(p, x.Reg, 8) {
			for _, d := range a.Defs(x.Reg) {
				writers[a.Block(d)] = true
			}
		}
	}
	return !p.EveryTurn(a.Block(i), writers)
}

// invariant reports whether a register changes once at most: the part does not write it, or at one
// place (under a guard, even), and computes it there from what is the same in every turn.
func (a *waiter) invariant(p *ir.Loop, r ir.Reg, depth int) bool {
	d := p.Inside(r)
	if len(d) == 0 {
		return true
	}
	return len(d) == 1 && depth > 0 && ir.Computes(a.Inst(d[0]).Op) &&
		!slices.ContainsFunc(a.Accesses(d[0]), func(x ir.Access) bool {
			return x.Read && !a.guards(x) && (x.Reg == r || !a.invariant(p, x.Reg, depth-1))
		})
}

// guards reports whether an access is that of a statement's guard.
func (a *waiter) guards(x ir.Access) bool { return x.At.Start < a.Stmts[x.Stmt].Op }

// takes reports whether an instruction may read memory that is not global, or what a call brings
// back. The function's own arguments are nothing that anyone changes.
func (a *waiter) takes(i int) bool {
	switch a.Inst(i).Op {
	case "ld", "atom", "ldmatrix":
		return own(a.Opcode(i)) && !a.ownParameter(i)
	}
	return a.Inst(i).Op == "call"
}

// own reports whether a memory operand may lie in a space that is not global.
func own(op []byte) bool { return !ptx.HasAny(op, "global", "const", "param::entry") }

// ownParameter reports whether a load reads an argument of the function itself, which nothing
// changes.
func (a *waiter) ownParameter(i int) bool {
	x := a.Inst(i)
	return len(x.Args) > 1 && x.Has("param", "param::entry", "param::func") &&
		slices.ContainsFunc(a.Params, func(v ptx.Variable) bool { return v.Name == x.Args[1].Text })
}

// hands reports whether an instruction may write to memory that is not global.
func (a *waiter) hands(i int) bool {
	switch a.Inst(i).Op {
	case "st", "atom", "red", "stmatrix":
		return own(a.Opcode(i))
	}
	return a.Inst(i).Op == "cp" || a.Inst(i).Op == "call"
}
