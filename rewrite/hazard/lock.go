package hazard

import (
	"fmt"
	"slices"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// What happens between taking a lock and giving it free.

// A held lock's walk keeps these in its state.
const dirty = 1 // data was written since the last fence

// lock looks at one spin loop.
func (k *kernelView) lock(s ir.Spin) {
	frees := k.releases(s)
	meeting := k.meeting(s)
	barrier, unfenced, behind := -1, -1, false
	if len(frees) > 0 {
		k.AfterTaking(s, func(i int, state uint8) (uint8, bool) {
			switch {
			case slices.Contains(frees, i):
				if state&dirty != 0 && unfenced < 0 && !ordered(k.Opcode(i)) {
					unfenced = i
				}
				return 0, false
			case k.blockBarrier(i):
				if barrier < 0 {
					barrier = i
				}
				return state &^ dirty, true
			}
			switch k.Inst(i).Op {
			case "membar", "fence":
				return state &^ dirty, true
			case "st":
				if k.data(i) {
					state |= dirty
				}
			case "call": // what it does is not known here
				return 0, false
			}
			return state, true
		})
		if meeting >= 0 {
			k.AfterTaking(s, func(i int, state uint8) (uint8, bool) {
				if k.Block(i) == meeting {
					behind = true
					return 0, false
				}
				return 0, !slices.Contains(frees, i) && k.Inst(i).Op != "call"
			})
		}
	}
	own := k.onThread(s.Address) && !k.onData(s.Address)
	alone := k.singled(s.Atom)
	sm := k.target()
	if behind && sm > 0 && sm < 70 && !own && !alone {
		k.tell(s.Atom, Lockstep,
			fmt.Sprintf(
				"lanes of a warp spin on a lock, and the one that has it must wait behind the loop for the others before it can release it: sm_%d hangs", sm),
			"put the critical section and the release inside the loop (done = false; while (!done) if (atomicCAS(...) == 0) { ...; release; done = true; }), let one lane per warp take the lock, or build for sm_70 or later")
	}
	if barrier >= 0 && !own && !alone {
		k.tell(barrier, Held, "a thread that has the lock taken"+at(k.line(s.Atom))+
			" waits at a block-wide barrier for threads that wait for that lock",
			"release the lock before __syncthreads(), or let one thread of the block take it")
	}
	if unfenced >= 0 {
		k.tell(unfenced, Fence, "data written under the lock taken"+at(k.line(s.Atom))+
			" may become visible after the release: nothing orders the two",
			"put __threadfence_block() in front of the release (and behind the acquire), or use cuda::atomic_ref with release and acquire")
	}
}

func at(line string) string {
	if line == "" {
		return ""
	}
	return " at " + line
}

// releases are the statements that write to the address of the lock and are no attempt to take it.
func (k *kernelView) releases(s ir.Spin) []int {
	var out []int
	for i := range k.Stmts {
		switch k.Inst(i).Op {
		case "st", "red", "atom":
			if i != s.Atom && !k.attempt(i) && k.Location(i) == s.Lock {
				out = append(out, i)
			}
		}
	}
	return out
}

func (k *kernelView) attempt(i int) bool {
	return slices.ContainsFunc(k.spins, func(s ir.Spin) bool { return s.Atom == i })
}

// data reports whether a store is to memory that others see.
func (k *kernelView) data(i int) bool {
	op := k.Opcode(i)
	space := ptx.Space(op)
	return space != "local" && space != "param" && !ptx.HasModifier(op, "async")
}

// ordered reports whether an instruction is a release by itself.
func ordered(op []byte) bool {
	return ptx.HasModifier(op, "release") || ptx.HasModifier(op, "acq_rel")
}

// meeting is the block behind a spin loop in which lanes that left it wait for those that did not,
// where lanes can't be scheduled independently: the next post-dominator that is no part of the way
// back. -1: none.
func (k *kernelView) meeting(s ir.Spin) int {
	at := k.Block(s.Atom)
	for n := 0; n <= len(k.Blocks); n++ {
		at = k.Meet(at)
		if at < 0 || at >= len(k.Blocks) {
			return -1
		}
		if !slices.Contains(s.Blocks, at) {
			return at
		}
	}
	return -1
}

// singled reports whether a statement is run by a few threads only that a comparison for equality
// picks out by their index: `if (threadIdx.x % 32 == 0)`.
func (k *kernelView) singled(stmt int) bool {
	block := k.Block(stmt)
	for b := range k.Blocks {
		x := k.Inst(k.Blocks[b].Last - 1)
		if x.Guard == ir.None || x.Op != "bra" || len(k.Blocks[b].Succs) != 2 {
			continue
		}
		for side, along := range k.Blocks[b].Succs { // the first is the branch's target
			if k.picks(x.Guard, (side == 0) != x.Unless, 6) && k.only(block, b, along) {
				return true
			}
		}
	}
	return false
}

// only reports whether every way from the entry to a block goes along the edge from -> along.
func (k *kernelView) only(block, from, along int) bool {
	blocks := slices.Clone(k.Blocks)
	blocks[from].Succs = slices.DeleteFunc(slices.Clone(blocks[from].Succs), func(s int) bool {
		return s == along
	})
	return !ptx.Onward(blocks, []int{0}, nil)[block]
}

// picks reports whether a predicate with that value means that something of the thread's index
// equals something.
func (k *kernelView) picks(predicate ir.Reg, holds bool, depth int) bool {
	if predicate == ir.None || len(k.Defs(predicate)) != 1 || depth == 0 {
		return false
	}
	x := k.Inst(k.Defs(predicate)[0])
	switch n := len(x.Args); {
	case x.Op == "setp" && n > 2 && (holds && x.Has("eq") || !holds && x.Has("ne")):
		return slices.ContainsFunc(x.Args[1:], k.onThread)
	case x.Is("not.pred") && n > 1:
		return k.picks(x.Args[1].Reg, !holds, depth-1)
	case n > 2 && (x.Is("and.pred") && holds || x.Is("or.pred") && !holds):
		return k.picks(x.Args[1].Reg, holds, depth-1) || k.picks(x.Args[2].Reg, holds, depth-1)
	}
	return false
}

// order looks for two locks that are held together: taken in one order here and in the other there,
// or in the order of what was read.
func (k *kernelView) order() {
	type pair struct{ outer, inner ir.Spin }
	var pairs []pair
	for _, a := range k.spins {
		frees := k.releases(a)
		if len(frees) == 0 {
			continue
		}
		seen := map[int]bool{}
		k.AfterTaking(a, func(i int, state uint8) (uint8, bool) {
			if slices.Contains(frees, i) || k.Inst(i).Op == "call" {
				return 0, false
			}
			for _, b := range k.spins {
				if b.Atom == i && !seen[i] && b.Lock != a.Lock {
					seen[i] = true
					pairs = append(pairs, pair{a, b})
				}
			}
			return 0, true
		})
	}
	fixed := func(s ir.Spin) bool { return !k.onThread(s.Address) && !k.onData(s.Address) }
	const advice = "take locks in one order everywhere: the smaller address or index first"
	found := map[int]bool{}
	for n, p := range pairs {
		for _, q := range pairs[n+1:] {
			if p.outer.Lock == q.inner.Lock && p.inner.Lock == q.outer.Lock &&
				fixed(p.outer) && fixed(p.inner) && !found[q.inner.Atom] {
				found[q.inner.Atom] = true
				k.tell(q.inner.Atom, Order, "two locks are taken in one order here and in the other"+
					at(k.line(p.inner.Atom))+": two threads can each have one and wait for the other for ever",
					advice)
			}
		}
		if p.outer.Root != "" && p.outer.Root == p.inner.Root && k.onData(p.outer.Address) &&
			k.onData(p.inner.Address) && !k.sorted(p.outer, p.inner) && !found[p.inner.Atom] {
			found[p.inner.Atom] = true
			k.tell(p.inner.Atom, Order, "a second lock of the same array is taken while one is held"+
				at(k.line(p.outer.Atom))+
				", both by indexes that were read: two threads with the same two can each have one and wait for the other for ever", advice)
		}
	}
}

// sorted reports whether something in the kernel may have put the two addresses in order: a minimum,
// a maximum or a choice among what they are computed from, or a comparison of one with the other.
func (k *kernelView) sorted(a, b ir.Spin) bool {
	of, and := map[ir.Reg]bool{}, map[ir.Reg]bool{}
	k.slice(a.Address.Reg, of)
	k.slice(b.Address.Reg, and)
	for r := range of {
		for _, i := range k.Defs(r) {
			switch k.Inst(i).Op {
			case "min", "max", "selp", "slct":
				return true
			}
		}
	}
	for i := range k.Stmts {
		if x := k.Inst(i); x.Op == "setp" && len(x.Args) > 2 && !x.Has("eq", "ne") &&
			(of[x.Args[1].Reg] && and[x.Args[2].Reg] || of[x.Args[2].Reg] && and[x.Args[1].Reg]) {
			return true
		}
	}
	return false
}
