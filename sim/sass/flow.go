package sass

import (
	"gnvcc/graph"
	"slices"
)

// A Block is a run of instructions that is entered at its first and left at its last one only.
// Calls don't end a block: they come back.
type Block struct {
	Start, End int   // indices into Function.Insts, End excluded
	Next       []int // blocks that may follow, in order
	Depth      int   // loops around it, 0: none
	Header     int   // block at which the innermost loop begins, -1: in no loop
}

// A Loop is a natural loop: all ways into it lead through its header.
type Loop struct {
	Header int   // block
	Blocks []int // in order, header included; inner loops' blocks too
	Depth  int   // 1: an outermost one
}

// A Flow is a function's control flow.
type Flow struct {
	Blocks  []Block
	Loops   []Loop // outer ones before inner ones
	block   []int  // of each instruction
	entries []int
	back    int    // edges to a block that does not stand behind
	reached []bool // by a block's number and one more
}

// Reached reports whether any way leads to a block: behind the last instruction ptxas fills up with
// an endless loop.
func (f *Flow) Reached(block int) bool { return f.reached[block+1] }

// Block says in which block an instruction stands.
func (f *Flow) Block(inst int) int { return f.block[inst] }

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
	if to <= from {
		f.back++
	}
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

// mostSteps bounds the work on hostile files, whose loops may stand in one another by the thousand:
// then no loop is found.
const mostSteps = 1 << 26

// loops finds what is reached, and loops. All entries hang below one root, which is node 0: a block's
// node is its number and one more.
func (f *Flow) loops() {
	after := make([][]int, len(f.Blocks)+1)
	up := func(list []int) (out []int) {
		for _, b := range list {
			out = append(out, b+1)
		}
		return out
	}
	after[0] = up(f.entries)
	for b := range f.Blocks {
		after[b+1] = up(f.Blocks[b].Next)
	}
	f.reached = make([]bool, len(after))
	graph.Reach(after, 0, f.reached)
	if f.back*len(f.Blocks) > mostSteps {
		return
	}
	for _, l := range graph.Loops(after) {
		slices.Sort(l.Body)
		for n := range l.Body {
			l.Body[n]--
		}
		f.Loops = append(f.Loops, Loop{Header: l.Head - 1, Blocks: l.Body})
	}
	slices.SortStableFunc(f.Loops, func(a, b Loop) int { return len(b.Blocks) - len(a.Blocks) })
	for k := range f.Loops {
		l := &f.Loops[k]
		for _, b := range l.Blocks {
			f.Blocks[b].Depth++
			f.Blocks[b].Header = l.Header // inner loops come later
		}
		l.Depth = f.Blocks[l.Header].Depth
	}
}
