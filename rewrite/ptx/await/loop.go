package await

import (
	"errors"
	"slices"

	"gnvcc/graph"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// One loop at a time: does it go on by what other blocks have written?
//
// A loop is a strongly connected part of the control flow. Looks at memory are loads that are made
// anew each time (volatile, relaxed, acquire, mmio, .cv, .cg), atomics, what a function brings back
// that looks, and weak loads where a barrier, a fence, a sleep, an ordered access or such a call
// stands in the loop, or where the address is the same in every turn. What follows from them is
// followed through registers, through memory that is not global (one thread polls for its block),
// and through branches. The loop waits
//
//   - if a branch that leaves it follows from a look that is made anew each time;
//   - if a branch that follows from any look decides whether it is come back to, unless every turn
//     is counted: then the loop ends by itself (progress.go).
//
// Two kinds of atomics wait for no other block: a compare-and-swap whose comparand is read anew in
// every turn from the same place, and after whose success the loop is left, the usual retry, in
// which a thread fails only because another one succeeded; and additions of a constant that is not
// 0, all of one sign, by which blocks take work from a queue.

// A waiter looks at the loops of one function.
type waiter struct {
	*ir.Func
	called callee
	// registers that may be read before they are written: they have no value that is known
	unset map[ir.Reg]bool
	work  int
}

// limitWork bounds what is looked at in one function, statements times rounds.
const limitWork = 1 << 28

var errWork = errors.New("ptx: the loops are more than is followed")

// awaits returns the first instruction of a function that a loop waits for, -1 if there is none.
func awaits(f *ptx.Func, called callee) (int, error) {
	w, err := ir.Of(f)
	if err != nil {
		return -1, err
	}
	all := make([]int, len(w.Blocks))
	for b := range all {
		all[b] = b
	}
	loops := graph.Cycles(w.Successors(), all)
	if len(loops) == 0 {
		return -1, nil
	}
	a := &waiter{Func: w, called: called, unset: map[ir.Reg]bool{}}
	for _, r := range w.Live(0) {
		a.unset[r] = true
	}
	for _, l := range loops {
		if at, err := a.loop(l); at >= 0 || err != nil {
			return at, err
		}
	}
	return -1, nil
}

// A part is a strongly connected part of a function.
type part struct {
	blocks []int // in the order of the text
	in     map[int]bool
	body   []int // statements
}

func (a *waiter) part(blocks []int) *part {
	p := &part{blocks: blocks, in: make(map[int]bool, len(blocks))}
	for _, b := range blocks {
		p.in[b] = true
		for i := a.Blocks[b].First; i < a.Blocks[b].Last; i++ {
			if a.Stmts[i].Kind == ptx.Inst {
				p.body = append(p.body, i)
			}
		}
	}
	return p
}

// inside lists the statements of a part that write a register.
func (a *waiter) inside(p *part, r ir.Reg) (out []int) {
	for _, d := range a.Defs(r) {
		if p.in[a.Block(d)] {
			out = append(out, d)
		}
	}
	return out
}

// loop looks at a strongly connected part, and at those inside it.
func (a *waiter) loop(blocks []int) (int, error) {
	p := a.part(blocks)
	anew := func(i int) bool { return a.looks(p, i) }
	from, err := a.follow(p, anew)
	if err != nil {
		return -1, err
	}
	for _, b := range p.blocks {
		if at := a.decided(b, from); at >= 0 && a.leaves(p, b) {
			return at, nil
		}
	}
	skip := a.progress(p)
	if len(skip) == 0 {
		synced := slices.ContainsFunc(p.body, func(i int) bool {
			return a.does(i, a.called.orders, orders)
		})
		from, err := a.follow(p, func(i int) bool { return anew(i) || a.reloads(p, i, synced) })
		if err != nil {
			return -1, err
		}
		for _, b := range p.blocks {
			if at := a.decided(b, from); at >= 0 && a.repeats(p, b) {
				return at, nil
			}
		}
		skip = map[int]bool{a.head(p): true}
	}
	rest := slices.DeleteFunc(slices.Clone(p.blocks), func(b int) bool { return skip[b] })
	for _, inner := range graph.Cycles(a.Successors(), rest) {
		if at, err := a.loop(inner); at >= 0 || err != nil {
			return at, err
		}
	}
	return -1, nil
}

// head is a block by which the part is entered.
func (a *waiter) head(p *part) int {
	for b, block := range a.Blocks {
		for _, s := range block.Succs {
			if !p.in[b] && p.in[s] {
				return s
			}
		}
	}
	return p.blocks[0]
}

// decided returns the look that a block's conditional branch follows from, -1 where there is none.
func (a *waiter) decided(b int, from map[ir.Reg]int) int {
	if i := a.Branch(b); i >= 0 {
		for _, x := range a.Accesses(i) {
			if at, ok := from[x.Reg]; ok && x.Read {
				return at
			}
		}
	}
	return -1
}

// leaves reports whether a block has a way out of the part.
func (a *waiter) leaves(p *part, b int) bool {
	last := a.Blocks[b].Last - 1
	if op := a.Inst(last).Op; op != "" && a.Leaves(last) && op != "bra" && op != "brx" {
		return true // a guarded ret
	}
	return slices.ContainsFunc(a.Blocks[b].Succs, func(s int) bool { return !p.in[s] })
}

// repeats reports whether a branch decides about coming back to itself: it can before its ways have
// met.
func (a *waiter) repeats(p *part, b int) bool {
	stop := a.Meet(b)
	return b != stop && a.Reaches(a.Blocks[b].Succs, b, func(s int) bool { return s == stop || !p.in[s] })
}

// everyTurn reports whether every way around from block b to itself, within the part, passes one of
// these blocks.
func (a *waiter) everyTurn(p *part, b int, through map[int]bool) bool {
	if through[b] {
		return true
	}
	a.work += len(p.blocks) / 8
	return !a.Reaches(a.Blocks[b].Succs, b, func(s int) bool { return s == b || !p.in[s] || through[s] })
}

// does reports what an instruction does, or what any function does that a call may lead to.
func (a *waiter) does(i int, called bool, own func(*ptx.Func, int) bool) bool {
	if a.Inst(i).Op == "call" {
		return called
	}
	return own(a.Func.Func, i)
}

// looks reports whether an instruction looks at other blocks' memory anew in each turn.
func (a *waiter) looks(p *part, i int) bool {
	return a.does(i, a.called.asks, asks) && !a.ofBlock(i) && !a.advances(p, i)
}

// reloads reports whether an instruction reads other blocks' memory and may do so anew in each
// turn.
func (a *waiter) reloads(p *part, i int, synced bool) bool {
	switch x := a.Inst(i); x.Op {
	case "call":
		return a.called.reads
	case "cp": // into shared memory
		return synced && x.Has("global")
	case "ld", "ldu", "suld", "tex", "tld4":
		return reads(a.Func.Func, i) && !a.ofBlock(i) && (synced || a.sameAddress(p, i) || x.Op == "ld" &&
			slices.ContainsFunc(p.body, func(j int) bool { // an atomic on the place: behind it
				return a.Inst(j).Op == "atom" && elsewhere(a.Opcode(j)) && !a.ofBlock(j) && a.mayAlias(i, j)
			}))
	}
	return false
}

// ofBlock reports whether a generic address is known to be the block's own shared memory.
func (a *waiter) ofBlock(i int) bool {
	o := a.Inst(i).Address()
	return o != nil && !a.Inst(i).Has("global") && a.Origin(*o).Shared
}

// mayAlias reports whether two instructions may be on the same memory. Two parameters are taken for
// two places.
func (a *waiter) mayAlias(i, j int) bool {
	x, y := a.root(i), a.root(j)
	return x == "" || y == "" || x == y
}

// root names the parameter or the variable that an instruction's address begins with, "" where that
// is not known.
func (a *waiter) root(i int) string {
	if o := a.Inst(i).Address(); o != nil {
		return a.Origin(*o).Root
	}
	return ""
}

// sameAddress reports whether there is a way around from a load to itself on which nothing changes
// the registers of its address. Its guard is none of them: it may be computed anew in every turn,
// from what the load returned.
func (a *waiter) sameAddress(p *part, i int) bool {
	writers := make(map[int]bool)
	for _, x := range a.Accesses(i) {
		if x.Read && !a.guards(x) && !a.invariant(p, x.Reg, 8) {
			for _, d := range a.Defs(x.Reg) {
				writers[a.Block(d)] = true
			}
		}
	}
	return !a.everyTurn(p, a.Block(i), writers)
}

// invariant reports whether a register changes once at most: the part does not write it, or at one
// place (under a guard, even), and computes it there from what is the same in every turn.
func (a *waiter) invariant(p *part, r ir.Reg, depth int) bool {
	d := a.inside(p, r)
	if len(d) == 0 {
		return true
	}
	return len(d) == 1 && depth > 0 && ir.Pure(a.Inst(d[0]).Op) &&
		!slices.ContainsFunc(a.Accesses(d[0]), func(x ir.Access) bool {
			return x.Read && !a.guards(x) && (x.Reg == r || !a.invariant(p, x.Reg, depth-1))
		})
}

// guards reports whether an access is that of a statement's guard.
func (a *waiter) guards(x ir.Access) bool { return x.At.Start < a.Stmts[x.Stmt].Op }

// follow returns the registers whose values follow, in this part, from the looks that seed picks,
// each with its look. A block hands on to itself what one of its threads has seen through shared
// and local memory, and through arguments and results of calls.
func (a *waiter) follow(p *part, seed func(int) bool) (map[ir.Reg]int, error) {
	from := make(map[ir.Reg]int)
	seeds := make(map[int]bool)
	for _, i := range p.body {
		if seed(i) {
			seeds[i] = true
		}
	}
	memory := -1
	under, done := make(map[int]int), make(map[int]bool) // blocks that a branch that follows decides about
	for grown := len(seeds) > 0; grown; {
		grown = false
		if a.work += len(p.body); a.work > limitWork {
			return nil, errWork
		}
		for _, i := range p.body {
			at := a.source(i, seeds, from, under, memory)
			if at < 0 {
				continue
			}
			for _, x := range a.Accesses(i) {
				if _, ok := from[x.Reg]; x.Write && !ok {
					from[x.Reg], grown = at, true
				}
			}
			if memory < 0 && a.hands(i) {
				memory, grown = at, true
			}
		}
		for _, b := range p.blocks {
			at := a.decided(b, from)
			if at < 0 || done[b] {
				continue
			}
			done[b] = true
			for _, s := range a.Apart(b) {
				if _, ok := under[s]; !ok && p.in[s] {
					under[s], grown = at, true
				}
			}
		}
	}
	return from, nil
}

// source returns the look that an instruction's effect follows from, -1 where there is none.
func (a *waiter) source(i int, seeds map[int]bool, from map[ir.Reg]int, under map[int]int,
	memory int) int {
	if seeds[i] {
		return i
	}
	for _, x := range a.Accesses(i) {
		if at, ok := from[x.Reg]; ok && x.Read {
			return at
		}
	}
	if at, ok := under[a.Block(i)]; ok {
		return at
	}
	switch a.Inst(i).Op {
	case "ld", "atom", "ldmatrix":
		if own(a.Opcode(i)) && !a.ownParameter(i) {
			return memory
		}
	case "call":
		return memory
	}
	return -1
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
	case "cp", "call":
		return true
	}
	return false
}
