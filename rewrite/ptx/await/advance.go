package await

import (
	"slices"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// Atomics in a loop that wait for nobody: retries, and what blocks take work by.

// advances tells the atomics that wait for nobody. Nothing else in the part may write to the same
// place: what is added there is not taken back, and who swaps is overtaken by others alone.
func (a *waiter) advances(p *part, i int) bool {
	op, ops := a.f.Opcode(i), a.f.Operands(i, nil)
	if string(a.f.Base(i)) != "atom" || len(ops) < 3 {
		return false
	}
	switch {
	case ptx.HasModifier(op, "inc"), ptx.HasModifier(op, "dec"):
		n, known := a.constant(i, ops[2])
		return known && n != 0 && !a.written(p, i, func(int) bool { return false })
	case ptx.HasModifier(op, "add"):
		n, known := a.added(i)
		return known && !a.written(p, i, func(j int) bool {
			k, known := a.added(j)
			return known && (k < 0) == (n < 0) // else a semaphore is given back
		})
	case ptx.HasModifier(op, "cas"):
		return len(ops) >= 4 && a.retry(p, i, ops) && slices.ContainsFunc(p.blocks, func(b int) bool {
			pred, ends, ok := a.leaving(p, b)
			return ok && a.everyTurn(p, int(a.block[i]), map[int]bool{b: true}) &&
				a.swapped(p, b, pred, ends)
		})
	}
	return false
}

// written reports whether another instruction of the part may write to an atomic's place, additions
// that are fine apart.
func (a *waiter) written(p *part, atomic int, fine func(int) bool) bool {
	root := a.root(atomic)
	return slices.ContainsFunc(p.body, func(j int) bool {
		switch base := string(a.f.Base(j)); {
		case j == atomic:
			return false
		case base == "call":
			return true
		case base != "st" && base != "atom" && base != "red" && base != "sust" && base != "cp" ||
			!elsewhere(a.f.Opcode(j)):
			return false
		case (base == "atom" || base == "red") && ptx.HasModifier(a.f.Opcode(j), "add") && fine(j):
			return false
		}
		other := a.root(j)
		return root == "" || other == "" || root == other
	})
}

// root names the parameter or the variable that an instruction's address begins with, "" where that
// is not known. Two parameters are taken for two places.
func (a *waiter) root(i int) string {
	for _, o := range a.f.Operands(i, nil) {
		if base, _, ok := a.f.Address(o); ok {
			return a.origins.Of(string(base)).Root
		}
	}
	return ""
}

// added is what an addition adds, where that is known not to be 0; for the size of a block, 1.
func (a *waiter) added(i int) (int64, bool) {
	ops := a.f.Operands(i, nil)
	last := ops[len(ops)-1]
	if string(a.f.Base(i)) == "atom" && len(ops) > 2 {
		last = ops[2]
	}
	if n, known := a.constant(i, last); known {
		typ := string(a.f.Opcode(i))
		if strings.HasSuffix(typ, "32") { // 0xffffffff takes 1 away
			n = int64(int32(n))
		}
		return n, n != 0
	}
	text, wide := strings.CutPrefix(a.origins.Expression(string(a.f.Bytes(last))), "cvt.u64.u32(")
	if wide {
		text = strings.TrimSuffix(text, ")")
	}
	switch text {
	case "%ntid.x", "%ntid.y", "%ntid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z":
		return 1, true
	}
	return 0, false
}

// retry reports whether the comparand of a swap is read anew from the same place on every way from
// one attempt to the next, by the attempt itself or by another look. Forward data flow: the
// registers that hold something newer than the last attempt.
func (a *waiter) retry(p *part, cas int, ops []ptx.Span) bool {
	if string(a.f.Bytes(ops[2])) == string(a.f.Bytes(ops[3])) {
		return false // it stores what it found: that is a look
	}
	if a.written(p, cas, func(int) bool { return false }) {
		return false
	}
	var comparand int32 = -1
	start := make(map[int32]bool)
	for _, x := range a.w.Accesses(cas) {
		if x.Read && x.At == ops[2] {
			comparand = x.Reg
		}
		if x.Write && !x.Kept {
			start[x.Reg] = true
		}
	}
	if comparand < 0 {
		return false
	}
	place := a.place(cas)
	// run goes through the statements [from, to) of a block.
	run := func(state map[int32]bool, from, to int) map[int32]bool {
		state = cloneSet(state)
		for i := from; i < to; i++ {
			a.renew(i, place, state)
		}
		return state
	}
	home := int(a.block[cas])
	before := make(map[int]map[int32]bool) // at the block's beginning; missing: not reached yet
	todo := []int{}
	enter := func(b int, state map[int32]bool) {
		for _, s := range a.w.Blocks[b].Succs {
			if !p.in[s] {
				continue
			}
			old, ok := before[s]
			if !ok {
				before[s] = cloneSet(state)
				todo = append(todo, s)
				continue
			}
			size := len(old)
			for r := range old {
				if !state[r] {
					delete(old, r)
				}
			}
			if len(old) < size {
				todo = append(todo, s)
			}
		}
	}
	enter(home, run(start, cas+1, a.w.Blocks[home].Last))
	for len(todo) > 0 {
		b := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if a.work += len(p.body) / len(p.blocks); a.work > limitWork {
			return false
		}
		if b != home {
			enter(b, run(before[b], a.w.Blocks[b].First, a.w.Blocks[b].Last))
		}
	}
	state, ok := before[home]
	return ok && run(state, a.w.Blocks[home].First, cas)[comparand]
}

// renew carries the set of newer registers over one statement.
func (a *waiter) renew(i int, place string, state map[int32]bool) {
	list := a.w.Accesses(i)
	newer := false
	switch base := string(a.f.Base(i)); base {
	case "ld", "atom", "ldu":
		newer = a.place(i) == place
	default:
		newer = slices.ContainsFunc(list, func(x dataflow.Access) bool {
			return x.Read && state[x.Reg] && !a.guards(x)
		})
	}
	for _, x := range list {
		switch {
		case !x.Write:
		case newer && (!x.Kept || state[x.Reg]):
			state[x.Reg] = true
		default:
			delete(state, x.Reg)
		}
	}
}

// place names the address of a load or an atomic, in terms of what it is computed from.
func (a *waiter) place(i int) string {
	for _, o := range a.f.Operands(i, nil) {
		if place := a.origins.Place(o); place != "" {
			return place
		}
	}
	return ""
}

func cloneSet(s map[int32]bool) map[int32]bool {
	out := make(map[int32]bool, len(s))
	for r := range s {
		out[r] = true
	}
	return out
}
