package hazard

import (
	"gnvcc/graph"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// ways is the control flow with what post-dominates what: the place where lanes that parted meet
// again.
type ways struct {
	succs [][]int
	ipdom []int // immediate post-dominator by block; len(succs) is the function's end
}

// newWays takes which blocks may leave the function from ends.
func newWays(blocks []ptx.Block, ends func(block int) bool) ways {
	n := len(blocks)
	w := ways{succs: dataflow.Successors(blocks)}
	before := append(graph.Reverse(w.succs), nil)
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
	seen := map[int]bool{}
	queue := []int{from}
	for len(queue) > 0 {
		v := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if v == to {
			return true
		}
		if seen[v] || barred(v) {
			continue
		}
		seen[v] = true
		queue = append(queue, w.succs[v]...)
	}
	return false
}

// only tells whether every way from the entry to a block goes along the edge from -> along.
func (w ways) only(block, from, along int) bool {
	seen := map[int]bool{}
	queue := []int{0}
	for len(queue) > 0 {
		v := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if v == block {
			return false
		}
		if seen[v] {
			continue
		}
		seen[v] = true
		for _, s := range w.succs[v] {
			if v != from || s != along {
				queue = append(queue, s)
			}
		}
	}
	return true
}
