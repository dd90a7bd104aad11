package dataflow

import (
	"gnvcc/graph"
	"gnvcc/rewrite/ptx"
)

// The basic blocks of a body as a graph.

// Successors lists the blocks that may follow each block.
func Successors(blocks []ptx.Block) [][]int {
	out := make([][]int, len(blocks))
	for b := range blocks {
		out[b] = blocks[b].Succs
	}
	return out
}

// Postdominators returns for each block the nearest other one that every way from it to the
// function's end passes; len(blocks) stands for the end itself. Blocks from which there is no way
// to the end have one added.
func Postdominators(f *ptx.Func, blocks []ptx.Block) []int {
	end, before := len(blocks), withEnd(f, blocks)
	ends := make([]bool, end+1)
	graph.Reach(before, end, ends)
	for b := end - 1; b >= 0; b-- {
		if !ends[b] {
			before[end] = append(before[end], b)
			graph.Reach(before, b, ends)
		}
	}
	out := graph.Dominators(before, end)
	out[end] = end
	return out
}

// withEnd lists the blocks that lead to each block, and last those that lead to the end.
func withEnd(f *ptx.Func, blocks []ptx.Block) [][]int {
	end := len(blocks)
	before := append(graph.Reverse(Successors(blocks)), nil)
	for b := range blocks {
		last := blocks[b].Last - 1
		falls := b+1 == end && (f.Stmts[last].Kind != ptx.Inst || f.Stmts[last].Guarded ||
			!f.Leaves(last))
		if base := string(f.Base(last)); len(blocks[b].Succs) == 0 || falls ||
			f.Stmts[last].Kind == ptx.Inst && f.Leaves(last) && base != "bra" && base != "brx" {
			before[end] = append(before[end], b)
		}
	}
	return before
}
