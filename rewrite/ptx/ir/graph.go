package ir

import (
	"sync"

	"gnvcc/graph"
	"gnvcc/rewrite/ptx"
)

// Control flow: which block stands on every way to which, and the loops. All is worked out when it
// is first asked for.

type graphs struct {
	after       func() [][]int
	idom, ipdom func() []int
	loops       func() ([]graph.Loop, []int) // with the depth of each block
}

func (g *graphs) plan(w *Func) {
	*g = graphs{sync.OnceValue(w.successors), sync.OnceValue(func() []int { return graph.Dominators(w.Successors(), 0) }),
		sync.OnceValue(w.meets), sync.OnceValues(w.nesting)}
}

// Successors lists the blocks that may follow each block.
func (w *Func) Successors() [][]int { return w.graph.after() }

func (w *Func) successors() [][]int {
	after := make([][]int, len(w.Blocks))
	for b := range w.Blocks {
		after[b] = w.Blocks[b].Succs
	}
	return after
}

// Loops returns the loops, in the order of their heads.
func (w *Func) Loops() []graph.Loop {
	loops, _ := w.graph.loops()
	return loops
}

func (w *Func) nesting() ([]graph.Loop, []int) {
	loops, depth := graph.Loops(w.Successors()), make([]int, len(w.Blocks))
	for _, l := range loops {
		for _, b := range l.Body {
			depth[b]++
		}
	}
	return loops, depth
}

// Depth is the number of loops around a block.
func (w *Func) Depth(block int) int {
	_, depth := w.graph.loops()
	return depth[block]
}

// Dominator returns the nearest other block that every way from the entry to a block passes; -1 for
// the entry, and for what nothing leads to.
func (w *Func) Dominator(block int) int { return w.graph.idom()[block] }

// Dominates reports whether every way from the entry to block b passes block a, or is it.
func (w *Func) Dominates(a, b int) bool {
	for b != a && b >= 0 {
		b = w.Dominator(b)
	}
	return b == a
}

// Meet returns the nearest other block that every way from a block to the function's end passes,
// where threads that parted meet again; len(Blocks) stands for the end itself. Blocks from which
// there is no way to the end have one added.
func (w *Func) Meet(block int) int { return w.graph.ipdom()[block] }

func (w *Func) meets() []int {
	end, before := len(w.Blocks), w.withEnd()
	ends := make([]bool, end+1)
	graph.Reach(before, end, ends)
	for b := end - 1; b >= 0; b-- {
		if !ends[b] {
			before[end] = append(before[end], b)
			graph.Reach(before, b, ends)
		}
	}
	ipdom := graph.Dominators(before, end)
	ipdom[end] = end
	return ipdom
}

// withEnd lists the blocks that lead to each block, and last those that lead to the end.
func (w *Func) withEnd() [][]int {
	end := len(w.Blocks)
	before := append(graph.Reverse(w.Successors()), nil)
	for b := range w.Blocks {
		last := w.Blocks[b].Last - 1
		leaves := w.Stmts[last].Kind == ptx.Inst && w.Leaves(last)
		falls := b+1 == end && (!leaves || w.Stmts[last].Guarded)
		if op := w.Inst(last).Op; len(w.Blocks[b].Succs) == 0 || falls ||
			leaves && op != "bra" && op != "brx" {
			before[end] = append(before[end], b)
		}
	}
	return before
}

// Reaches reports whether a way leads from one of some blocks to another, through none that is
// barred (nil: none is); the first blocks and the last one may be barred.
func (w *Func) Reaches(from []int, to int, barred func(block int) bool) bool {
	return ptx.Onward(w.Blocks, from, barred)[to]
}

// Apart lists the blocks that a branch at a block's end decides about: those between it and the
// place where its ways meet.
func (w *Func) Apart(block int) []int {
	meet := w.Meet(block)
	reached := ptx.Onward(w.Blocks, w.Blocks[block].Succs, func(b int) bool { return b == meet })
	var out []int
	for b, is := range reached {
		if is && b != meet {
			out = append(out, b)
		}
	}
	return out
}

// Branch is a block's last statement if that is a conditional one that leaves it, else -1.
func (w *Func) Branch(block int) int {
	last := w.Blocks[block].Last - 1
	s := w.Stmts[last]
	if s.Kind == ptx.Inst && w.Leaves(last) && (s.Guarded || w.Inst(last).Op == "brx") {
		return last
	}
	return -1
}
