package await

import (
	"errors"
	"slices"

	"gnvcc/graph"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// One loop at a time: does it go on by what other blocks have written?
//
// A loop is a strongly connected part of the control flow. Looks at memory are loads that are made
// anew each time (volatile, relaxed, acquire, mmio, .cv, .cg), atomics, what a function brings back
// that looks, and weak loads where a barrier, a fence, a sleep, an ordered access or such a call
// stands in the loop, or where the address is the same in every turn. What follows from them is
// followed through registers, through shared and local memory (one thread polls for its block), and
// through branches. The loop waits
//
//   - if a branch that leaves it follows from a look that is made anew each time;
//   - if a branch that follows from any look decides whether it is come back to, unless every turn
//     is counted: then the loop ends by itself (progress.go).
//
// Two kinds of atomics wait for nobody: a compare-and-swap whose comparand is read anew in every
// turn from the same place, and after whose success the loop is left, the usual retry, in which a
// thread fails only because another one succeeded; and additions of a constant that is not 0, all
// of one sign, by which blocks take work from a queue.

// A waiter looks at the loops of one function.
type waiter struct {
	m       *ptx.Module
	f       *ptx.Func
	w       *dataflow.Flow
	origins *dataflow.Origins
	callees map[string]*callee
	block   []int32         // by statement
	defs    map[int32][]int // by register: the statements that write it
	after   [][]int         // by block: what may follow it
	behind  []int           // by block: its immediate postdominator
	// registers that may be read before they are written: they have no value that is known
	unset map[int32]bool
	work  int
}

// limitWork bounds what is looked at in one function, statements times rounds.
const limitWork = 1 << 28

var errWork = errors.New("ptx: the loops are more than is followed")

// awaits returns the first instruction of a function that a loop waits for, -1 if there is none.
func awaits(f *ptx.Func, m *ptx.Module, callees map[string]*callee) (int, error) {
	blocks, err := f.Blocks()
	if err != nil {
		return -1, err
	}
	all := make([]int, len(blocks))
	for b := range all {
		all[b] = b
	}
	after := dataflow.Successors(blocks)
	loops := graph.Cycles(after, all)
	if len(loops) == 0 {
		return -1, nil
	}
	w, err := dataflow.Of(f)
	if err != nil {
		return -1, err
	}
	a := &waiter{m: m, f: f, w: w, after: after, origins: dataflow.OriginsOf(f), callees: callees,
		block: make([]int32, len(f.Stmts)), defs: make(map[int32][]int),
		unset: make(map[int32]bool)}
	for _, x := range w.Live(0) {
		a.unset[x] = true
	}
	for b := range blocks {
		for i := blocks[b].First; i < blocks[b].Last; i++ {
			a.block[i] = int32(b)
			for _, x := range w.Accesses(i) {
				if x.Write {
					a.defs[x.Reg] = append(a.defs[x.Reg], i)
				}
			}
		}
	}
	a.behind = dataflow.Postdominators(f, blocks)
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
		for i := a.w.Blocks[b].First; i < a.w.Blocks[b].Last; i++ {
			if a.f.Stmts[i].Kind == ptx.Inst {
				p.body = append(p.body, i)
			}
		}
	}
	return p
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
		synced := slices.ContainsFunc(p.body, func(i int) bool { return a.orders(i) })
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
	var rest []int
	for _, b := range p.blocks {
		if !skip[b] {
			rest = append(rest, b)
		}
	}
	for _, inner := range graph.Cycles(a.after, rest) {
		if at, err := a.loop(inner); at >= 0 || err != nil {
			return at, err
		}
	}
	return -1, nil
}

// head is a block by which the part is entered.
func (a *waiter) head(p *part) int {
	for b, block := range a.w.Blocks {
		if !p.in[b] {
			for _, s := range block.Succs {
				if p.in[s] {
					return s
				}
			}
		}
	}
	return p.blocks[0]
}

// branch is a block's last statement if that is a conditional one that ends it, else -1.
func (a *waiter) branch(b int) int {
	last := a.w.Blocks[b].Last - 1
	s := a.f.Stmts[last]
	if s.Kind == ptx.Inst && a.f.Leaves(last) && (s.Guarded || string(a.f.Base(last)) == "brx") {
		return last
	}
	return -1
}

// decided returns the look that a block's conditional branch follows from, -1 where there is none.
func (a *waiter) decided(b int, from map[int32]int) int {
	i := a.branch(b)
	if i < 0 {
		return -1
	}
	for _, x := range a.w.Accesses(i) {
		if at, ok := from[x.Reg]; ok && x.Read {
			return at
		}
	}
	return -1
}

// leaves reports whether a block has a way out of the part.
func (a *waiter) leaves(p *part, b int) bool {
	if last := a.w.Blocks[b].Last - 1; a.f.Leaves(last) && string(a.f.Base(last)) != "bra" &&
		string(a.f.Base(last)) != "brx" {
		return true // a guarded ret
	}
	return slices.ContainsFunc(a.w.Blocks[b].Succs, func(s int) bool { return !p.in[s] })
}

// repeats reports whether a branch decides about coming back to itself: it can before its ways have
// met.
func (a *waiter) repeats(p *part, b int) bool {
	return a.region(b, func(s int) bool { return p.in[s] })[b]
}

// region is the set of blocks between a branch and the place where its ways meet.
func (a *waiter) region(b int, in func(int) bool) map[int]bool {
	stop := a.behind[b]
	barred := func(s int) bool { return s == stop || !in(s) }
	out := make(map[int]bool)
	for s, is := range ptx.Onward(a.w.Blocks, a.w.Blocks[b].Succs, barred) {
		if is && !barred(s) {
			out[s] = true
		}
	}
	a.work += len(out)
	return out
}

// looks reports whether an instruction looks at other blocks' memory anew in each turn; a call may.
func (a *waiter) looks(p *part, i int) bool {
	if string(a.f.Base(i)) == "call" {
		return slices.ContainsFunc(called(a.m, a.f, i), func(name string) bool {
			c := a.callees[name]
			return c == nil || c.asks
		})
	}
	return asks(a.f, i) && !a.ofBlock(i) && !a.advances(p, i)
}

// orders is the function orders, calls included.
func (a *waiter) orders(i int) bool {
	if string(a.f.Base(i)) == "call" {
		return slices.ContainsFunc(called(a.m, a.f, i), func(name string) bool {
			c := a.callees[name]
			return c == nil || c.orders
		})
	}
	return orders(a.f, i)
}

// reloads reports whether an instruction reads other blocks' memory and may do so anew in each
// turn.
func (a *waiter) reloads(p *part, i int, synced bool) bool {
	switch base := string(a.f.Base(i)); base {
	case "call":
		return slices.ContainsFunc(called(a.m, a.f, i), func(name string) bool {
			c := a.callees[name]
			return c == nil || c.reads
		})
	case "cp": // into shared memory
		return synced && ptx.HasModifier(a.f.Opcode(i), "global")
	case "ld", "ldu", "suld", "tex", "tld4":
		if !reads(a.f, i) || a.ofBlock(i) {
			return false
		}
		return synced || a.sameAddress(p, i) || base == "ld" && a.touched(p, i)
	}
	return false
}

// ofBlock tells generic addresses that are known to be the block's own shared memory.
func (a *waiter) ofBlock(i int) bool {
	if ptx.HasModifier(a.f.Opcode(i), "global") {
		return false
	}
	for _, o := range a.f.Operands(i, nil) {
		if base, _, ok := a.f.Address(o); ok {
			return a.origins.Of(string(base)).Shared
		}
	}
	return false
}

// touched reports whether an atomic of the part may be on the place that a load reads: behind it
// the load is made anew.
func (a *waiter) touched(p *part, i int) bool {
	root := a.root(i)
	return slices.ContainsFunc(p.body, func(j int) bool {
		if string(a.f.Base(j)) != "atom" || !elsewhere(a.f.Opcode(j)) || a.ofBlock(j) {
			return false
		}
		other := a.root(j)
		return root == "" || other == "" || root == other
	})
}

// sameAddress reports whether there is a way around from a load to itself on which nothing changes
// the registers of its address. Its guard is none of them: it may be computed anew in every turn,
// from what the load returned.
func (a *waiter) sameAddress(p *part, i int) bool {
	writers := make(map[int]bool)
	for _, x := range a.w.Accesses(i) {
		if !x.Read || a.guards(x) || a.invariant(p, x.Reg, 8) {
			continue
		}
		for _, d := range a.defs[x.Reg] {
			writers[int(a.block[d])] = true
		}
	}
	return !a.everyTurn(p, int(a.block[i]), writers)
}

// invariant reports whether a register changes once at most: the part does not write it, or at one
// place (under a guard, even), and computes it there from what is the same in every turn.
func (a *waiter) invariant(p *part, reg int32, depth int) bool {
	inside := -1
	for _, d := range a.defs[reg] {
		if p.in[int(a.block[d])] {
			if inside >= 0 {
				return false
			}
			inside = d
		}
	}
	if inside < 0 {
		return true
	}
	if depth == 0 || !dataflow.Pure(string(a.f.Base(inside))) {
		return false
	}
	return !slices.ContainsFunc(a.w.Accesses(inside), func(x dataflow.Access) bool {
		return x.Read && !a.guards(x) && (x.Reg == reg || !a.invariant(p, x.Reg, depth-1))
	})
}

// constant is the integer that an operand of a statement is known to be.
func (a *waiter) constant(i int, operand ptx.Span) (int64, bool) {
	for _, x := range a.w.Accesses(i) {
		if x.Read && x.At == operand && a.unset[x.Reg] {
			return 0, false
		}
	}
	return a.origins.Constant(string(a.f.Bytes(operand)))
}

// guards reports whether an access is that of a statement's guard.
func (a *waiter) guards(x dataflow.Access) bool { return x.At.Start < a.f.Stmts[x.Stmt].Op }

// Spaces through which a block hands on to itself what one of its threads has seen.
const (
	inShared = iota
	inLocal
	inParam // arguments and results of calls
	spaces
)

// touched lists the spaces that an instruction's memory operand may lie in.
func touched(f *ptx.Func, i int) [spaces]bool {
	op := f.Opcode(i)
	switch {
	case ptx.HasAny(op, "shared", "shared::cta", "shared::cluster"):
		return [spaces]bool{inShared: true}
	case ptx.HasAny(op, "local"):
		return [spaces]bool{inLocal: true}
	case ptx.HasAny(op, "param", "param::func"):
		return [spaces]bool{inParam: true}
	case ptx.HasAny(op, "global", "const", "param::entry"):
		return [spaces]bool{}
	}
	return [spaces]bool{inShared: true, inLocal: true}
}

// follow returns the registers whose values follow, in this part, from the looks that seed tells,
// each with its look.
func (a *waiter) follow(p *part, seed func(int) bool) (map[int32]int, error) {
	from := make(map[int32]int)
	seeds := make(map[int]bool)
	for _, i := range p.body {
		if seed(i) {
			seeds[i] = true
		}
	}
	if len(seeds) == 0 {
		return from, nil
	}
	memory := [spaces]int{-1, -1, -1}
	under := make(map[int]int) // blocks that a branch that follows from a look decides about
	for grown := true; grown; {
		grown = false
		if a.work += len(p.body); a.work > limitWork {
			return nil, errWork
		}
		for _, i := range p.body {
			at := a.source(i, seeds, from, under, memory)
			if at < 0 {
				continue
			}
			for _, x := range a.w.Accesses(i) {
				if _, ok := from[x.Reg]; x.Write && !ok {
					from[x.Reg], grown = at, true
				}
			}
			for space, is := range a.stores(i) {
				if is && memory[space] < 0 {
					memory[space], grown = at, true
				}
			}
		}
		for _, b := range p.blocks {
			at := a.decided(b, from)
			if at < 0 {
				continue
			}
			if _, ok := under[-1-b]; ok { // done before
				continue
			}
			under[-1-b] = at
			for s := range a.region(b, func(int) bool { return true }) {
				if _, ok := under[s]; !ok && p.in[s] {
					under[s], grown = at, true
				}
			}
		}
	}
	return from, nil
}

// source returns the look that an instruction's effect follows from, -1 where there is none.
func (a *waiter) source(i int, seeds map[int]bool, from map[int32]int, under map[int]int,
	memory [spaces]int) int {
	if seeds[i] {
		return i
	}
	for _, x := range a.w.Accesses(i) {
		if at, ok := from[x.Reg]; ok && x.Read {
			return at
		}
	}
	if at, ok := under[int(a.block[i])]; ok {
		return at
	}
	switch string(a.f.Base(i)) {
	case "ld", "atom", "ldmatrix":
		if a.ownParameter(i) {
			return -1
		}
		for space, is := range touched(a.f, i) {
			if is && memory[space] >= 0 {
				return memory[space]
			}
		}
	case "call":
		return memory[inParam]
	}
	return -1
}

// ownParameter reports whether a load reads an argument of the function itself, which nothing
// changes.
func (a *waiter) ownParameter(i int) bool {
	ops := a.f.Operands(i, nil)
	if len(ops) < 2 || !ptx.HasAny(a.f.Opcode(i), "param", "param::entry", "param::func") {
		return false
	}
	base, _, ok := a.f.Address(ops[1])
	return ok && slices.ContainsFunc(a.f.Params, func(v ptx.Variable) bool {
		return v.Name == string(base)
	})
}

// stores lists the spaces that an instruction may write.
func (a *waiter) stores(i int) [spaces]bool {
	switch string(a.f.Base(i)) {
	case "st", "atom", "red", "stmatrix":
		return touched(a.f, i)
	case "cp":
		return [spaces]bool{inShared: true}
	case "call":
		return [spaces]bool{inShared: true, inLocal: true, inParam: true}
	}
	return [spaces]bool{}
}
