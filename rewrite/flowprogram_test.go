package rewrite

import (
	"fmt"
	"math/rand"
	"strings"
)

// Random programs for the reader of control flow, and what they do. A program is kept twice: as
// PTX, which the reader gets, and as the list of operations that it was printed from, which the
// interpreter runs. The two have nothing in common but the generator, so that a misreading shows.

// A flowOp is one instruction.
type flowOp struct {
	text          string
	guard         int // register, -1: none
	negated       bool
	reads, writes []int                             // registers, the guard apart
	run           func(m *flowMachine) (target int) // the label that it goes to, -1: on, -2: the end
	// 0: no look at global memory, 1: a plain load, 2: one that is made anew, 3: an atomic
	look   int
	base   int // the register of a memory operand, -1: none
	orders bool
	shared bool
}

// A flowProgram is a kernel.
type flowProgram struct {
	rng    *rand.Rand
	ops    []flowOp
	label  map[int]int // label -> the operation behind it
	body   strings.Builder
	names  []string // of registers, by number
	labels int
	next   int // labels placed so far
	scopes int
	loops  int // of flowloop_test.go
	fresh  int // registers and predicates of theirs, each
}

// Registers: r0 .. r5, predicates p0 .. p3, the wide gd0 .. gd2, addresses a0 and a1 of shared
// memory, x0; then those of inner scopes.
const (
	flowR, flowP, flowG, flowA, flowX = 0, 6, 10, 13, 15
	flowBase                          = 1 << 20 // of the global words
	flowShared                        = 1 << 12 // each shared variable's place is a multiple
	flowWords                         = 8
)

func newFlowProgram(rng *rand.Rand) *flowProgram {
	p := &flowProgram{rng: rng, label: map[int]int{}, labels: 2 + rng.Intn(5)}
	for i := range 6 {
		p.names = append(p.names, fmt.Sprintf("%%r%d", i))
	}
	for i := range 4 {
		p.names = append(p.names, fmt.Sprintf("%%p%d", i))
	}
	for i := range 3 {
		p.names = append(p.names, fmt.Sprintf("%%gd%d", i))
	}
	p.names = append(p.names, "%a0", "%a1", "%x0")
	p.op("ld.param.u64 %gd0, [g]", nil, []int{flowG}, func(m *flowMachine) int {
		return m.set(flowG, flowBase)
	})
	p.op("mov.u64 %gd1, %gd0", []int{flowG}, []int{flowG + 1}, func(m *flowMachine) int {
		return m.set(flowG+1, m.r[flowG])
	})
	p.address(flowA)
	p.address(flowA + 1)
	for r := range 6 {
		if rng.Intn(5) > 0 {
			p.move(flowR+r, uint64(rng.Intn(4)))
		}
	}
	for i := range 4 {
		if rng.Intn(5) > 0 {
			p.compare(flowP+i, -1)
		}
	}
	few := rng.Intn(4) == 0 // little beside a loop of flowloop_test.go
	if few {
		p.countedLoop()
	}
	for n := 6 + rng.Intn(24); n > 0 && !few; n-- {
		if p.next < p.labels && rng.Intn(3) == 0 {
			p.place(p.next)
			p.next++
		}
		p.some()
	}
	for ; p.next < p.labels; p.next++ {
		p.place(p.next)
		p.some()
	}
	p.op("ret", nil, nil, func(*flowMachine) int { return -2 })
	return p
}

// Text is the module.
func (p *flowProgram) Text() []byte {
	var targets []string
	for l := range p.labels {
		targets = append(targets, fmt.Sprintf("L%d", l))
	}
	for len(targets) < 4 {
		targets = append(targets, "L0")
	}
	return []byte(
		".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 g)\n{\n.reg .b32 %r<6>, %a<2>, %x0;\n.reg .pred %p<4>;\n" +
			fmt.Sprintf(".reg .b32 %%c<%d>;\n.reg .pred %%q<%d>;\n", p.fresh+1, p.fresh+1) +
			".reg .b64 %gd<3>;\n.shared .align 4 .b8 S0[64], S1[64];\n" + strings.Replace(p.body.String(),
			"TARGETS", strings.Join(targets[:4], ", "), -1) + "}\n")
}

func (p *flowProgram) place(l int) {
	p.label[l] = len(p.ops)
	fmt.Fprintf(&p.body, "L%d:\n", l)
}

// op enters an instruction; every fourth one that may be is guarded.
func (p *flowProgram) op(text string, reads, writes []int, run func(*flowMachine) int) *flowOp {
	p.ops = append(p.ops, flowOp{text: text, guard: -1, reads: reads, writes: writes, run: run,
		base: -1})
	fmt.Fprintf(&p.body, "%s;\n", text)
	return &p.ops[len(p.ops)-1]
}

func (p *flowProgram) guarded(chance int, text string, reads, writes []int,
	run func(*flowMachine) int) *flowOp {
	if p.rng.Intn(chance) > 0 {
		return p.op(text, reads, writes, run)
	}
	guard, negated := flowP+p.rng.Intn(4), p.rng.Intn(2) == 0
	not := ""
	if negated {
		not = "!"
	}
	fmt.Fprintf(&p.body, "@%s%s ", not, p.names[guard])
	o := p.op(text, reads, writes, run)
	o.guard, o.negated = guard, negated
	return o
}

func (p *flowProgram) reg() int  { return flowR + p.rng.Intn(6) }
func (p *flowProgram) pred() int { return flowP + p.rng.Intn(4) }

func (p *flowProgram) move(to int, n uint64) {
	p.op(fmt.Sprintf("mov.u32 %s, %d", p.names[to], n), nil, []int{to}, func(m *flowMachine) int {
		return m.set(to, n)
	})
}

// address points a register to a shared variable.
func (p *flowProgram) address(to int) {
	v := p.rng.Intn(2)
	p.op(fmt.Sprintf("mov.u32 %s, S%d", p.names[to], v), nil, []int{to}, func(m *flowMachine) int {
		return m.set(to, uint64(v+1)*flowShared)
	})
}

// compare sets a predicate; with a register below 0, by any.
func (p *flowProgram) compare(to, reg int) {
	if reg < 0 {
		reg = p.reg()
	}
	how := p.rng.Intn(4)
	holds := func(a, b uint64) bool {
		x, y := int32(a), int32(b)
		return [...]bool{x < y, x >= y, x == y, x != y}[how]
	}
	word := []string{"lt", "ge", "eq", "ne"}[how]
	if p.rng.Intn(2) == 0 {
		n := uint64(p.rng.Intn(6))
		p.op(fmt.Sprintf("setp.%s.s32 %s, %s, %d", word, p.names[to], p.names[reg], n), []int{reg},
			[]int{to}, func(m *flowMachine) int {
				return m.truth(to, holds(m.r[reg], n))
			})
		return
	}
	other := p.reg()
	p.op(fmt.Sprintf("setp.%s.s32 %s, %s, %s", word, p.names[to], p.names[reg], p.names[other]),
		[]int{reg, other}, []int{to},
		func(m *flowMachine) int { return m.truth(to, holds(m.r[reg], m.r[other])) })
}

// some writes one thing or another.
func (p *flowProgram) some() {
	a, b, c := p.reg(), p.reg(), p.reg()
	n := p.names
	switch p.rng.Intn(20) {
	case 0, 1:
		k := uint64(uint32(int32([]int{1, 1, 1, 2, 3, -1, -1, 0}[p.rng.Intn(8)])))
		p.guarded(5, fmt.Sprintf("add.s32 %s, %s, %d", n[a], n[b], int32(k)), []int{b}, []int{a},
			func(m *flowMachine) int {
				return m.set(a, m.r[b]+k)
			})
	case 2:
		p.guarded(5, fmt.Sprintf("sub.s32 %s, %s, %s", n[a], n[b], n[c]), []int{b, c}, []int{a},
			func(m *flowMachine) int {
				return m.set(a, m.r[b]-m.r[c])
			})
	case 3:
		k := uint64(p.rng.Intn(4))
		p.guarded(4, fmt.Sprintf("mov.u32 %s, %d", n[a], k), nil, []int{a}, func(m *flowMachine) int {
			return m.set(a, k)
		})
	case 4:
		p.guarded(5, fmt.Sprintf("mov.b32 %s, %s", n[a], n[b]), []int{b}, []int{a},
			func(m *flowMachine) int {
				return m.set(a, m.r[b])
			})
	case 5:
		q := p.pred()
		p.op(fmt.Sprintf("selp.b32 %s, %s, %s, %s", n[a], n[b], n[c], n[q]), []int{b, c, q}, []int{a},
			func(m *flowMachine) int {
				if m.r[q] != 0 {
					return m.set(a, m.r[b])
				}
				return m.set(a, m.r[c])
			})
	case 6:
		p.compare(p.pred(), -1)
	case 7:
		p.logic()
	case 8, 9:
		p.branch()
	case 10:
		p.guarded(1, "ret", nil, nil, func(*flowMachine) int { return -2 })
	case 11:
		p.table()
	case 12:
		p.scope()
	case 13, 14:
		p.look()
		if p.rng.Intn(2) == 0 {
			p.compare(p.pred(), p.ops[len(p.ops)-1].writes[0])
			p.branch()
		}
	case 15:
		p.sharedAccess()
	case 16:
		text := []string{"bar.sync 0", "membar.gl", "membar.cta"}[p.rng.Intn(3)]
		p.op(text, nil, nil, func(*flowMachine) int { return -1 }).orders = true
	case 17:
		k := p.rng.Intn(flowWords)
		o := p.guarded(4, fmt.Sprintf("st.global.u32 [%%gd0+%d], %s", 4*k, n[a]), []int{flowG, a}, nil, func(m *flowMachine) int { m.global[k] = uint32(m.r[a]); return -1 })
		o.base = flowG
	case 18: // an address that follows a register
		p.op(fmt.Sprintf("and.b32 %%x0, %s, 7", n[a]), []int{a}, []int{flowX}, func(m *flowMachine) int {
			return m.set(flowX, m.r[a]&7)
		})
		p.op("mul.wide.u32 %gd2, %x0, 4", []int{flowX}, []int{flowG + 2}, func(m *flowMachine) int {
			return m.set(flowG+2, m.r[flowX]*4)
		})
		p.op("add.s64 %gd1, %gd0, %gd2", []int{flowG, flowG + 2}, []int{flowG + 1},
			func(m *flowMachine) int {
				return m.set(flowG+1, m.r[flowG]+m.r[flowG+2])
			})
	case 19:
		if p.loops < 2 {
			p.countedLoop()
		}
	}
}

func (p *flowProgram) logic() {
	a, b, c := p.pred(), p.pred(), p.pred()
	n := p.names
	switch p.rng.Intn(3) {
	case 0:
		p.op(fmt.Sprintf("and.pred %s, %s, %s", n[a], n[b], n[c]), []int{b, c}, []int{a},
			func(m *flowMachine) int {
				return m.set(a, m.r[b]&m.r[c])
			})
	case 1:
		p.op(fmt.Sprintf("or.pred %s, %s, %s", n[a], n[b], n[c]), []int{b, c}, []int{a},
			func(m *flowMachine) int {
				return m.set(a, m.r[b]|m.r[c])
			})
	case 2:
		p.op(fmt.Sprintf("not.pred %s, %s", n[a], n[b]), []int{b}, []int{a}, func(m *flowMachine) int {
			return m.set(a, 1-m.r[b])
		})
	}
}

func (p *flowProgram) branch() {
	l := p.rng.Intn(p.labels)
	p.guarded(1+p.rng.Intn(8)/7*7, fmt.Sprintf("bra L%d", l), nil, nil, func(*flowMachine) int {
		return l
	})
}

func (p *flowProgram) table() {
	a := p.reg()
	p.op(fmt.Sprintf("and.b32 %%x0, %s, 3", p.names[a]), []int{a}, []int{flowX},
		func(m *flowMachine) int {
			return m.set(flowX, m.r[a]&3)
		})
	p.scopes++
	fmt.Fprintf(&p.body, "T%d: .branchtargets TARGETS;\n", p.scopes)
	p.op(fmt.Sprintf("brx.idx %%x0, T%d", p.scopes), []int{flowX}, nil, func(m *flowMachine) int {
		if l := int(m.r[flowX]); l < p.labels {
			return l
		}
		return 0
	})
}

// scope is what inline assembly writes: registers of its own, of a new name or of one that stands
// outside too.
func (p *flowProgram) scope() {
	a, b, c := p.reg(), p.reg(), p.reg()
	name := []string{"t", "%r7", "%r2", "%p"}[p.rng.Intn(4)]
	inner := len(p.names)
	p.names = append(p.names, name)
	seen := func(r int) string { return p.names[r] }
	for _, r := range []*int{&a, &b, &c} {
		if p.names[*r] == name { // hidden in there
			*r = flowR
		}
	}
	fmt.Fprintf(&p.body, "{ .reg .b32 %s;\n", name)
	p.op(fmt.Sprintf("xor.b32 %s, %s, %s", name, seen(b), seen(c)), []int{b, c}, []int{inner},
		func(m *flowMachine) int {
			return m.set(inner, m.r[b]^m.r[c])
		})
	p.op(fmt.Sprintf("add.s32 %s, %s, %s", seen(a), name, seen(b)), []int{inner, b}, []int{a},
		func(m *flowMachine) int {
			return m.set(a, m.r[inner]+m.r[b])
		})
	p.body.WriteString("}\n")
}

// look reads global memory.
func (p *flowProgram) look() { p.lookBy(p.rng.Intn(8)) }

// lookBy reads it by one of eight instructions.
func (p *flowProgram) lookBy(how int) {
	a, b, c := p.reg(), p.reg(), p.reg()
	n := p.names
	base, k := flowG+p.rng.Intn(2), uint64(0)
	if base == flowG {
		k = uint64(p.rng.Intn(flowWords))
	}
	word := func(m *flowMachine) *uint32 { return &m.global[(m.r[base]-flowBase)/4+k] }
	where := fmt.Sprintf("[%s+%d]", n[base], 4*k)
	enter := func(text string, reads []int, kind int, run func(m *flowMachine) int) {
		o := p.guarded(8, text, append([]int{base}, reads...), []int{a}, func(m *flowMachine) int {
			if m.change != nil {
				m.change(kind, word(m))
			}
			return run(m)
		})
		o.look, o.base = kind, base
		o.orders = strings.Contains(text, "volatile") || strings.Contains(text, "acq")
	}
	swap := func(f func(old uint32, m *flowMachine) uint32) func(m *flowMachine) int {
		return func(m *flowMachine) int {
			old := *word(m)
			*word(m) = f(old, m)
			return m.set(a, uint64(old))
		}
	}
	load := func(m *flowMachine) int { return m.set(a, uint64(*word(m))) }
	switch how {
	case 0, 1:
		enter(fmt.Sprintf("ld.global.u32 %s, %s", n[a], where), nil, 1, load)
	case 2:
		enter(fmt.Sprintf("ld.volatile.global.u32 %s, %s", n[a], where), nil, 2, load)
	case 3:
		enter(fmt.Sprintf("ld.relaxed.gpu.global.u32 %s, %s", n[a], where), nil, 2, load)
	case 4:
		enter(fmt.Sprintf("atom.global.cas.b32 %s, %s, %s, %s", n[a], where, n[b], n[c]), []int{b, c}, 3,
			swap(func(old uint32, m *flowMachine) uint32 {
				if old == uint32(m.r[b]) {
					return uint32(m.r[c])
				}
				return old
			}))
	case 5:
		enter(fmt.Sprintf("atom.global.add.u32 %s, %s, %s", n[a], where, n[b]), []int{b}, 3,
			swap(func(old uint32, m *flowMachine) uint32 {
				return old + uint32(m.r[b])
			}))
	case 6:
		d := []int{0, 1, -1}[p.rng.Intn(3)]
		enter(fmt.Sprintf("atom.global.add.u32 %s, %s, %d", n[a], where, d), nil, 3,
			swap(func(old uint32, _ *flowMachine) uint32 {
				return old + uint32(int32(d))
			}))
	case 7:
		enter(fmt.Sprintf("atom.global.exch.b32 %s, %s, %s", n[a], where, n[b]), []int{b}, 3,
			swap(func(_ uint32, m *flowMachine) uint32 {
				return uint32(m.r[b])
			}))
	}
}

// sharedAccess reads or writes a shared variable, or moves a pointer to one.
func (p *flowProgram) sharedAccess() {
	a, n := p.reg(), p.names
	base := flowA + p.rng.Intn(2)
	k := uint64(4 * p.rng.Intn(4))
	var o *flowOp
	switch p.rng.Intn(5) {
	case 0, 1:
		o = p.op(fmt.Sprintf("ld.shared.u32 %s, [%s+%d]", n[a], n[base], k), []int{base}, []int{a},
			func(m *flowMachine) int {
				return m.set(a, uint64(m.shared[m.r[base]+k]))
			})
	case 2:
		o = p.guarded(4, fmt.Sprintf("st.shared.u32 [%s+%d], %s", n[base], k, n[a]), []int{base, a}, nil, func(m *flowMachine) int { m.shared[m.r[base]+k] = uint32(m.r[a]); return -1 })
	case 3:
		p.address(base)
		return
	case 4:
		q := p.pred()
		p.op(fmt.Sprintf("selp.b32 %%a0, %%a1, %%a0, %s", n[q]), []int{flowA, flowA + 1, q}, []int{flowA},
			func(m *flowMachine) int {
				if m.r[q] != 0 {
					return m.set(flowA, m.r[flowA+1])
				}
				return -1
			})
		return
	}
	o.base, o.shared = base, true
}

// A flowMachine runs one thread.
type flowMachine struct {
	r       []uint64
	written []int // by register: the operation that wrote it last, -1: none
	global  [flowWords]uint32
	shared  map[uint64]uint32
	at      int
	change  func(kind int, word *uint32) // other blocks, in front of each look; nil: there are none
}

func newFlowMachine(p *flowProgram, rng *rand.Rand) *flowMachine {
	m := &flowMachine{r: make([]uint64, len(p.names)), written: make([]int, len(p.names)),
		shared: map[uint64]uint32{}}
	for i := range m.r {
		m.written[i] = -1
		if i < flowP || i >= flowG { // a predicate that was not written is false
			m.r[i] = uint64(rng.Intn(3))
		}
	}
	for i := range m.global {
		m.global[i] = uint32(rng.Intn(3))
	}
	return m
}

func (m *flowMachine) set(r int, x uint64) int {
	if r < flowG || r >= flowA {
		x = uint64(uint32(x))
	}
	m.r[r] = x
	return -1
}

func (m *flowMachine) truth(r int, is bool) int {
	if is {
		return m.set(r, 1)
	}
	return m.set(r, 0)
}

func (m *flowMachine) clone() *flowMachine {
	c := *m
	c.r, c.written, c.shared = append([]uint64(nil), m.r...), append([]int(nil), m.written...),
		map[uint64]uint32{}
	for k, v := range m.shared {
		c.shared[k] = v
	}
	return &c
}

// step runs one operation; false at the end.
func (m *flowMachine) step(p *flowProgram) (did, on bool) {
	o := &p.ops[m.at]
	if o.guard >= 0 && (m.r[o.guard] != 0) == o.negated {
		m.at++
		return false, true
	}
	target := o.run(m)
	for _, w := range o.writes {
		m.written[w] = m.at
	}
	switch {
	case target == -2:
		return true, false
	case target >= 0:
		m.at = p.label[target]
	default:
		m.at++
	}
	return true, true
}
