package repeat

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gnvcc/rewrite/ptx"
)

// What a warp's threads carry out together. Two threads that are in different copies of a turn
// are at different instructions: a shuffle of the one does not see the other, and a barrier does
// not count it. So where such an instruction stands in a loop, no thread may be in another turn
// than the others.
//
// bar.sync is for warps that come to it whole, which the PTX ISA asks of the program. Where each
// turn comes to it, and the turns are counted from numbers that all threads have (alike), a warp's
// threads do the same number of turns without tests in between, and are in the same copy.

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
		if string(l.f.Opcode(i)) == "bar.sync" && !l.f.Stmts[i].Guarded && l.everyTurn(l.of[i]) &&
			l.inStep() {
			continue
		}
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

// inStep tells whether all threads have the same number of turns, which is counted.
func (l *loop) inStep() bool {
	l.count()
	t := l.trip
	if t == nil || t.load == "" && !l.alike(t.bound, 0) || t.by != "" && !l.alike(t.by, 0) {
		return false
	}
	begins := slices.DeleteFunc(slices.Clone(l.reach.Of(-1, t.reg)), func(d int) bool {
		return l.in[l.of[d]]
	})
	return len(begins) == 1 && l.makesAlike(begins[0], 0)
}

// alike tells of an operand that has one value in the whole block, at all times: it is made in one
// place, of numbers, arguments, and what the block is.
func (l *loop) alike(operand string, deep int) bool {
	if _, err := strconv.ParseInt(operand, 0, 64); err == nil {
		return true
	}
	switch name, _, _ := strings.Cut(operand, "."); name {
	case "%ctaid", "%nctaid", "%ntid":
		return true
	}
	defs := l.reach.Of(-1, operand)
	return len(defs) == 1 && deep < deepest && l.makesAlike(defs[0], deep+1)
}

// makesAlike tells of a statement that gives such a value.
func (l *loop) makesAlike(d, deep int) bool {
	f, ops := l.f, l.f.Operands(d, nil)
	if f.Stmts[d].Guarded || len(ops) < 2 {
		return false
	}
	switch string(f.Base(d)) {
	case "ld":
		name, _, ok := f.Address(ops[1])
		return ok && ptx.Space(f.Opcode(d)) == "param" && slices.ContainsFunc(f.Params,
			func(p ptx.Variable) bool { return p.Name == string(name) })
	case "mov", "cvt", "add", "sub", "mul", "mad", "shl", "shr", "and", "or", "min", "max", "neg":
		return !slices.ContainsFunc(ops[1:], func(o ptx.Span) bool {
			return !l.alike(string(f.Bytes(o)), deep)
		})
	}
	return false
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
