package fold

import (
	"slices"

	"gnvcc/graph"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// Rounds are the loops of a function, for variants in which nothing is fixed. Such a variant knows
// more than the kernel only where a loop's rounds are distinguished: the first one reads
// what stood before the loop, the others what the round before them left. Behind a loop nobody
// knows more than before: whether it ran at all, say.
type Rounds struct {
	f      *ptx.Func
	blocks []ptx.Block
	block  []int   // of each statement
	heads  [][]int // of the loops around each block
	// statements that write a register whatever their guard says, in order; made when first needed
	writes map[string][]int
}

// RoundsOf reads the loops of a function.
func RoundsOf(f *ptx.Func, blocks []ptx.Block) *Rounds {
	r := &Rounds{f: f, blocks: blocks, block: make([]int, len(f.Stmts)),
		heads: make([][]int, len(blocks))}
	for b := range blocks {
		for i := blocks[b].First; i < blocks[b].Last; i++ {
			r.block[i] = b
		}
	}
	for _, l := range graph.Loops(dataflow.Successors(blocks)) {
		for _, b := range l.Body {
			r.heads[b] = append(r.heads[b], l.Head)
		}
	}
	return r
}

// Block is the number of the block that a statement is of.
func (r *Rounds) Block(i int) int { return r.block[i] }

// Alike tells whether a variant knows no more of which of these writes statement i reads than the
// kernel does. So it is where i reads a register of its own round, in every loop around it: each
// way from the loop's head to i writes the register; and where a loop that is left behind has
// written it if it ran at all: each way from that loop's head to i does.
func (r *Rounds) Alike(i int, reg string, defs []int) bool {
	for _, head := range r.heads[r.block[i]] {
		if r.carried(head, i, reg) {
			return false
		}
	}
	for _, d := range defs {
		for _, head := range r.heads[r.block[d]] {
			if r.carried(head, i, reg) {
				return false
			}
		}
	}
	return true
}

// carried tells whether there is a way from a block's beginning to statement i on which nothing
// writes the register.
func (r *Rounds) carried(head, i int, reg string) bool {
	writes := r.writesOf(reg)
	written := func(b int, before int) bool { // in a block, before a statement of it
		at, _ := slices.BinarySearch(writes, r.blocks[b].First)
		return at < len(writes) && writes[at] < min(r.blocks[b].Last, before)
	}
	home := r.block[i]
	return !written(home, i) && ptx.Onward(r.blocks, []int{head}, func(b int) bool {
		return written(b, r.blocks[b].Last)
	})[home]
}

func (r *Rounds) writesOf(reg string) []int {
	if r.writes == nil {
		r.writes = map[string][]int{}
		for _, b := range r.blocks {
			for k := b.First; k < b.Last; k++ {
				if r.f.Stmts[k].Guarded {
					continue
				}
				r.f.Effects(k, func(n ptx.Span, _, write bool) {
					if write {
						name := string(r.f.Bytes(n))
						r.writes[name] = append(r.writes[name], k)
					}
				})
			}
		}
		for _, list := range r.writes {
			slices.Sort(list)
		}
	}
	return r.writes[reg]
}
