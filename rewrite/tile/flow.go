package tile

import (
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
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
	*ir.Func
	block [3]int            // the block that it is launched with
	named map[string]ir.Reg // its registers
	*ir.Spread
}

func newTileFlow(f *ptx.Func, block [3]int) (*tileFlow, error) {
	w, err := ir.Of(f)
	if err != nil {
		return nil, err
	}
	t := &tileFlow{Func: w, block: block, named: map[string]ir.Reg{}}
	for r := range ir.Reg(w.Registers()) {
		name, _, _ := strings.Cut(w.Name(r), "'")
		if _, twice := t.named[name]; twice {
			return nil, fmt.Errorf("register %s is declared in several scopes", name)
		}
		t.named[name] = r
	}
	return t, nil
}

// bits is the width of a register by its name, 0 for what is none.
func (t *tileFlow) bits(name string) int {
	if r, ok := t.named[name]; ok {
		return t.Bits(r)
	}
	return 0
}

// kept reports whether a register has the same value at a block's beginning as behind a statement
// from which that is come to: nothing writes it on any way in between.
func (t *tileFlow) kept(reg ir.Reg, behind, head int) bool {
	home := func(b int) bool { return b == t.Block(behind) }
	for _, d := range t.Defs(reg) {
		switch in := t.Block(d); {
		case home(in) && d > behind:
			return false // careful: it may be in a part that does not lead there
		case home(in): // come to again only through behind
		case t.Reaches(t.Blocks[t.Block(behind)].Succs, in, home) && t.Reaches(t.Blocks[in].Succs, head, home):
			return false
		}
	}
	return true
}

// A divergence is a branch on which threads may differ, of which one way alone leads to the loop: a
// thread takes the other one where the predicate is true, or where it is false.
type divergence struct {
	stmt      int
	predicate ir.Reg
	whenFalse bool
}

// parts lists the branches of which one way alone comes to a block, in the order in which they are
// passed.
func (t *tileFlow) parts(head int) []divergence {
	var out []divergence
	for b := t.Dominator(head); b >= 0; b = t.Dominator(b) {
		last := t.Blocks[b].Last - 1
		x, to := t.Inst(last), t.Blocks[b].Succs
		if x.Guard == ir.None {
			continue
		}
		p := divergence{last, x.Guard, x.Unless}
		home := func(x int) bool { return x == b }
		switch {
		case x.Op == "ret" || x.Op == "exit":
		case x.Op == "bra" && len(to) == 2:
			jumps, falls := t.Reaches(to[:1], head, home), t.Reaches(to[1:], head, home)
			away := to[:1]
			if jumps { // the others fall through
				p.whenFalse, away = !x.Unless, to[1:]
			}
			if jumps == falls || t.Reaches(away, b, nil) {
				continue // a loop's own test: who goes round comes back
			}
		default:
			continue
		}
		out = append(out, p)
	}
	slices.Reverse(out)
	return out
}
