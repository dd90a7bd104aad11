package repeat

import (
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/ptx"
)

// What a warp's threads carry out together. Two threads that are in different copies of a turn
// are at different instructions: a shuffle of the one does not see the other, and a barrier does
// not count it. So where such an instruction stands in a loop, no thread may be in another turn
// than the others.

// collective are the instructions in which several threads take part.
var collective = strings.Fields(`bar barrier shfl vote match redux activemask elect mma wmma wgmma
	ldmatrix stmatrix movmatrix tcgen05 setmaxnreg mbarrier griddepcontrol`)

// isCollective tells of such an instruction, and of accesses by which threads that go in step see
// what others left.
func isCollective(f *ptx.Func, i int) bool {
	return f.Stmts[i].Kind == ptx.Inst && (slices.Contains(collective, string(f.Base(i))) ||
		ptx.HasModifier(f.Opcode(i), "volatile"))
}

// together is an error where copies would part threads that have to be together.
func (l *loop) together() error {
	for i := range l.all {
		if isCollective(l.f, i) {
			return fmt.Errorf("%s stands in it, which threads carry out together", l.f.Opcode(i))
		}
		if l.f.Stmts[i].Kind == ptx.Inst && string(l.f.Base(i)) == "call" {
			if err := l.callees(); err != nil {
				return err
			}
		}
	}
	return nil
}

// callees looks at all that the kernel may call.
func (l *loop) callees() error {
	r, err := l.m.Reach(l.f.Name)
	if err != nil {
		return err
	}
	for _, g := range r.Funcs {
		if g == l.f || g.Entry {
			continue
		}
		if !g.Body && !ptx.OfDriver(g.Name) {
			return fmt.Errorf("%s is called in it, which is not in this file", g.Name)
		}
		for i := range g.Stmts {
			if isCollective(g, i) {
				return fmt.Errorf("%s is called in it, in which threads do something together", g.Name)
			}
		}
	}
	return nil
}
