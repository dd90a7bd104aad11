package sass

import (
	"gnvcc/graph"
	"slices"
	"sort"
)

// A Block is a run of instructions that is entered at its first and left at its last one only.
// Calls don't end a block: they come back.
type Block struct {
	Start, End int   // indices into Function.Insts, End excluded
	Next       []int // blocks that may follow, in order
	Before     []int // blocks that may come before
	Depth      int   // loops around it, 0: none
	Header     int   // block at which the innermost loop begins, -1: in no loop
}

// A Loop is a natural loop: all ways into it lead through its header.
type Loop struct {
	Header int   // block
	Blocks []int // in order, header included; inner loops' blocks too
	Back   []int // blocks that jump to the header from inside
	Depth  int   // 1: an outermost one
}

// A Flow is a function's control flow.
type Flow struct {
	Blocks  []Block
	Loops   []Loop // outer ones before inner ones
	block   []int  // of each instruction
	parents []int  // immediate dominators, -1: an entry or not reached
	entries []int
	reached []bool
	budget  int // steps that looking for loops may still take
}

// Reached reports whether any way leads to a block: behind the last instruction ptxas fills up with
// an endless loop.
func (f *Flow) Reached(block int) bool { return f.reached[block] }

// Block tells in which block an instruction stands.
func (f *Flow) Block(inst int) int { return f.block[inst] }

// Dominator is the nearest block through which every way to a block leads, -1: none.
func (f *Flow) Dominator(block int) int { return f.parents[block] }

// ends reports whether control may go elsewhere after an instruction, and whether it may go on to
// the next.
func (f *Function) ends(n int) (leaves, falls bool) {
	i := &f.Insts[n]
	if i.op == nil {
		return false, true
	}
	unconditional := i.unguarded() && i.Bits(87, 3) == 7 && !i.bit(90)
	switch i.op.code {
	case 0x147: // BRA; .U and .DIV have their condition elsewhere
		return true, !unconditional || i.bit(91)
	case 0x149, 0x158, 0x14a, 0x14c, 0x150: // BRX, BRXU, JMP, JMX, RET
		return true, !i.unguarded()
	case 0x14d, 0x14f, 0x15b: // EXIT, RTT, KILL
		return true, !unconditional
	}
	return false, true
}

// Flow finds blocks, what follows what, and loops.
func (f *Function) Flow() *Flow {
	n := len(f.Insts)
	first := make([]bool, n+1)
	if n > 0 {
		first[0] = true
	}
	mark := func(offset int) {
		if offset >= 0 && offset/wordBytes < n {
			first[offset/wordBytes] = true
		}
	}
	for _, p := range f.Parts {
		mark(p.Offset)
	}
	for k := range f.Insts {
		leaves, _ := f.ends(k)
		if !leaves {
			continue
		}
		first[k+1] = true
		for _, to := range f.targets(k) {
			mark(to)
		}
	}
	out := &Flow{block: make([]int, n)}
	for k := range n {
		if first[k] {
			out.Blocks = append(out.Blocks, Block{Start: k, Header: -1})
		}
		last := &out.Blocks[len(out.Blocks)-1]
		last.End = k + 1
		out.block[k] = len(out.Blocks) - 1
	}
	for b := range out.Blocks {
		end := out.Blocks[b].End - 1
		leaves, falls := f.ends(end)
		if leaves {
			for _, to := range f.targets(end) {
				if to >= 0 && to/wordBytes < n {
					out.edge(b, out.block[to/wordBytes])
				}
			}
		}
		if falls && end+1 < n && !f.starts(f.Insts[end+1].Offset) {
			out.edge(b, out.block[end+1])
		}
	}
	out.entry(f)
	out.dominate()
	out.loops()
	return out
}

// targets are the offsets to which a branch may go.
func (f *Function) targets(n int) []int {
	i := &f.Insts[n]
	if i.op.code == 0x149 || i.op.code == 0x158 {
		return f.jumps[i.Offset]
	}
	if i.op.code == 0x147 && i.Target >= 0 {
		return []int{i.Target}
	}
	return nil
}

func (f *Flow) edge(from, to int) {
	if slices.Contains(f.Blocks[from].Next, to) {
		return
	}
	f.Blocks[from].Next = append(f.Blocks[from].Next, to)
	f.Blocks[to].Before = append(f.Blocks[to].Before, from)
}

// entry lists the blocks at which control comes in from outside: the section's functions.
func (f *Flow) entry(fn *Function) {
	seen := map[int]bool{}
	add := func(offset int) {
		if offset/wordBytes < len(f.block) {
			if b := f.block[offset/wordBytes]; !seen[b] {
				seen[b] = true
				f.entries = append(f.entries, b)
			}
		}
	}
	if len(f.block) > 0 {
		add(0)
	}
	for _, p := range fn.Parts {
		add(p.Offset)
	}
}

// dominate finds each block's immediate dominator. All entries hang below one root, which is -1.
func (f *Flow) dominate() {
	n := len(f.Blocks)
	after := make([][]int, n+1)
	for b := range f.Blocks {
		after[b] = f.Blocks[b].Next
	}
	after[n] = f.entries
	f.parents = graph.Dominators(after, n)[:n]
	for b, p := range f.parents {
		if p == n {
			f.parents[b] = -1
		}
	}
	f.reached = make([]bool, n+1)
	graph.Reach(after, n, f.reached)
}

// dominates reports whether every way to b leads through a.
func (f *Flow) dominates(a, b int) bool {
	for b != -1 && b != a && f.budget > 0 {
		b = f.parents[b]
		f.budget--
	}
	return b == a
}

// loops finds natural loops: an edge to a block that dominates its source closes one.
func (f *Flow) loops() {
	at := map[int]int{}
	f.budget = mostSteps
	for b := range f.Blocks {
		for _, to := range f.Blocks[b].Next {
			if to > b || !f.reached[b] || !f.dominates(to, b) { // code is laid out so that loops jump back
				continue
			}
			k, ok := at[to]
			if !ok {
				k = len(f.Loops)
				at[to] = k
				f.Loops = append(f.Loops, Loop{Header: to})
			}
			f.Loops[k].Back = append(f.Loops[k].Back, b)
		}
	}
	for k := range f.Loops {
		f.body(&f.Loops[k])
	}
	sort.SliceStable(f.Loops, func(i, j int) bool {
		return len(f.Loops[i].Blocks) > len(f.Loops[j].Blocks)
	})
	for k := range f.Loops {
		l := &f.Loops[k]
		for _, b := range l.Blocks {
			f.Blocks[b].Depth++
			f.Blocks[b].Header = l.Header // inner loops come later
		}
		l.Depth = f.Blocks[l.Header].Depth
	}
}

// mostSteps bounds the work on hostile files, whose loops may stand in one another by the thousand:
// then loops are missing. Real functions need some ten thousand steps.
const mostSteps = 5_000_000

// body collects the blocks from which a back edge is reached without the header.
func (f *Flow) body(l *Loop) {
	in := map[int]bool{l.Header: true}
	work := append([]int(nil), l.Back...)
	for len(work) > 0 && f.budget > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		f.budget--
		if in[b] {
			continue
		}
		in[b] = true
		work = append(work, f.Blocks[b].Before...)
	}
	for b := range in {
		l.Blocks = append(l.Blocks, b)
	}
	sort.Ints(l.Blocks)
}
