package fold

import (
	"maps"
	"slices"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// What fixed values leave of a kernel. Where n is 5, no way leads around `if (n > 0)`, and what
// stands there is no second start of a sum. Integers are followed through all blocks at once
// (M. Wegman, K. Zadeck, Constant propagation with conditional branches, TOPLAS 13(2), 1991): at a
// block's beginning is known what all ways that are open so far agree upon.

// narrow leaves to a function the ways that fixed values leave open, and marks what stands on none.
func (s *state) narrow(fixed Fixed) {
	whole := s.reach
	known, open := computation{f: s.f, reach: whole, fixed: fixed}.everywhere()
	blocks := slices.Clone(whole.Blocks)
	s.dead = make([]bool, len(s.f.Stmts))
	for b := range blocks {
		for i := blocks[b].First; known[b] == nil && i < blocks[b].Last; i++ {
			s.dead[i] = true
		}
		blocks[b].Succs = slices.Sorted(maps.Keys(open[b]))
	}
	s.reach, s.whole = dataflow.ReachingIn(s.f, blocks), whole
}

// fewer tells of an operand that fewer statements may have written than where all ways are open.
func (s *state) fewer(i int, reg string, defs []int) bool {
	return s.whole != nil && len(defs) < len(s.whole.Of(i, reg))
}

// everywhere is what is known at the beginning of each block, nil where no way leads to it, and
// which of the blocks behind it each goes on with.
func (c computation) everywhere() (known []map[string]int64, open []map[int]bool) {
	blocks := c.reach.Blocks
	known, open = make([]map[string]int64, len(blocks)), make([]map[int]bool, len(blocks))
	known[0] = map[string]int64{}
	for todo := []int{0}; len(todo) > 0; {
		w := walk{block: todo[len(todo)-1]}
		todo = todo[:len(todo)-1]
		w.known, open[w.block] = maps.Clone(known[w.block]), map[int]bool{}
		for i := blocks[w.block].First; i < blocks[w.block].Last; i++ {
			if c.f.Stmts[i].Kind == ptx.Inst {
				if runs, certain := c.runs(i, w.known); runs || !certain {
					c.step(i, certain, w.known)
				}
			}
		}
		for _, to := range c.ways(blocks[w.block], w.known) {
			open[w.block][to] = true
			news := known[to] == nil
			if news {
				known[to] = maps.Clone(w.known)
			}
			for reg, v := range known[to] {
				if now, certain := w.known[reg]; !certain || now != v {
					delete(known[to], reg)
					news = true
				}
			}
			if news {
				todo = append(todo, to)
			}
		}
	}
	return known, open
}
