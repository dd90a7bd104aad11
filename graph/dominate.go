package graph

// Dominators returns for each node the nearest other one that every way from the root to it
// passes: -1 for the root and for nodes that nothing leads to. On a graph that is turned round,
// with the end as its root, these are the postdominators. (Cooper, Harvey, Kennedy, A Simple, Fast
// Dominance Algorithm, 2001.)
func Dominators(after [][]int, root int) []int {
	order, number := postorder(after, root)
	before := Reverse(after)
	out := make([]int, len(after))
	for b := range out {
		out[b] = -1
	}
	for changed := true; changed; {
		changed = false
		for n := len(order) - 2; n >= 0; n-- { // all but the root
			b, to := order[n], -1
			for _, p := range before[b] {
				switch {
				case number[p] < 0 || p != root && out[p] < 0:
				case to < 0:
					to = p
				default:
					to = meet(p, to, out, number)
				}
			}
			if out[b] != to {
				out[b], changed = to, true
			}
		}
	}
	return out
}

// meet is the first node on the ways up from two, which become longer as numbers become smaller.
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

// postorder lists what can be reached from the root, each node behind those that it leads to;
// number is a node's place there, -1 for one that can't be reached.
func postorder(after [][]int, root int) (order, number []int) {
	const open = -2
	number = make([]int, len(after))
	for i := range number {
		number[i] = -1
	}
	if root >= len(after) {
		return nil, number
	}
	type visit struct{ node, next int }
	number[root] = open
	for path := []visit{{node: root}}; len(path) > 0; {
		v := &path[len(path)-1]
		if v.next < len(after[v.node]) {
			s := after[v.node][v.next]
			v.next++
			if number[s] == -1 {
				number[s] = open
				path = append(path, visit{node: s})
			}
			continue
		}
		number[v.node] = len(order)
		order = append(order, v.node)
		path = path[:len(path)-1]
	}
	return order, number
}

// Reach adds to a set of nodes one of them, and what can be reached from it past others than those
// that are in it.
func Reach(after [][]int, from int, in []bool) {
	in[from] = true
	for todo := []int{from}; len(todo) > 0; {
		b := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, s := range after[b] {
			if !in[s] {
				in[s] = true
				todo = append(todo, s)
			}
		}
	}
}

// Reverse lists the nodes that lead to each node.
func Reverse(after [][]int) [][]int {
	out := make([][]int, len(after))
	for b, list := range after {
		for _, s := range list {
			out[s] = append(out[s], b)
		}
	}
	return out
}
