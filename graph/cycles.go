package graph

import "slices"

// Cycles returns the strongly connected parts of these nodes alone that have a way around
// (Tarjan, SIAM J. Comput. 1972), each sorted.
func Cycles(after [][]int, nodes []int) [][]int {
	const none, outside = -1, -2
	number, low := make([]int, len(after)), make([]int, len(after))
	for i := range number {
		number[i] = outside
	}
	for _, b := range nodes {
		number[b] = none
	}
	on := make([]bool, len(after))
	var stack []int
	var out [][]int
	type visit struct{ node, next int }
	count := 0
	for _, start := range nodes {
		if number[start] != none {
			continue
		}
		path := []visit{{start, 0}}
		for len(path) > 0 {
			v := &path[len(path)-1]
			b := v.node
			if v.next == 0 {
				number[b], low[b] = count, count
				count++
				stack, on[b] = append(stack, b), true
			}
			if v.next < len(after[b]) {
				s := after[b][v.next]
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
				up := path[len(path)-1].node
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
			if len(part) > 1 || slices.Contains(after[b], b) {
				slices.Sort(part)
				out = append(out, part)
			}
		}
	}
	return out
}
