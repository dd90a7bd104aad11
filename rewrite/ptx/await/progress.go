package await

import (
	"slices"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// Turns that are counted. A loop that is left when a counter has come far enough waits for nobody,
// whatever else ends it; nor does one that is left when an attempt to swap has succeeded, since
// each turn means that somebody else's has.

// progress returns the blocks of a part at which it is left by a counter (every way around through
// such a block counts on, and the part does not set the counter back) or by the success of a retry.
func (a *waiter) progress(p *part) map[int]bool {
	var out map[int]bool
	for _, b := range p.blocks {
		pred, ends, ok := a.leaving(p, b)
		if ok && (a.counted(p, b, pred, ends, 8) || a.swapped(p, b, pred, ends)) {
			if out == nil {
				out = make(map[int]bool)
			}
			out[b] = true
		}
	}
	return out
}

// leaving returns the predicate of a block's conditional branch out of the part, and its value with
// which the part is left.
func (a *waiter) leaving(p *part, b int) (pred int32, ends, ok bool) {
	i := a.branch(b)
	if i < 0 || string(a.f.Base(i)) == "brx" || !a.leaves(p, b) {
		return 0, false, false
	}
	_, negated := a.f.Guard(i)
	ends = !negated
	if string(a.f.Base(i)) == "bra" {
		target := a.w.Blocks[b].Succs
		if len(target) != 2 || p.in[target[0]] == p.in[target[1]] {
			return 0, false, false
		}
		if p.in[target[0]] {
			ends = negated
		}
	}
	accesses := a.w.Accesses(i)
	if len(accesses) != 1 {
		return 0, false, false
	}
	return accesses[0].Reg, ends, true
}

// swapped reports whether a predicate has this value exactly where the swap of a retry has
// succeeded.
func (a *waiter) swapped(p *part, b int, pred int32, value bool) bool {
	defs := a.defs[pred]
	if len(defs) != 1 || a.f.Stmts[defs[0]].Guarded ||
		!a.everyTurn(p, b, map[int]bool{int(a.block[defs[0]]): true}) {
		return false
	}
	d := defs[0]
	words, ops := strings.Split(string(a.f.Opcode(d)), "."), a.f.Operands(d, nil)
	if len(words) != 3 || words[0] != "setp" || len(ops) != 3 || words[2][0] == 'f' ||
		words[1] != map[bool]string{true: "eq", false: "ne"}[value] {
		return false
	}
	for _, x := range a.w.Accesses(d) {
		from := a.defs[x.Reg]
		if !x.Read || len(from) != 1 || !p.in[int(a.block[from[0]])] ||
			!ptx.HasModifier(a.f.Opcode(from[0]),
				"cas") || a.f.Stmts[from[0]].Guarded {
			continue
		}
		cas := a.f.Operands(from[0], nil)
		other := ops[1]
		if x.At == other {
			other = ops[2]
		}
		if len(cas) >= 4 && string(a.f.Bytes(cas[2])) == string(a.f.Bytes(other)) &&
			a.retry(p, from[0], cas) {
			return true
		}
	}
	return false
}

// counted reports whether a predicate is sure to get this value in the end, by a counter, on every
// way around through block b.
func (a *waiter) counted(p *part, b int, pred int32, value bool, depth int) bool {
	defs := a.defs[pred]
	if depth == 0 || len(defs) != 1 || a.f.Stmts[defs[0]].Guarded || !p.in[int(a.block[defs[0]])] {
		return false
	}
	d := defs[0]
	if !a.everyTurn(p, b, map[int]bool{int(a.block[d]): true}) {
		return false
	}
	var from []int32
	for _, x := range a.w.Accesses(d) {
		if x.Read {
			from = append(from, x.Reg)
		}
	}
	part := func(n int, value bool) bool {
		return n < len(from) && a.counted(p, b, from[n], value, depth-1)
	}
	switch op := string(a.f.Opcode(d)); op {
	case "and.pred":
		if value {
			return part(0, true) && part(1, true)
		}
		return part(0, false) || part(1, false)
	case "or.pred":
		if value {
			return part(0, true) || part(1, true)
		}
		return part(0, false) && part(1, false)
	case "not.pred":
		return part(0, !value)
	case "mov.pred":
		return part(0, value)
	default:
		words := strings.Split(op, ".")
		if len(words) != 3 || words[0] != "setp" || words[2][0] == 'f' || len(a.f.Operands(d, nil)) != 3 {
			return false
		}
		return a.compared(p, b, d, words[1], value)
	}
}

// compared looks at the comparison of a counter with anything.
func (a *waiter) compared(p *part, b, setp int, relation string, value bool) bool {
	ops := a.f.Operands(setp, nil)
	for _, x := range a.w.Accesses(setp) {
		if !x.Read {
			continue
		}
		var bound *int64 // the constant to which it counts, of type s32
		if n, known := a.constant(setp, ops[2]); known && x.At == ops[1] &&
			(relation == "lt" || relation == "ge") && strings.HasSuffix(string(a.f.Opcode(setp)), ".s32") {
			bound = &n
		}
		sign, ok := a.counter(p, b, x.Reg, bound)
		if !ok {
			continue
		}
		if x.At.Start >= ops[2].Start { // on the right-hand side
			sign = -sign
		}
		switch relation {
		case "eq", "ne": // steps that are not known may be none
			if sign != 0 && value == (relation == "eq") {
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
// (sign 0: not known), or, where the loop goes on below a bound, what is left of it (remainder).
func (a *waiter) counter(p *part, b int, reg int32, bound *int64) (sign int, ok bool) {
	group := map[int32]bool{reg: true}
	todo := []int32{reg}
	steps := make(map[int]bool) // blocks that count
	copies := make(map[int32][]int32)
	first := true
	for len(todo) > 0 {
		r := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		inside := 0
		for _, d := range a.defs[r] {
			if !p.in[int(a.block[d])] {
				continue
			}
			inside++
			from, s, step, ok := a.step(p, d, bound)
			if !ok {
				return 0, false
			}
			if step {
				steps[int(a.block[d])] = true
				if !first && s != sign {
					return 0, false
				}
				sign, first = s, false
			} else {
				copies[r] = append(copies[r], from)
			}
			if !group[from] {
				group[from] = true
				todo = append(todo, from)
			}
		}
		if inside == 0 || len(group) > 64 { // set from outside: that is where it would begin anew
			return 0, false
		}
	}
	return sign, !circular(copies) && a.counts(p, b, steps)
}

// step reads a definition: a copy of another register, or one with something added.
func (a *waiter) step(p *part, d int, bound *int64) (from int32, sign int, step, ok bool) {
	if a.f.Stmts[d].Guarded {
		return 0, 0, false, false
	}
	op := string(a.f.Opcode(d))
	base, _, _ := strings.Cut(op, ".")
	ops := a.f.Operands(d, nil)
	var read []dataflow.Access
	for _, x := range a.w.Accesses(d) {
		if x.Read {
			read = append(read, x)
		}
	}
	if strings.Contains(op, ".f") || strings.Contains(op, ".pred") || len(read) == 0 {
		return 0, 0, false, false
	}
	switch {
	case (base == "mov" || base == "cvt") && len(ops) == 2 && len(read) == 1:
		return read[0].Reg, 0, false, true
	case (base == "add" || base == "sub") && len(ops) == 3:
		negative := base == "sub"
		if n, known := a.constant(d, ops[2]); known && n != 0 && read[0].At == ops[1] {
			if (n < 0) != negative {
				return read[0].Reg, -1, true, true
			}
			return read[0].Reg, 1, true, true
		}
		switch {
		case len(read) != 2:
		case a.steady(p, read[1].Reg):
			return read[0].Reg, 0, true, true
		case a.steady(p, read[0].Reg) && base == "add":
			return read[1].Reg, 0, true, true
		case base == "add" && a.remainder(p, d, read[1].Reg, read[0].Reg, bound):
			return read[0].Reg, 1, true, true
		case base == "add" && a.remainder(p, d, read[0].Reg, read[1].Reg, bound):
			return read[1].Reg, 1, true, true
		}
	}
	return 0, 0, false, false
}

// remainder reports whether statement d adds to i, in a loop that goes on below a bound, the step
// min(bound - i, n) with a constant n above 0: so it counts on by n, or i is the bound then.
func (a *waiter) remainder(p *part, d int, step, i int32, bound *int64) bool {
	least := a.sole(p, step, "min.s32")
	if bound == nil || least < 0 || a.sole(p, i, "") != d || string(a.f.Opcode(d)) != "add.s32" {
		return false
	}
	ops := a.f.Operands(least, nil)
	if n, known := a.constant(least, ops[2]); !known || n <= 0 || n > 1<<30 {
		return false
	}
	rest := -1
	for _, x := range a.w.Accesses(least) {
		if x.Read && x.At == ops[1] {
			rest = a.sole(p, x.Reg, "sub.s32")
		}
	}
	// all three in this order, in every turn
	in := a.block
	if rest < 0 || in[rest] != in[least] || rest > least || in[d] == in[least] && d < least ||
		!a.everyTurn(p, int(in[d]), map[int]bool{int(in[least]): true}) {
		return false
	}
	ops = a.f.Operands(rest, nil)
	m, known := a.constant(rest, ops[1])
	return known && m == *bound && slices.ContainsFunc(a.w.Accesses(rest),
		func(x dataflow.Access) bool {
			return x.Read && x.At == ops[2] && x.Reg == i
		})
}

// sole returns the only statement of the part that writes a register, -1 where there are several,
// or it is guarded, or another instruction. Nothing else writes the register of an instruction that
// is asked for.
func (a *waiter) sole(p *part, reg int32, op string) int {
	found := -1
	for _, d := range a.defs[reg] {
		switch {
		case !p.in[int(a.block[d])] && op == "":
			continue
		case found >= 0 || !p.in[int(a.block[d])] || a.f.Stmts[d].Guarded ||
			op != "" && string(a.f.Opcode(d)) != op:
			return -1
		}
		found = d
	}
	if a.unset[reg] {
		return -1
	}
	return found
}

// steady reports whether a register has the same value in every turn: the part does not write it,
// or with an argument of the function's own, which a compiler may read anew in each turn.
func (a *waiter) steady(p *part, r int32) bool {
	inside := 0
	for _, d := range a.defs[r] {
		if !p.in[int(a.block[d])] {
			continue
		}
		inside++
		if string(a.f.Base(d)) != "ld" || a.f.Stmts[d].Guarded || !a.ownParameter(d) {
			return false
		}
	}
	return inside == 0 || inside == 1 && len(a.defs[r]) == 1
}

// circular reports whether copies lead back to where they begin: nothing is counted on such a way.
func circular(copies map[int32][]int32) bool {
	const open, done = 1, 2
	state := make(map[int32]int)
	var visit func(r int32) bool
	visit = func(r int32) bool {
		state[r] = open
		for _, s := range copies[r] {
			if state[s] == open || state[s] == 0 && visit(s) {
				return true
			}
		}
		state[r] = done
		return false
	}
	for r := range copies {
		if state[r] == 0 && visit(r) {
			return true
		}
	}
	return false
}

// everyTurn reports whether every way around from block b to itself, within the part, passes one of
// these blocks.
func (a *waiter) everyTurn(p *part, b int, through map[int]bool) bool {
	if through[b] {
		return true
	}
	a.work += len(p.blocks) / 8
	return !ptx.Onward(a.w.Blocks, a.w.Blocks[b].Succs, func(s int) bool {
		return s == b || !p.in[s] || through[s]
	})[b]
}
