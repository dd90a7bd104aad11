package hazard

import (
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// What happens between taking a lock and giving it free.

// A held lock's walk keeps these in its state.
const dirty = 1 // data was written since the last fence

// lock looks at one spin loop.
func (k *kernelView) lock(s dataflow.Spin) {
	frees := k.releases(s)
	meeting := k.meeting(s)
	barrier, unfenced, behind := -1, -1, false
	if len(frees) > 0 {
		k.walk.AfterTaking(s, func(i int, state uint8) (uint8, bool) {
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
			switch string(k.Base(i)) {
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
			k.walk.AfterTaking(s, func(i int, state uint8) (uint8, bool) {
				if k.blockOf(i) == meeting {
					behind = true
					return 0, false
				}
				return 0, !slices.Contains(frees, i) && string(k.Base(i)) != "call"
			})
		}
	}
	own := k.depend(base(k, s))&onThread != 0 && k.depend(base(k, s))&onData == 0
	alone := k.singled(s.Atom)
	sm := k.target()
	if behind && sm > 0 && sm < 70 && !own && !alone {
		k.tell(s.Atom, Lockstep,
			fmt.Sprintf(
				"lanes of a warp spin on a lock, and the one that has it must wait behind the loop for the others before it can give it free: sm_%d hangs", sm),
			"put the critical section and the release inside the loop (done = false; while (!done) if (atomicCAS(...) == 0) { ...; release; done = true; }), let one lane per warp take the lock, or build for sm_70 or later")
	}
	if barrier >= 0 && !own && !alone {
		k.tell(barrier, Held, "a thread that has the lock taken"+at(k.line(s.Atom))+
			" waits at a barrier of the whole block for threads that wait for that lock",
			"give the lock free before __syncthreads(), or let one thread of the block take it")
	}
	if unfenced >= 0 {
		k.tell(unfenced, Fence, "what was written under the lock taken"+at(k.line(s.Atom))+
			" may be seen after the lock is free: nothing orders the two",
			"put __threadfence_block() in front of the release (and behind the acquire), or use cuda::atomic_ref with release and acquire")
	}
	if len(frees) == 0 {
		k.handover(s)
	}
}

func at(line string) string {
	if line == "" {
		return ""
	}
	return " at " + line
}

// base is the register or name in a lock's address.
func base(k *kernelView, s dataflow.Spin) string {
	b, _, _ := k.Address(s.Address)
	return string(b)
}

// writes returns the address operand of an instruction that writes memory, "" for others.
func (k *kernelView) writes(i int) (address ptx.Span, ok bool) {
	ops := k.Operands(i, nil)
	switch string(k.Base(i)) {
	case "st", "red":
		if len(ops) > 0 {
			return ops[0], true
		}
	case "atom":
		if len(ops) > 1 {
			return ops[1], true
		}
	}
	return ptx.Span{}, false
}

// releases are the statements that write to the address of the lock and are no attempt to take it.
func (k *kernelView) releases(s dataflow.Spin) []int {
	var out []int
	for i, st := range k.Stmts {
		if st.Kind != ptx.Inst || i == s.Atom || k.attempt(i) {
			continue
		}
		if address, ok := k.writes(i); ok && k.walk.Origins.Place(address) == s.Lock {
			out = append(out, i)
		}
	}
	return out
}

func (k *kernelView) attempt(i int) bool {
	return slices.ContainsFunc(k.spins, func(s dataflow.Spin) bool { return s.Atom == i })
}

// data tells whether a store is to memory that others see.
func (k *kernelView) data(i int) bool {
	op := k.Opcode(i)
	space := ptx.Space(op)
	return space != "local" && space != "param" && !ptx.HasModifier(op, "async")
}

// ordered tells whether an instruction is a release by itself.
func ordered(op []byte) bool {
	return ptx.HasModifier(op, "release") || ptx.HasModifier(op, "acq_rel")
}

// meeting is the block behind a spin loop in which lanes that left it wait for those that did not,
// where lanes can't be scheduled independently: the next post-dominator that is no part of the way
// back. -1: none.
func (k *kernelView) meeting(s dataflow.Spin) int {
	at := k.blockOf(s.Atom)
	for n := 0; n <= len(k.walk.Blocks); n++ {
		at = k.graph.ipdom[at]
		if at < 0 || at >= len(k.walk.Blocks) {
			return -1
		}
		if !slices.Contains(s.Blocks, at) {
			return at
		}
	}
	return -1
}

// singled tells whether a statement is run by a few threads only that a comparison for equality
// picks out by their index: `if (threadIdx.x % 32 == 0)`.
func (k *kernelView) singled(stmt int) bool {
	block := k.blockOf(stmt)
	for b := range k.walk.Blocks {
		last := k.walk.Blocks[b].Last - 1
		guard, negated := k.Guard(last)
		if guard == nil || string(k.Base(last)) != "bra" || len(k.walk.Blocks[b].Succs) != 2 {
			continue
		}
		for side, along := range k.walk.Blocks[b].Succs { // the first is the branch's target
			if k.picks(string(guard), (side == 0) != negated, 6) && k.graph.only(block, b, along) {
				return true
			}
		}
	}
	return false
}

// picks tells whether a predicate with that value means that something of the thread's index equals
// something.
func (k *kernelView) picks(predicate string, holds bool, depth int) bool {
	defs := k.walk.Origins.Defs(predicate)
	if len(defs) != 1 || depth == 0 {
		return false
	}
	op, ops := k.Opcode(defs[0]), k.operands(defs[0])
	if len(ops) < 2 || len(ops) < 3 && string(op) != "not.pred" {
		return false
	}
	switch base := string(k.Base(defs[0])); {
	case base == "setp" && (holds && ptx.HasModifier(op, "eq") || !holds && ptx.HasModifier(op, "ne")):
		for _, text := range ops[1:] {
			if k.depend(text)&onThread != 0 {
				return true
			}
		}
	case string(op) == "not.pred":
		return k.picks(ops[1], !holds, depth-1)
	case string(op) == "and.pred" && holds, string(op) == "or.pred" && !holds:
		return k.picks(ops[1], holds, depth-1) || k.picks(ops[2], holds, depth-1)
	}
	return false
}

// order looks for two locks that are held together: taken in one order here and in the other there,
// or in the order of what was read.
func (k *kernelView) order() {
	type pair struct{ outer, inner dataflow.Spin }
	var pairs []pair
	for _, a := range k.spins {
		frees := k.releases(a)
		if len(frees) == 0 {
			continue
		}
		seen := map[int]bool{}
		k.walk.AfterTaking(a, func(i int, state uint8) (uint8, bool) {
			if slices.Contains(frees, i) || string(k.Base(i)) == "call" {
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
	const advice = "take locks in one order everywhere: the smaller address or index first"
	found := map[int]bool{}
	for n, p := range pairs {
		for _, q := range pairs[n+1:] {
			if p.outer.Lock == q.inner.Lock && p.inner.Lock == q.outer.Lock &&
				k.depend(base(k, p.outer)) == 0 && k.depend(base(k, p.inner)) == 0 && !found[q.inner.Atom] {
				found[q.inner.Atom] = true
				k.tell(q.inner.Atom, Order, "two locks are taken in one order here and in the other"+
					at(k.line(p.inner.Atom))+": two threads can each have one and wait for the other for ever",
					advice)
			}
		}
		if p.outer.Root != "" && p.outer.Root == p.inner.Root && k.depend(base(k, p.outer))&onData != 0 &&
			k.depend(base(k, p.inner))&onData != 0 && !k.sorted(p.outer, p.inner) && !found[p.inner.Atom] {
			found[p.inner.Atom] = true
			k.tell(p.inner.Atom, Order, "a second lock of the same array is taken while one is held"+
				at(k.line(p.outer.Atom))+
				", both by indexes that were read: two threads with the same two can each have one and wait for the other for ever", advice)
		}
	}
}

// sorted tells whether something in the kernel may have put the two addresses in order: a minimum,
// a maximum or a choice among what they are computed from, or a comparison of one with the other.
func (k *kernelView) sorted(a, b dataflow.Spin) bool {
	of, and := make(map[string]bool), make(map[string]bool)
	k.slice(base(k, a), of)
	k.slice(base(k, b), and)
	for reg := range of {
		for _, i := range k.walk.Origins.Defs(reg) {
			switch string(k.Base(i)) {
			case "min", "max", "selp", "slct":
				return true
			}
		}
	}
	for i, s := range k.Stmts {
		if s.Kind != ptx.Inst || string(k.Base(i)) != "setp" {
			continue
		}
		ops := k.operands(i)
		if len(ops) < 3 {
			continue
		}
		op := k.Opcode(i)
		if ptx.HasModifier(op, "eq") || ptx.HasModifier(op, "ne") {
			continue
		}
		if of[ops[1]] && and[ops[2]] || of[ops[2]] && and[ops[1]] {
			return true
		}
	}
	return false
}

// handover looks at a lock that its taker never gives free: a token, which another thread hands
// over.
func (k *kernelView) handover(s dataflow.Spin) {
	if s.Root == "" || k.depend(base(k, s)) != onThread || !k.singled(s.Atom) {
		return
	}
	for i, st := range k.Stmts {
		if st.Kind != ptx.Inst || k.attempt(i) {
			continue
		}
		switch string(k.Base(i)) {
		case "atom": // a store may be what sets the tokens up
		default:
			continue
		}
		address, ok := k.writes(i)
		if !ok {
			continue
		}
		b, _, ok := k.Address(address)
		if !ok || k.walk.Origins.Of(string(b)).Root != s.Root || k.depend(string(b)) != onThread ||
			!k.singled(i) {
			continue
		}
		if strings.Contains(string(k.Opcode(i)), ".exch.") {
			k.tell(s.Atom, Named, "one thread of a warp waits here for what another thread hands over"+
				at(k.line(i))+", and who waits for whom follows from their indexes alone",
				"whole warps can wait for whole warps at named barriers, without spinning (barrier.sync and barrier.arrive for two warps, as in examples/wavefront)")
			return
		}
	}
}
