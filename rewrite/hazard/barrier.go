package hazard

import (
	"slices"

	"gnvcc/rewrite/ptx"
)

// barriers looks for barriers of the whole block that stand on one side of a branch, where threads
// of one block take both sides and those of the other side come to the place behind without one.
//
// Only conditions that can be worked out for each thread are judged (constants and the thread's
// index). Threads that end are no trouble: a barrier waits for those that are left.
func (k *kernelView) barriers() {
	has := make([]bool, len(k.walk.Blocks)) // a block barrier stands in it
	first := make(map[int]int)
	any := false
	for i, s := range k.Stmts {
		if s.Kind == ptx.Inst && !s.Guarded && k.blockBarrier(i) {
			b := k.blockOf(i)
			has[b], any = true, true
			if _, ok := first[b]; !ok {
				first[b] = i
			}
		}
	}
	if !any {
		return
	}
	for b := range k.walk.Blocks {
		last := k.walk.Blocks[b].Last - 1
		guard, _ := k.Guard(last)
		if guard == nil || string(k.Base(last)) != "bra" || len(k.walk.Blocks[b].Succs) != 2 {
			continue
		}
		meet := k.graph.ipdom[b]
		if meet < 0 || meet >= len(k.walk.Blocks) || k.nothingBut(meet) || !k.differs(string(guard)) {
			continue
		}
		for side, one := range k.walk.Blocks[b].Succs {
			other := k.walk.Blocks[b].Succs[1-side]
			barrier := k.within(one, meet, has)
			if barrier < 0 || !k.graph.reaches(other, meet, func(v int) bool {
				return v != meet && (has[v] || v == b)
			}) {
				continue
			}
			// Every way through this side has a barrier, and it is no loop that comes round.
			if k.graph.reaches(one, meet, func(v int) bool {
				return v != meet && has[v]
			}) || k.graph.reaches(one, b, func(v int) bool { return v == meet }) {
				continue
			}
			k.tell(first[barrier], Divided,
				"the branch"+at(k.line(last))+" sends some threads of the block past this barrier; CUDA allows "+
					"__syncthreads() in conditional code only where the condition is the same for the whole block, "+
					"else threads may wait for ever, or meet others at the wrong barrier",
				"move __syncthreads() out of the condition")
			break
		}
	}
}

// within returns a block with a barrier on the way from one block to another, -1 for none.
func (k *kernelView) within(from, to int, has []bool) int {
	var all []int
	for b := range has {
		if has[b] && b != to && k.graph.reaches(from, b, func(v int) bool { return v == to }) {
			all = append(all, b)
		}
	}
	if len(all) == 0 {
		return -1
	}
	return slices.Min(all)
}

// nothingBut tells whether a block only ends the function.
func (k *kernelView) nothingBut(block int) bool {
	for i := k.walk.Blocks[block].First; i < k.walk.Blocks[block].Last; i++ {
		if k.Stmts[i].Kind == ptx.Inst {
			base := string(k.Base(i))
			return base == "ret" || base == "exit"
		}
	}
	return false
}
