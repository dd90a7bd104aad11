package tile

import (
	"fmt"
	"slices"
	"strings"

	"gnvcc/graph"
	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// What of a kernel all threads of a block do together: which values are the same for all of them,
// and whether all of them come to a place, equally often.
//
// A branch on which threads differ parts them up to the block that all ways from it pass; what is
// written in between is not the same for all. One kind of such branches is different: where only
// one of the two ways can come to the loop (`if (i >= n) return;`), the block is asked at run time,
// by a barrier in front of the branch, whether all of its threads take that way. If not, the block
// runs the loop as it was.

// A tileFlow is what is known of one kernel.
type tileFlow struct {
	f         *ptx.Func
	block     [3]int // the block that it is launched with
	blocks    []ptx.Block
	of        []int // block by statement
	idom      []int
	ipdom     []int
	loops     []graph.Loop
	defs      map[string][]int
	width     map[string]int // bits, by register
	varying   map[string]bool
	divergent map[int]bool // blocks that perhaps not all threads come to, or not equally often
}

func newTileFlow(f *ptx.Func, block [3]int) (*tileFlow, error) {
	blocks, err := f.Blocks()
	if err != nil {
		return nil, err
	}
	after := dataflow.Successors(blocks)
	t := &tileFlow{f: f, block: block, blocks: blocks, of: make([]int, len(f.Stmts)),
		idom: graph.Dominators(after, 0), ipdom: dataflow.Postdominators(f, blocks),
		loops: graph.Loops(after), defs: map[string][]int{}, width: map[string]int{}}
	for b := range blocks {
		for i := blocks[b].First; i < blocks[b].Last; i++ {
			t.of[i] = b
		}
	}
	registers, err := f.Registers()
	if err != nil {
		return nil, err
	}
	for _, v := range registers {
		for n := range max(v.Count, 1) {
			name := v.Name
			if v.Count > 0 {
				name = fmt.Sprintf("%s%d", v.Name, n)
			}
			if _, twice := t.width[name]; twice {
				return nil, fmt.Errorf("register %s is declared in several scopes", name)
			}
			t.width[name] = pass.BitsOf(v.Type)
		}
	}
	for i := range f.Stmts {
		f.Effects(i, func(n ptx.Span, _, write bool) {
			if name := string(f.Bytes(n)); write && name != "_" && !slices.Contains(t.defs[name], i) {
				t.defs[name] = append(t.defs[name], i)
			}
		})
	}
	return t, nil
}

// dominates tells whether statement a runs on every way to statement b, before it.
func (t *tileFlow) dominates(a, b int) bool {
	if t.of[a] == t.of[b] {
		return a < b
	}
	return t.above(t.of[a], t.of[b])
}

// above tells whether every way to a block passes another one, or is it.
func (t *tileFlow) above(a, b int) bool {
	for ; b != a; b = t.idom[b] {
		if t.idom[b] < 0 {
			return false
		}
	}
	return true
}

// reaches tells whether a way leads from one of some blocks to another, through none that is
// barred; the first blocks and the last one may be barred.
func (t *tileFlow) reaches(from []int, to int, barred func(block int) bool) bool {
	return ptx.Onward(t.blocks, from, barred)[to]
}

// kept tells whether a register has the same value at a block's beginning as behind a statement
// from which that is come to: nothing writes it on any way in between.
func (t *tileFlow) kept(reg string, behind, head int) bool {
	for _, d := range t.defs[reg] {
		if t.of[d] == t.of[behind] && d > behind {
			return false // careful: it may be in a part that does not lead there
		}
		if t.of[d] == t.of[behind] {
			continue // come to again only through behind
		}
		home := func(b int) bool { return b == t.of[behind] }
		if t.reaches(t.blocks[t.of[behind]].Succs, t.of[d], home) &&
			t.reaches(t.blocks[t.of[d]].Succs, head, home) {
			return false
		}
	}
	return true
}

// A divergence is a branch on which threads may differ, of which one way alone leads to the loop.
type divergence struct {
	stmt   int
	leaves string // "%p1" or "!%p1": whether a thread takes another way
}

// parts lists the branches of which one way alone comes to a block, in the order in which they are
// passed.
func (t *tileFlow) parts(head int) []divergence {
	var out []divergence
	for b := t.idom[head]; b >= 0; b = t.idom[b] {
		last := t.blocks[b].Last - 1
		reg, negated := t.f.Guard(last)
		if t.f.Stmts[last].Kind != ptx.Inst || reg == nil {
			continue
		}
		p := divergence{stmt: last, leaves: string(reg)}
		if negated {
			p.leaves = "!" + p.leaves
		}
		home := func(x int) bool { return x == b }
		switch base := string(t.f.Base(last)); {
		case base == "ret" || base == "exit":
		case base == "bra" && len(t.blocks[b].Succs) == 2:
			to, next := t.blocks[b].Succs[0], t.blocks[b].Succs[1]
			jumps, falls := t.reaches([]int{to}, head, home), t.reaches([]int{next}, head, home)
			if jumps == falls {
				continue
			}
			if jumps { // the others fall through
				if negated {
					p.leaves = string(reg)
				} else {
					p.leaves = "!" + string(reg)
				}
			}
		default:
			continue
		}
		if base := string(t.f.Base(last)); base == "bra" {
			away := t.blocks[b].Succs[0]
			if strings.HasPrefix(p.leaves, "!") != negated {
				away = t.blocks[b].Succs[1]
			}
			if t.reaches([]int{away}, b, func(int) bool { return false }) {
				continue // a loop's own test: who goes round comes back
			}
		}
		out = append(out, p)
	}
	slices.Reverse(out)
	return out
}

// spread works out what varies from thread to thread where no thread has diverged at one of the
// given branches.
func (t *tileFlow) spread(asked []divergence) {
	t.varying, t.divergent = map[string]bool{}, map[int]bool{}
	held := map[int]bool{}
	for _, p := range asked {
		held[p.stmt] = true
	}
	varies := func(i int) bool {
		varies := t.divergent[t.of[i]] || t.data(i)
		t.f.Effects(i, func(n ptx.Span, read, _ bool) {
			varies = varies || read && t.varies(string(t.f.Bytes(n)))
		})
		return varies
	}
	for grown := true; grown; {
		grown = false
		dataflow.Forward(t.f, t.varying, func(a, b bool) bool { return a || b }, varies)
		for i, s := range t.f.Stmts {
			if s.Kind == ptx.Inst && (t.leaves(i) && s.Guarded && !held[i] ||
				string(t.f.Base(i)) == "brx") && varies(i) {
				grown = t.part(t.of[i]) || grown
			}
		}
	}
}

func (t *tileFlow) leaves(i int) bool {
	switch string(t.f.Base(i)) {
	case "bra", "brx", "ret", "exit", "trap":
		return true
	}
	return false
}

// part marks what lies between a branch and the block where its ways meet.
func (t *tileFlow) part(b int) (grown bool) {
	meet := t.ipdom[b]
	reached := ptx.Onward(t.blocks, t.blocks[b].Succs, func(x int) bool { return x == meet })
	for x, is := range reached {
		if is && x != meet && !t.divergent[x] {
			t.divergent[x], grown = true, true
		}
	}
	return grown
}

// varies tells whether an operand's value may differ between threads.
func (t *tileFlow) varies(name string) bool {
	if name[0] != '%' || len(t.defs[name]) > 0 {
		return t.varying[name]
	}
	switch special, _, _ := strings.Cut(name, "."); special {
	case "%ntid", "%ctaid", "%nctaid":
		return false
	}
	return true
}

// data tells of instructions whose result is not a function of their operands alone.
func (t *tileFlow) data(i int) bool {
	base := string(t.f.Base(i))
	switch {
	case base == "ld":
		op := t.f.Opcode(i)
		return !ptx.HasModifier(op, "param")
	case t.leaves(i):
		return false
	}
	return !dataflow.Computes(base)
}
