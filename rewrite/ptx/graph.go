package ptx

import "slices"

// Graphs of basic blocks: strongly connected parts and postdominators; without recursion, since
// bodies may have a hundred thousand blocks.

// cycles returns the strongly connected parts, among these blocks alone, that have a way around
// (Tarjan, SIAM J. Comput. 1972), each sorted.
func cycles(blocks []Block, among []int) [][]int {
	const none, outside = -1, -2
	number, low := make([]int, len(blocks)), make([]int, len(blocks))
	for i := range number {
		number[i] = outside
	}
	for _, b := range among {
		number[b] = none
	}
	on := make([]bool, len(blocks))
	var stack []int
	var out [][]int
	type visit struct{ block, next int }
	count := 0
	for _, start := range among {
		if number[start] != none {
			continue
		}
		path := []visit{{start, 0}}
		for len(path) > 0 {
			v := &path[len(path)-1]
			b := v.block
			if v.next == 0 {
				number[b], low[b] = count, count
				count++
				stack, on[b] = append(stack, b), true
			}
			if v.next < len(blocks[b].Succs) {
				s := blocks[b].Succs[v.next]
				v.next++
				if number[s] == none {
					path = append(path, visit{s, 0})
				} else if number[s] != outside && on[s] {
					low[b] = min(low[b], number[s])
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				up := path[len(path)-1].block
				low[up] = min(low[up], low[b])
			}
			if low[b] != number[b] {
				continue
			}
			at := len(stack) - 1
			for stack[at] != b {
				at--
			}
			part := slices.Clone(stack[at:])
			stack = stack[:at]
			for _, x := range part {
				on[x] = false
			}
			if len(part) > 1 || slices.Contains(blocks[b].Succs, b) {
				slices.Sort(part)
				out = append(out, part)
			}
		}
	}
	return out
}

// postdominators returns for each block the nearest one that every way from it to the function's
// end passes; len(blocks) stands for the end itself. Blocks from which there is no way to the end
// have one added. (Cooper, Harvey, Kennedy, A Simple, Fast Dominance Algorithm, 2001, on the graph
// turned round.)
func postdominators(f *Func, blocks []Block) []int {
	end := len(blocks)
	before := withEnd(f, blocks)
	// in the order in which a walk from the end leaves them
	order, number := make([]int, 0, end+1), make([]int, end+1)
	for i := range number {
		number[i] = -1
	}
	seen := make([]bool, end+1)
	type visit struct{ block, next int }
	walk := func(from int) {
		path := []visit{{from, 0}}
		seen[from] = true
		for len(path) > 0 {
			v := &path[len(path)-1]
			if v.next < len(before[v.block]) {
				p := before[v.block][v.next]
				v.next++
				if !seen[p] {
					seen[p] = true
					path = append(path, visit{p, 0})
				}
				continue
			}
			order = append(order, v.block)
			path = path[:len(path)-1]
		}
	}
	// The walk proper comes last, once all blocks have a way to the end.
	walk(end)
	for b := end - 1; b >= 0; b-- {
		if !seen[b] {
			before[end] = append(before[end], b)
			walk(b)
		}
	}
	order = order[:0]
	clear(seen)
	walk(end)
	for n, b := range order {
		number[b] = n
	}
	after := make([][]int, end+1)
	for b, list := range before {
		for _, p := range list {
			after[p] = append(after[p], b)
		}
	}
	out := make([]int, end+1)
	for i := range out {
		out[i] = -1
	}
	out[end] = end
	for changed := true; changed; {
		changed = false
		for n := len(order) - 2; n >= 0; n-- { // all but the end
			b, to := order[n], -1
			for _, s := range after[b] {
				switch {
				case out[s] < 0:
				case to < 0:
					to = s
				default:
					to = meet(s, to, out, number)
				}
			}
			if out[b] != to {
				out[b], changed = to, true
			}
		}
	}
	return out
}

// withEnd lists the blocks that lead to each block, and last those that lead to the end.
func withEnd(f *Func, blocks []Block) [][]int {
	end := len(blocks)
	before := append(predecessors(blocks), nil)
	for b := range blocks {
		last := blocks[b].Last - 1
		falls := b+1 == end && (f.Stmts[last].Kind != Inst || f.Stmts[last].Guarded || !f.leaves(last))
		if base := string(f.Base(last)); len(blocks[b].Succs) == 0 || falls ||
			f.Stmts[last].Kind == Inst && f.leaves(last) && base != "bra" && base != "brx" {
			before[end] = append(before[end], b)
		}
	}
	return before
}

// meet is the first block on the ways up from two, which become longer as numbers become smaller.
func meet(x, y int, up, number []int) int {
	for x != y {
		for number[x] < number[y] {
			x = up[x]
		}
		for number[y] < number[x] {
			y = up[y]
		}
	}
	return y
}

// predecessors lists the blocks that lead to each block.
func predecessors(blocks []Block) [][]int {
	out := make([][]int, len(blocks))
	for b := range blocks {
		for _, s := range blocks[b].Succs {
			out[s] = append(out[s], b)
		}
	}
	return out
}
