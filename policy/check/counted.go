package check

import (
	"slices"

	"gnvcc/cache"
	"gnvcc/rewrite/counters"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// Rule is that by which Counted judges; counts that were judged by others are taken again.
const Rule = 3

// Counted judges what was counted of a kernel in launches with the same arguments: which counters
// have to run in a checked launch, and which of those that did not could with other numbers in
// memory. What is not stored is not compared, and what a kernel chooses from may be one of several
// numbers that were computed: so there have to run
//
//   - blocks that compute in floating point, store, or move what was computed to where another way
//     may put something else;
//   - both outcomes of a selection between numbers of which one was computed, and each outcome of a
//     branch by which such a number comes to the place where its ways meet.
//
// Of a kernel that computes nothing, nothing has to.
func Counted(c counters.Counters, ran []uint64) *cache.Counts {
	out := &cache.Counts{Rule: Rule, Blocks: ran}
	var functions []*ptx.Func
	var text []string
	for _, b := range c {
		if !slices.Contains(functions, b.Func) {
			functions, text = append(functions, b.Func), append(text, string(b.Bytes(b.Inside())))
		}
	}
	out.Code = cache.HashOf(text...)[:16]
	some := slices.ContainsFunc(c, func(b counters.Block) bool {
		for i := b.Block.First; i < b.Block.Last; i++ {
			if b.Stmts[i].Kind == ptx.Inst && computes(b.Opcode(i), string(b.Base(i))) {
				return true
			}
		}
		return false
	})
	if !some {
		return out
	}
	for _, f := range functions {
		judge(f, c, out)
	}
	return out
}

// judge enters what is to be said of one function.
func judge(f *ptx.Func, c counters.Counters, out *cache.Counts) {
	var list []int // its counters
	for n := range c {
		if c[n].Func == f {
			list = append(list, n)
		}
	}
	w, err := ir.Of(f)
	if err != nil { // which Of has read already
		out.Wanted, out.Data = append(out.Wanted, list...), append(out.Data, list...)
		out.Forms = append(out.Forms, make([]string, len(list))...)
		return
	}
	m := numbersOf(w)
	r := reachOf(w, c, list, out.Blocks)
	form := forms{w, map[int]string{}}
	for _, n := range list {
		b := c[n]
		if b.Choice == 0 && !m.block(b.Block) || b.Choice > 0 && !m.choice(w, b.Choice, b.Holds) {
			continue
		}
		out.Wanted, out.Forms = append(out.Wanted, n), append(out.Forms, form.of(b))
		if out.Blocks[n] == 0 && r.could(w, b) {
			out.Data = append(out.Data, n)
		}
	}
	for _, p := range places(w, m) {
		if !slices.Contains(out.Pins, [3]int(p)) {
			out.Pins = append(out.Pins, p)
		}
	}
}

// computes reports an instruction that rounds, or chooses between numbers.
func computes(op []byte, base string) bool {
	switch base {
	case "ld", "st", "ldu", "mov", "selp", "atom", "red", "shfl", "tex", "tld4", "suld", "sust":
		return false
	}
	for _, t := range []string{"f32", "f64", "f16", "f16x2", "bf16", "bf16x2", "f32x2"} {
		if ptx.HasModifier(op, t) {
			return true
		}
	}
	return false
}

// numbers are a function's registers that hold what it computed in floating point.
type numbers struct {
	*ir.Func
	computed []bool
}

func numbersOf(w *ir.Func) *numbers {
	m := &numbers{w, make([]bool, w.Registers())}
	ir.Forward(w, m.computed, func(a, b bool) bool { return a || b }, m.gives)
	return m
}

// gives reports whether a statement's result is a number that was computed, or may be a copy of one.
func (m *numbers) gives(i int) bool {
	x, op := m.Inst(i), m.Opcode(i)
	switch {
	case len(x.Args) == 0 || x.Args[0].Reg != ir.None && m.Type(x.Args[0].Reg) == "pred":
		return false
	case x.Op == "ld":
		space := ptx.Space(op)
		return space == "shared" || space == "local" || space == "param" && !m.Entry
	case x.Op == "selp":
		return m.is(x.Args[1]) || m.is(x.Args[2])
	case computes(op, x.Op):
		return true
	}
	return (ir.Computes(x.Op) || x.Op == "shfl") && slices.ContainsFunc(m.Accesses(i), func(a ir.Access) bool {
		return a.Read && m.computed[a.Reg]
	})
}

func (m *numbers) is(o ir.Operand) bool { return o.Reg != ir.None && m.computed[o.Reg] }

// block reports whether a block has to run.
func (m *numbers) block(b ptx.Block) bool {
	for i := b.First; i < b.Last; i++ {
		x, op := m.Inst(i), m.Opcode(i)
		switch {
		case x.Op == "":
		case computes(op, x.Op) || x.Op == "atom" || x.Op == "red" ||
			x.Op == "st" && ptx.Space(op) != "param" && ptx.Space(op) != "local":
			return true
		case x.Op == "mov" && m.gives(i):
			for _, a := range m.Accesses(i) {
				if a.Write && len(m.Defs(a.Reg)) > 1 {
					return true
				}
			}
		}
	}
	return false
}

// choice reports whether an outcome of a choice has to be seen.
func (m *numbers) choice(w *ir.Func, i int, holds bool) bool {
	x := w.Inst(i)
	b := w.Block(i)
	switch {
	case x.Op == "selp":
		return m.gives(i)
	case w.Branch(b) == i && len(w.Blocks[b].Succs) == 2:
		to := 1
		if holds {
			to = 0
		}
		return m.comes(b, w.Blocks[b].Succs[to])
	case w.Leaves(i):
		return false
	case holds:
		return m.block(ptx.Block{First: i, Last: i + 1}) || m.gives(i)
	}
	return slices.ContainsFunc(w.Accesses(i), func(a ir.Access) bool { return a.Write && m.computed[a.Reg] })
}

// comes reports whether a number that was computed comes by one way out of a block to where another
// one may come by another way: to the next turn of a loop, or past what would have replaced it. What
// the other way computes with is seen there.
func (m *numbers) comes(block, way int) bool {
	meet := m.Meet(block)
	on := append(ptx.Onward(m.Blocks, []int{way}, func(b int) bool { return b == meet }), false)
	on[meet] = false
	if m.Dominates(way, block) {
		return slices.ContainsFunc(m.Live(m.Blocks[way].First), func(r ir.Reg) bool {
			turned, given := false, false // in a turn; by what stands in front of the loop
			for _, i := range m.Defs(r) {
				if b := m.Block(i); m.gives(i) {
					turned, given = turned || on[b], given || !on[b] && m.Reaches([]int{b}, way, nil)
				}
			}
			return turned && !given
		})
	}
	if meet == len(m.Blocks) {
		return false
	}
	apart := m.Apart(block)
	return slices.ContainsFunc(m.Live(m.Blocks[meet].First), func(r ir.Reg) bool {
		replaced, before := false, false
		for _, i := range m.Defs(r) {
			b := m.Block(i)
			if on[b] {
				return false
			}
			inside := slices.Contains(apart, b)
			replaced = replaced || inside
			before = before || !inside && m.gives(i) && m.Reaches([]int{b}, block, nil)
		}
		return replaced && before && !m.used(apart, r)
	})
}

// used reports whether a number or a store in some blocks is made with a register.
func (m *numbers) used(blocks []int, r ir.Reg) bool {
	for _, b := range blocks {
		for i := m.Blocks[b].First; i < m.Blocks[b].Last; i++ {
			if m.Reads(i, r) && (m.gives(i) || m.Inst(i).Op == "st") {
				return true
			}
		}
	}
	return false
}

// A reach is which blocks could run in a launch with the same arguments, with other numbers in
// memory.
type reach struct {
	flow     *flow
	ran      []bool          // by block
	outcomes map[int][2]bool // by statement: seen not to hold, to hold
	possible []bool
}

func reachOf(w *ir.Func, c counters.Counters, list []int, counts []uint64) *reach {
	r := &reach{ran: make([]bool, len(w.Blocks)), outcomes: map[int][2]bool{}}
	for _, n := range list {
		if b := c[n]; b.Choice > 0 {
			o := r.outcomes[b.Choice]
			if counts[n] > 0 {
				k := 0
				if b.Holds {
					k = 1
				}
				o[k] = true
			}
			r.outcomes[b.Choice] = o
		} else {
			r.ran[w.Block(b.Block.First)] = counts[n] > 0
		}
	}
	// what stands in blocks that can't run decides nothing
	for in := slices.Clone(r.ran); ; {
		r.flow, r.possible = flowOf(w, true, in), make([]bool, len(w.Blocks))
		r.walk(w)
		grown := false
		for b, is := range r.possible {
			grown = grown || is && !in[b]
			in[b] = in[b] || is
		}
		if !grown {
			return r
		}
	}
}

// walk goes all ways that could be gone.
func (r *reach) walk(w *ir.Func) {
	for todo := []int{0}; len(todo) > 0; {
		b := todo[len(todo)-1]
		if todo = todo[:len(todo)-1]; r.possible[b] {
			continue
		}
		r.possible[b] = true
		i := w.Branch(b)
		for k, to := range w.Blocks[b].Succs {
			switch {
			case i < 0 || r.free(b, i):
			case w.Inst(i).Op == "brx":
				if !r.ran[to] {
					continue
				}
			case len(w.Blocks[b].Succs) == 1: // the other way leaves
			case !r.outcomes[i][1-min(k, 1)]:
				continue
			}
			todo = append(todo, to)
		}
	}
}

// free reports whether a choice in a block could come out otherwise with other numbers in memory.
func (r *reach) free(block, i int) bool {
	s := r.flow.chooses(i)
	return !r.flow.Entry || !r.ran[block] || s.memory || s.thread && r.flow.decided(block).memory
}

// could reports whether what did not run could.
func (r *reach) could(w *ir.Func, b counters.Block) bool {
	n := w.Block(b.Block.First)
	return r.possible[n] && (b.Choice == 0 || r.free(n, b.Choice))
}
