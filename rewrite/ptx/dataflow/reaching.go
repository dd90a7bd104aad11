package dataflow

import (
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/ptx"
)

// Which writes of a register a read may see: forward data flow over the basic blocks, in bit sets.
// Most registers that a compiler names are written once; only the others have bits.

// Reaching is the reaching definitions of a body. It is void once the function is edited.
type Reaching struct {
	Blocks []ptx.Block

	defs map[string][]int // by register: the statements that write it, in order
	uses map[use][]int    // of registers that are written more than once
}

type use struct {
	stmt int
	reg  string
}

// ReachingOf works the reaching definitions out. Names are taken as they stand: registers of one
// name in scopes that stand behind each other are one. An error means that the body has no control
// flow that can be followed, or that a scope hides a register by one of its own.
func ReachingOf(f *ptx.Func) (*Reaching, error) {
	if name := f.Hidden(); name != "" {
		return nil, fmt.Errorf("a scope declares %s again", name)
	}
	blocks, err := f.Blocks()
	if err != nil {
		return nil, err
	}
	return ReachingIn(f, blocks), nil
}

// ReachingIn is ReachingOf where not all ways between a body's blocks are open.
func ReachingIn(f *ptx.Func, blocks []ptx.Block) *Reaching {
	r := &Reaching{Blocks: blocks, defs: map[string][]int{}, uses: map[use][]int{}}
	for i := range f.Stmts {
		f.Effects(i, func(n ptx.Span, _, write bool) {
			if name := string(f.Bytes(n)); write && (len(r.defs[name]) == 0 || last(r.defs[name]) != i) {
				r.defs[name] = append(r.defs[name], i)
			}
		})
	}
	bit := map[string]map[int]int{} // by register and statement
	var at []int                    // by bit: the statement
	for name, defs := range r.defs {
		if len(defs) < 2 {
			continue
		}
		bit[name] = map[int]int{}
		for _, i := range defs {
			bit[name][i] = len(at)
			at = append(at, i)
		}
	}
	words := (len(at) + 63) / 64
	in := make([]uint64, words*len(blocks))
	live := make([]uint64, words)
	// walk goes through a block from what reaches its beginning; live is what reaches its end.
	walk := func(b int, read func(i int, name string)) {
		copy(live, in[b*words:(b+1)*words])
		for i := blocks[b].First; i < blocks[b].Last; i++ {
			if read != nil {
				f.Effects(i, func(n ptx.Span, reads, _ bool) {
					if name := string(f.Bytes(n)); reads && bit[name] != nil {
						read(i, name)
					}
				})
			}
			f.Effects(i, func(n ptx.Span, _, write bool) {
				of := bit[string(f.Bytes(n))]
				if !write || of == nil {
					return
				}
				if !f.Stmts[i].Guarded { // a guarded write may leave what was there
					for _, k := range of {
						live[k/64] &^= 1 << (k % 64)
					}
				}
				live[of[i]/64] |= 1 << (of[i] % 64)
			})
		}
	}
	if words == 0 {
		return r
	}
	spread(blocks, in, func(b int) []uint64 {
		walk(b, nil)
		return live
	})
	for b := range blocks {
		walk(b, func(i int, name string) {
			var found []int
			for _, k := range bit[name] {
				if live[k/64]&(1<<(k%64)) != 0 {
					found = append(found, at[k])
				}
			}
			slices.Sort(found)
			r.uses[use{i, name}] = slices.Compact(found)
		})
	}
	return r
}

// spread hands on what reaches the end of each block, as leaving tells it, until nothing is added
// to what reaches their beginnings.
func spread(blocks []ptx.Block, in []uint64, leaving func(b int) []uint64) {
	queued := make([]bool, len(blocks))
	queue := make([]int, 0, len(blocks))
	for b := len(blocks) - 1; b >= 0; b-- {
		queue, queued[b] = append(queue, b), true
	}
	for len(queue) > 0 {
		b := last(queue)
		queue, queued[b] = queue[:len(queue)-1], false
		live := leaving(b)
		for _, next := range blocks[b].Succs {
			grown := false
			for w, set := range live {
				if at := next*len(live) + w; set&^in[at] != 0 {
					in[at] |= set
					grown = true
				}
			}
			if grown && !queued[next] {
				queue, queued[next] = append(queue, next), true
			}
		}
	}
}

func last(s []int) int { return s[len(s)-1] }

// Written tells whether any statement writes the register.
func (r *Reaching) Written(reg string) bool { return len(r.defs[reg]) > 0 }

// IsRegister tells a register from a number, and from what has an address. Inline assembly's need
// no % in their names.
func (r *Reaching) IsRegister(name string) bool {
	return strings.HasPrefix(name, "%") || r.Written(name)
}

// Of returns the statements, in order, whose write of a register statement i may read. A statement
// that also writes it reads what was there before.
func (r *Reaching) Of(i int, reg string) []int {
	if found, ok := r.uses[use{i, reg}]; ok {
		return found
	}
	return r.defs[reg]
}
