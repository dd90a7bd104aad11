package hazard

import (
	"slices"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// barriers looks for barriers of the whole block that stand on one side of a branch, where threads
// of one block take both sides and those of the other side come to the place behind without one.
//
// Only conditions that can be worked out for each thread are judged (constants and the thread's
// index). Threads that end are no trouble: a barrier waits for those that are left.
func (k *kernelView) barriers() {
	has := make([]bool, len(k.Blocks)) // a block barrier stands in it
	first := make(map[int]int)
	any := false
	for i, s := range k.Stmts {
		if s.Kind == ptx.Inst && !s.Guarded && k.blockBarrier(i) {
			b := k.Block(i)
			has[b], any = true, true
			if _, ok := first[b]; !ok {
				first[b] = i
			}
		}
	}
	if !any {
		return
	}
	for b := range k.Blocks {
		last := k.Blocks[b].Last - 1
		x := k.Inst(last)
		if x.Guard == ir.None || x.Op != "bra" || len(k.Blocks[b].Succs) != 2 {
			continue
		}
		meet := k.Meet(b)
		if meet < 0 || meet >= len(k.Blocks) || k.nothingBut(meet) || !k.differs(x.Guard) {
			continue
		}
		for side, one := range k.Blocks[b].Succs {
			other := k.Blocks[b].Succs[1-side]
			barrier := k.within(one, meet, has)
			if barrier < 0 || !k.Reaches([]int{other}, meet, func(v int) bool {
				return v != meet && (has[v] || v == b)
			}) {
				continue
			}
			// Every way through this side has a barrier, and it is no loop that comes round.
			if k.Reaches([]int{one}, meet, func(v int) bool {
				return v != meet && has[v]
			}) || k.Reaches([]int{one}, b, func(v int) bool { return v == meet }) {
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
		if has[b] && b != to && k.Reaches([]int{from}, b, func(v int) bool { return v == to }) {
			all = append(all, b)
		}
	}
	if len(all) == 0 {
		return -1
	}
	return slices.Min(all)
}

// nothingBut reports whether a block only ends the function.
func (k *kernelView) nothingBut(block int) bool {
	for i := k.Blocks[block].First; i < k.Blocks[block].Last; i++ {
		if op := k.Inst(i).Op; op != "" {
			return op == "ret" || op == "exit"
		}
	}
	return false
}
