package hazard

import "gnvcc/rewrite/ptx"

// A graph is the control flow with what post-dominates what: the place where lanes that parted meet
// again.
type graph struct {
	succs [][]int
	ipdom []int // immediate post-dominator by block; len(succs) is the function's end
}

// newGraph uses the iterative algorithm of Cooper, Harvey and Kennedy (2001) on the reversed graph.
// ends tells which blocks may leave the function.
func newGraph(blocks []ptx.Block, ends func(block int) bool) graph {
	n := len(blocks)
	g := graph{succs: make([][]int, n), ipdom: make([]int, n+1)}
	preds := make([][]int, n+1) // in the reversed graph these are successors
	for i, b := range blocks {
		g.succs[i] = b.Succs
		if ends(i) {
			preds[n] = append(preds[n], i)
		}
		for _, s := range b.Succs {
			preds[s] = append(preds[s], i)
		}
	}
	order := make([]int, 0, n+1) // postorder of the reversed graph
	state := make([]uint8, n+1)
	var visit func(int)
	visit = func(v int) {
		state[v] = 1
		for _, p := range preds[v] {
			if state[p] == 0 {
				visit(p)
			}
		}
		order = append(order, v)
	}
	visit(n)
	number := make([]int, n+1)
	for i := range number {
		number[i] = -1
		g.ipdom[i] = -1
	}
	for i, v := range order {
		number[v] = i
	}
	g.ipdom[n] = n
	meet := func(a, b int) int {
		for a != b {
			for number[a] < number[b] {
				a = g.ipdom[a]
			}
			for number[b] < number[a] {
				b = g.ipdom[b]
			}
		}
		return a
	}
	for changed := true; changed; {
		changed = false
		for i := len(order) - 2; i >= 0; i-- { // reverse postorder without the end
			v := order[i]
			next := g.succs[v]
			if ends(v) {
				next = append(append([]int(nil), next...), n)
			}
			best := -1
			for _, s := range next {
				if number[s] < 0 || g.ipdom[s] < 0 {
					continue
				}
				if best < 0 {
					best = s
				} else {
					best = meet(best, s)
				}
			}
			if best >= 0 && g.ipdom[v] != best {
				g.ipdom[v] = best
				changed = true
			}
		}
	}
	return g
}

// reaches tells whether block to can be reached from block from without entering a block that is
// barred.
func (g graph) reaches(from, to int, barred func(block int) bool) bool {
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
		queue = append(queue, g.succs[v]...)
	}
	return false
}

// only tells whether every way from the entry to a block goes along the edge from -> along.
func (g graph) only(block, from, along int) bool {
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
		for _, s := range g.succs[v] {
			if v != from || s != along {
				queue = append(queue, s)
			}
		}
	}
	return true
}
