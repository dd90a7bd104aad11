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
	var value [3]int64 // of the operands behind the result
	var known [3]bool
	if len(ops) > len(value)+1 {
		return 0, false
	}
	for i := 1; i < len(ops); i++ {
		value[i-1], known[i-1] = dataflow.Literal(string(a.f.Bytes(ops[i])))
		for _, x := range a.w.Accesses(d) {
			if x.Read && x.At == ops[i] {
				value[i-1], known[i-1] = a.result(b, d, x.Reg, flag, n, depth-1)
			}
		}
	}
	return outcome(string(a.f.Opcode(d)), value, known)
}

// outcome is the result of an instruction on constants, of which some may be unknown. Of numbers 0
// and small ones are looked at alone (0 to 127), which are the same in all integer types.
func outcome(op string, value [3]int64, known [3]bool) (int64, bool) {
	x, y := value[0], value[1]
	both := known[0] && known[1]
	truth := func(t bool) (int64, bool) {
		if t {
			return 1, true
		}
		return 0, true
	}
	zero := known[0] && x == 0 || known[1] && y == 0
	for i, k := range known {
		if k && (value[i] < 0 || value[i] > 0xff) {
			return 0, false
		}
	}
	switch words := strings.Split(op, "."); {
	case op == "mov.pred", op == "mov.u16", op == "mov.b16", op == "mov.u32", op == "mov.b32":
		return x, known[0]
	case op == "not.pred":
		n, _ := truth(x == 0)
		return n, known[0]
	case op == "and.pred" && zero:
		return 0, true
	case op == "and.pred" && both:
		return truth(x != 0 && y != 0)
	case op == "or.pred" && (known[0] && x != 0 || known[1] && y != 0):
		return 1, true
	case op == "or.pred" && both:
		return truth(x != 0 || y != 0)
	case (op == "and.b16" || op == "and.b32") && zero:
		return 0, true
	case (op == "and.b16" || op == "and.b32") && both:
		return x & y, true
	case len(words) == 3 && words[0] == "setp" && both && strings.Trim(words[2], "0123456789") != "f":
		switch words[1] {
		case "eq":
			return truth(x == y)
		case "ne":
			return truth(x != y)
		}
	}
	return 0, false
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
