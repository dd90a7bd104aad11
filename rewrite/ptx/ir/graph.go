package ir

import (
	"gnvcc/graph"
	"gnvcc/rewrite/ptx"
)

// Control flow: which block stands on every way to which, and the loops. All is worked out when it
// is first asked for.

type graphs struct {
	after [][]int
	idom  []int
	ipdom []int
	loops []graph.Loop
	depth []int
}

// Successors lists the blocks that may follow each block.
func (w *Func) Successors() [][]int {
	if w.graph.after == nil {
		w.graph.after = make([][]int, len(w.Blocks))
		for b := range w.Blocks {
			w.graph.after[b] = w.Blocks[b].Succs
		}
	}
	return w.graph.after
}

// Loops returns the loops, in the order of their heads.
func (w *Func) Loops() []graph.Loop {
	if w.graph.depth == nil {
		w.graph.loops, w.graph.depth = graph.Loops(w.Successors()), make([]int, len(w.Blocks))
		for _, l := range w.graph.loops {
			for _, b := range l.Body {
				w.graph.depth[b]++
			}
		}
	}
	return w.graph.loops
}

// Depth is the number of loops around a block.
func (w *Func) Depth(block int) int {
	w.Loops()
	return w.graph.depth[block]
}

// Dominator returns the nearest other block that every way from the entry to a block passes; -1 for
// the entry, and for what nothing leads to.
func (w *Func) Dominator(block int) int {
	if w.graph.idom == nil {
		w.graph.idom = graph.Dominators(w.Successors(), 0)
	}
	return w.graph.idom[block]
}

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
func (w *Func) Meet(block int) int {
	if w.graph.ipdom == nil {
		end, before := len(w.Blocks), w.withEnd()
		ends := make([]bool, end+1)
		graph.Reach(before, end, ends)
		for b := end - 1; b >= 0; b-- {
			if !ends[b] {
				before[end] = append(before[end], b)
				graph.Reach(before, b, ends)
			}
		}
		w.graph.ipdom = graph.Dominators(before, end)
		w.graph.ipdom[end] = end
	}
	return w.graph.ipdom[block]
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
