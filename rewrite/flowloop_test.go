package rewrite

import "fmt"

// Loops as compilers write them for `while (i < n && on)`: a counter, and a flag that ends them, or
// does not, for each part of the loop comes in a few forms of which some are wrong.

// one gives a register or a predicate that nothing else uses.
func (p *flowProgram) one(kind string) int {
	p.names = append(p.names, fmt.Sprintf("%%%s%d", kind, p.fresh))
	p.fresh++
	return len(p.names) - 1
}

// flagLoop writes
//
//	L: look; flag = ?; if (look) { flag = ?; count += ?; } test of flag and counter; go to L
//
// with registers of its own.
func (p *flowProgram) flagLoop() {
	p.loops++
	top, meet := 100*p.loops, 100*p.loops+1 // meet+1 too
	count, flag, step := p.one("c"), p.one("c"), p.one("c")
	p.move(count, uint64(p.rng.Intn(2)))
	p.move(flag, uint64(p.rng.Intn(2)))
	p.move(step, 1)
	p.place(top)
	p.lookBy(p.rng.Intn(10) % 8 * p.rng.Intn(2))
	seen := p.ops[len(p.ops)-1].writes[0]
	if p.rng.Intn(3) == 0 {
		p.some()
	}
	p.setFlag(flag, seen, 6, 0)
	way := p.one("q")
	p.test(way, seen, uint64(p.rng.Intn(3)))
	p.jump(way, meet)
	n := p.names
	k := uint64(2 + p.rng.Intn(3)) // the counter's bound
	switch p.rng.Intn(8) {
	case 0:
	case 1, 2:
		p.remainder(count, k)
	case 3:
		p.op(fmt.Sprintf("ld.param.u32 %s, [h]", n[step]), nil, []int{step}, func(m *flowMachine) int {
			return m.set(step, m.argument)
		})
		p.op(fmt.Sprintf("add.s32 %s, %s, %s", n[count], n[count], n[step]), []int{count, step},
			[]int{count}, func(m *flowMachine) int { return m.set(count, m.r[count]+m.r[step]) })
	default:
		p.guarded(8, fmt.Sprintf("add.s32 %s, %s, 1", n[count], n[count]), []int{count}, []int{count},
			func(m *flowMachine) int { return m.set(count, m.r[count]+1) })
	}
	p.setFlag(flag, seen, 4, 1)
	p.place(meet)
	p.setFlag(flag, seen, 1, 1)
	if p.rng.Intn(2) == 0 { // the test stands in a block of its own
		p.jump(way, meet+1)
		p.place(meet + 1)
	}
	p.setFlag(flag, seen, 1, 1)
	p.ends(top, count, flag, k)
	p.setFlag(flag, seen, 1, 1)
}

// setFlag writes to the flag, in so many of six cases, a number mostly.
func (p *flowProgram) setFlag(flag, seen, often int, k uint64) {
	if p.rng.Intn(6) >= often {
		return
	}
	if p.rng.Intn(5) == 0 {
		p.op(fmt.Sprintf("and.b32 %s, %s, 1", p.names[flag], p.names[seen]), []int{seen}, []int{flag},
			func(m *flowMachine) int { return m.set(flag, m.r[seen]&1) })
		return
	}
	k ^= uint64(p.rng.Intn(4) / 3)
	p.guarded(5, fmt.Sprintf("mov.u32 %s, %d", p.names[flag], k), nil, []int{flag},
		func(m *flowMachine) int { return m.set(flag, k) })
}

// test sets a predicate by a comparison with a number.
func (p *flowProgram) test(to, reg int, k uint64) {
	how := p.rng.Intn(4) / 3
	p.op(fmt.Sprintf("setp.%s.u32 %s, %s, %d", []string{"ne", "eq"}[how], p.names[to], p.names[reg], k),
		[]int{reg}, []int{to}, func(m *flowMachine) int {
			return m.truth(to, (m.r[reg] == k) == (how == 1))
		})
}

func (p *flowProgram) jump(pred, label int) {
	negated := p.rng.Intn(4) == 0
	not := ""
	if negated {
		not = "!"
	}
	fmt.Fprintf(&p.body, "@%s%s ", not, p.names[pred])
	o := p.op(fmt.Sprintf("bra L%d", label), nil, nil, func(*flowMachine) int { return label })
	o.guard, o.negated = pred, negated
}

// ends goes back to the top, or not, by counter and flag.
func (p *flowProgram) ends(top, count, flag int, k uint64) {
	of := flag
	if p.rng.Intn(2) == 0 {
		of = p.one("c")
		p.op(fmt.Sprintf("and.b32 %s, %s, 255", p.names[of], p.names[flag]), []int{flag}, []int{of},
			func(m *flowMachine) int { return m.set(of, m.r[flag]&255) })
	}
	on, few, both := p.one("q"), p.one("q"), p.one("q")
	p.test(on, of, 0)
	word, more := "lt", int32(0)
	if p.rng.Intn(8) == 0 {
		word, more = "le", 1
	}
	p.op(fmt.Sprintf("setp.%s.s32 %s, %s, %d", word, p.names[few], p.names[count], k), []int{count},
		[]int{few}, func(m *flowMachine) int {
			return m.truth(few, int32(m.r[count]) < int32(k)+more)
		})
	a, b := on, few
	if p.rng.Intn(2) == 0 {
		a, b = b, a
	}
	op := []string{"and", "and", "and", "or"}[p.rng.Intn(4)]
	p.op(fmt.Sprintf("%s.pred %s, %s, %s", op, p.names[both], p.names[a], p.names[b]), []int{a, b},
		[]int{both}, func(m *flowMachine) int {
			if op == "or" {
				return m.set(both, m.r[a]|m.r[b])
			}
			return m.set(both, m.r[a]&m.r[b])
		})
	p.jump(both, top)
}

// remainder adds what is left to a bound, or to one beside it, a number at most, to the counter.
func (p *flowProgram) remainder(count int, bound uint64) {
	rest, step := p.one("c"), p.one("c")
	n := p.names
	bound += uint64(p.rng.Intn(4) / 2 * (p.rng.Intn(3) - 1))
	most := int32(p.rng.Intn(4))
	parts := []func(){
		func() {
			p.op(fmt.Sprintf("sub.s32 %s, %d, %s", n[rest], bound, n[count]), []int{count}, []int{rest},
				func(m *flowMachine) int { return m.set(rest, bound-m.r[count]) })
		},
		func() {
			p.guarded(8, fmt.Sprintf("min.s32 %s, %s, %d", n[step], n[rest], most), []int{rest}, []int{step},
				func(m *flowMachine) int { return m.set(step, uint64(min(int32(m.r[rest]), most))) })
		},
		func() {
			p.op(fmt.Sprintf("add.s32 %s, %s, %s", n[count], n[step], n[count]), []int{step, count},
				[]int{count}, func(m *flowMachine) int { return m.set(count, m.r[step]+m.r[count]) })
		},
	}
	if p.rng.Intn(8) == 0 {
		p.rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	}
	for _, f := range parts {
		f()
	}
}
