package ptx

// Dominators returns for each block the nearest other one that every way from the entry to it
// passes: -1 for the entry and for blocks that nothing leads to. (Cooper, Harvey, Kennedy, A
// Simple, Fast Dominance Algorithm, 2001.)
func Dominators(blocks []Block) []int {
	order, number := make([]int, 0, len(blocks)), make([]int, len(blocks))
	type visit struct{ block, next int }
	seen := make([]bool, len(blocks))
	if len(blocks) > 0 {
		seen[0] = true
		for path := []visit{{}}; len(path) > 0; {
			v := &path[len(path)-1]
			if succs := blocks[v.block].Succs; v.next < len(succs) {
				s := succs[v.next]
				v.next++
				if !seen[s] {
					seen[s] = true
					path = append(path, visit{block: s})
				}
				continue
			}
			number[v.block] = len(order)
			order = append(order, v.block)
			path = path[:len(path)-1]
		}
	}
	before := predecessors(blocks)
	out := make([]int, len(blocks))
	for b := range out {
		out[b] = -1
	}
	for changed := true; changed; {
		changed = false
		for n := len(order) - 2; n >= 0; n-- { // all but the entry
			b, to := order[n], -1
			for _, p := range before[b] {
				switch {
				case !seen[p] || p != 0 && out[p] < 0:
				case to < 0:
					to = p
				default:
					x := p
					for x != to {
						for number[x] < number[to] {
							x = out[x]
						}
						for number[to] < number[x] {
							to = out[to]
						}
					}
				}
			}
			if out[b] != to {
				out[b], changed = to, true
			}
		}
	}
	return out
}

// Postdominators returns for each block the nearest other one that every way from it to the
// function's end passes; len(blocks) stands for the end.
func (f *Func) Postdominators(blocks []Block) []int { return postdominators(f, blocks) }
