package ptx

import "slices"

// A Loop is what an edge goes back to, and what it goes round.
type Loop struct {
	Head int   // the block that is entered first
	Body []int // all blocks, the head first
}

// Loops finds a body's loops. A loop is an edge back to a block that is still open in a depth-first
// walk; to it belongs what leads to that edge without passing the loop's head. Edges to the same
// head are one loop.
func Loops(blocks []Block) []Loop {
	back := make(map[int][]int) // head -> ends
	const (
		unseen = iota
		open
		done
	)
	state := make([]uint8, len(blocks))
	type frame struct{ block, next int }
	var stack []frame
	if len(blocks) > 0 {
		stack, state[0] = append(stack, frame{}), open
	}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next == len(blocks[top.block].Succs) {
			state[top.block] = done
			stack = stack[:len(stack)-1]
			continue
		}
		s := blocks[top.block].Succs[top.next]
		top.next++
		switch state[s] {
		case unseen:
			state[s] = open
			stack = append(stack, frame{block: s})
		case open:
			back[s] = append(back[s], top.block)
		}
	}
	if len(back) == 0 {
		return nil
	}
	before := predecessors(blocks)
	var loops []Loop
	mark := make([]int, len(blocks)) // by the last loop that took the block
	for head, ends := range back {
		l := Loop{Head: head, Body: []int{head}}
		mark[head] = head + 1
		for todo := slices.Clone(ends); len(todo) > 0; {
			b := last(todo)
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
