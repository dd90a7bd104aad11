package hazard

import (
	"slices"

	"gnvcc/graph"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// ways is the control flow with what post-dominates what: the place where lanes that parted meet
// again.
type ways struct {
	blocks []ptx.Block
	ipdom  []int // immediate post-dominator by block; len(blocks) is the function's end
}

// newWays takes which blocks may leave the function from ends.
func newWays(blocks []ptx.Block, ends func(block int) bool) ways {
	n := len(blocks)
	w := ways{blocks: blocks}
	before := append(graph.Reverse(dataflow.Successors(blocks)), nil)
	for i := range blocks {
		if ends(i) {
			before[n] = append(before[n], i)
		}
	}
	w.ipdom = graph.Dominators(before, n)
	w.ipdom[n] = n
	return w
}

// reaches tells whether block to can be reached from block from without entering a block that is
// barred.
func (w ways) reaches(from, to int, barred func(block int) bool) bool {
	return ptx.Onward(w.blocks, []int{from}, barred)[to]
}

// only tells whether every way from the entry to a block goes along the edge from -> along.
func (w ways) only(block, from, along int) bool {
	blocks := slices.Clone(w.blocks)
	blocks[from].Succs = slices.DeleteFunc(slices.Clone(blocks[from].Succs), func(s int) bool {
		return s == along
	})
	return !ptx.Onward(blocks, []int{0}, nil)[block]
}
