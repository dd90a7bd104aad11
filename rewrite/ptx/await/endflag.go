package await

import (
	"strings"

	"gnvcc/rewrite/ptx/dataflow"
)

// A counter beside a flag. The loop
//
//	while (i < n && on) { ...; if (found) i++; else on = false; ... }
//
// does not count in every turn, and yet it is counted: a turn that doesn't count sets the flag with
// which the loop is left. So ways around need no step where a register, last written on this way
// with a constant, is sure to make the branch leave.

// counts reports whether every way around from block b to itself, within the part, passes one of
// the steps, or leaves the part at b's branch by a flag.
func (a *waiter) counts(p *part, b int, steps map[int]bool) bool {
	if a.everyTurn(p, b, steps) {
		return true
	}
	pred, ends, ok := a.leaving(p, b)
	if !ok {
		return false
	}
	for _, flag := range a.inputs(b, a.branch(b), pred, nil, 8) {
		if set := a.endings(p, b, flag, pred, ends); set != nil && a.flagged(p, b, steps, flag, set) {
			return true
		}
	}
	return false
}

// inputs lists the registers that a block has from before and that it computes another one from,
// for its statement `user`, by unguarded instructions of its own.
func (a *waiter) inputs(b, user int, reg int32, found []int32, depth int) []int32 {
	d, own := a.computedIn(b, user, reg)
	if !own {
		return append(found, reg)
	}
	if d < 0 || depth == 0 {
		return found
	}
	for _, x := range a.w.Accesses(d) {
		if x.Read {
			found = a.inputs(b, d, x.Reg, found, depth-1)
		}
	}
	return found
}

// computedIn returns the only statement of a block that writes a register, in front of the one that
// reads it: own tells that the block writes it, and -1 comes where it does so in another way.
func (a *waiter) computedIn(b, user int, reg int32) (stmt int, own bool) {
	stmt = -1
	for _, d := range a.defs[reg] {
		if int(a.block[d]) != b {
			continue
		}
		if own {
			return -1, true
		}
		stmt, own = d, true
	}
	if own && (stmt >= user || a.f.Stmts[stmt].Guarded) {
		stmt = -1
	}
	return stmt, own
}

// endings returns the statements of the part that give the flag a constant with which block b's
// branch is taken out; nil if there is none.
func (a *waiter) endings(p *part, b int, flag, pred int32, ends bool) map[int]bool {
	var out map[int]bool
	for _, d := range a.defs[flag] {
		ops := a.f.Operands(d, nil)
		if !p.in[int(a.block[d])] || a.f.Stmts[d].Guarded || string(a.f.Base(d)) != "mov" ||
			len(ops) != 2 {
			continue
		}
		n, ok := dataflow.Literal(string(a.f.Bytes(ops[1])))
		if !ok {
			continue
		}
		if v, known := a.result(b, a.branch(b), pred, flag, n, 8); known && (v != 0) == ends {
			if out == nil {
				out = make(map[int]bool)
			}
			out[d] = true
		}
	}
	return out
}

// result is what statement `user` of block b reads from a register where the block is come to with
// a constant in the flag.
func (a *waiter) result(b, user int, reg, flag int32, n int64, depth int) (int64, bool) {
	d, own := a.computedIn(b, user, reg)
	if !own {
		return n, reg == flag
	}
	if d < 0 || depth == 0 {
		return 0, false
	}
	ops := a.f.Operands(d, nil)
	op := string(a.f.Opcode(d))
	either := strings.HasPrefix(op, "and.") || strings.HasPrefix(op, "or.")
	var low, high []int64 // of the operands behind the result; of one that is not known all bits
	for i := 1; i < len(ops); i++ {
		v, known := dataflow.Literal(string(a.f.Bytes(ops[i])))
		for _, x := range a.w.Accesses(d) {
			if x.Read && x.At == ops[i] {
				v, known = a.result(b, d, x.Reg, flag, n, depth-1)
			}
		}
		switch {
		case known:
			low, high = append(low, v), append(high, v)
		case either:
			low, high = append(low, 0), append(high, -1)
		default:
			return 0, false
		}
	}
	none, ok := dataflow.Compute([]byte(op), low...)
	all, _ := dataflow.Compute([]byte(op), high...)
	return none, ok && none == all
}

// flagged reports whether a walk from block b that passes no step comes back to b only with the
// flag set to end the loop.
func (a *waiter) flagged(p *part, b int, steps map[int]bool, flag int32, set map[int]bool) bool {
	last := make(map[int]int) // by block: the last statement that writes the flag
	for _, d := range a.defs[flag] {
		if c := int(a.block[d]); p.in[c] {
			if old, ok := last[c]; !ok || d > old {
				last[c] = d
			}
		}
	}
	type place struct {
		block int
		ends  bool
	}
	start := place{b, false}
	seen := map[place]bool{start: true}
	for todo := []place{start}; len(todo) > 0; {
		x := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if d, ok := last[x.block]; ok {
			x.ends = set[d]
		}
		for _, s := range a.w.Blocks[x.block].Succs {
			next := place{s, x.ends}
			if s == b && !x.ends {
				return false
			}
			if s != b && p.in[s] && !steps[s] && !seen[next] {
				seen[next] = true
				todo = append(todo, next)
			}
		}
	}
	a.work += len(seen)
	return true
}
