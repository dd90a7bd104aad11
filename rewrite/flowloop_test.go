package rewrite

import "fmt"

// one gives a register or a predicate that nothing else uses.
func (p *flowProgram) one(kind string) int {
	p.names = append(p.names, fmt.Sprintf("%%%s%d", kind, p.fresh))
	p.fresh++
	return len(p.names) - 1
}

// countedLoop writes a loop with a look at memory that ends by a counter, as compilers write them,
// or nearly: what is added, where, and what the counter is compared with come in a few forms of which
// some never end the loop.
//
//	L: look; count += ?; if (count < ?) go to L
func (p *flowProgram) countedLoop() {
	p.loops++
	top := 100 * p.loops
	count, step, on := p.one("c"), p.one("c"), p.one("q")
	p.move(count, uint64(p.rng.Intn(2)))
	p.move(step, uint64(p.rng.Intn(2)))
	p.place(top)
	p.lookBy(p.rng.Intn(8))
	seen := p.ops[len(p.ops)-1].writes[0]
	if p.rng.Intn(3) == 0 {
		p.some()
	}
	by := func(m *flowMachine) int { return m.set(count, m.r[count]+m.r[step]) }
	switch p.rng.Intn(6) {
	case 0: // it does not count
	case 1: // by what was read
		p.op(fmt.Sprintf("and.b32 %s, %s, 1", p.names[step], p.names[seen]), []int{seen}, []int{step},
			func(m *flowMachine) int { return m.set(step, m.r[seen]&1) })
		fallthrough
	case 2: // by a register
		p.op(fmt.Sprintf("add.s32 %s, %s, %s", p.names[count], p.names[count], p.names[step]), []int{count, step},
			[]int{count}, by)
	default:
		p.guarded(8, fmt.Sprintf("add.s32 %s, %s, 1", p.names[count], p.names[count]), []int{count}, []int{count},
			func(m *flowMachine) int { return m.set(count, m.r[count]+1) })
	}
	k := uint64(2 + p.rng.Intn(3))
	how := []string{"lt", "lt", "ne", "eq", "gt"}[p.rng.Intn(5)]
	p.op(fmt.Sprintf("setp.%s.s32 %s, %s, %d", how, p.names[on], p.names[count], k), []int{count}, []int{on},
		func(m *flowMachine) int {
			return m.truth(on, compares(how, true, uint64(int32(m.r[count])), k))
		})
	o := p.op(fmt.Sprintf("@%s bra L%d", p.names[on], top), nil, nil, func(*flowMachine) int { return top })
	o.guard = on
}
