package graph

import "slices"

// A Loop is what an edge goes back to, and what it goes round.
type Loop struct {
	Head int   // the node that is entered first
	Body []int // all nodes, the head first
}

// Loops finds the loops behind node 0. A loop is an edge back to a node that is still open in a
// depth-first walk; to it belongs what leads to that edge without passing the loop's head. Edges to
// the same head are one loop.
func Loops(after [][]int) []Loop {
	back := make(map[int][]int) // head -> ends
	const (
		unseen = iota
		open
		done
	)
	state := make([]uint8, len(after))
	type frame struct{ node, next int }
	var stack []frame
	if len(after) > 0 {
		stack, state[0] = append(stack, frame{}), open
	}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next == len(after[top.node]) {
			state[top.node] = done
			stack = stack[:len(stack)-1]
			continue
		}
		s := after[top.node][top.next]
		top.next++
		switch state[s] {
		case unseen:
			state[s] = open
			stack = append(stack, frame{node: s})
		case open:
			back[s] = append(back[s], top.node)
		}
	}
	if len(back) == 0 {
		return nil
	}
	before := Reverse(after)
	var loops []Loop
	mark := make([]int, len(after)) // by the last loop that took the node
	for head, ends := range back {
		l := Loop{Head: head, Body: []int{head}}
		mark[head] = head + 1
		for todo := slices.Clone(ends); len(todo) > 0; {
			b := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if mark[b] == head+1 || state[b] == unseen {
				continue
			}
			mark[b] = head + 1
			l.Body = append(l.Body, b)
			todo = append(todo, before[b]...)
		}
		loops = append(loops, l)
	}
	slices.SortFunc(loops, func(a, b Loop) int { return a.Head - b.Head })
	return loops
}
