package check

import (
	"slices"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// mostStores bounds the pairs of stores that are looked at: beyond, each argument in an address counts.
const mostStores = 200

// places lists the arguments that decide where something lies, so that in a launch with others a
// number would be read that no checked launch has compared:
//
//	st.local.f32 [%rd9], %f1;  ...  ld.local.f32 %f3, [%rd8];      %rd8 depends on an argument
//	st.global.f32 [%rd1], %f1; st.global.f32 [%rd1+%rd2], %f2;      %rd2 does: where it is 0, %f1 is lost
//
// Of two stores only what their addresses differ by counts.
func places(w *ir.Func, m *numbers) (out [][3]int) {
	f := flowOf(w, false, nil)
	pointers := map[[2]int]bool{}
	add := func(s sources) {
		for _, a := range f.arguments(s) {
			if pointers[[2]int{a.index, a.offset}] {
				continue
			}
			out = append(out, [3]int{a.index, a.offset, a.bytes})
		}
	}
	var stores, shared, local []int
	for i := range w.Stmts {
		x := w.Inst(i)
		o := x.Address()
		if o == nil || o.Reg == ir.None {
			continue
		}
		if index, offset, ok := w.Parameter(*o); ok {
			pointers[[2]int{index, offset}] = true
		}
		switch space := ptx.Space(w.Opcode(i)); {
		case space == "local":
			local = append(local, i)
		case space == "shared" && x.Op == "ld":
			shared = append(shared, i)
		case (space == "" || space == "global") && x.Op == "st":
			stores = append(stores, i)
		}
	}
	for _, i := range local {
		add(f.known[w.Inst(i).Address().Reg])
	}
	if several(w, m) {
		for _, i := range shared {
			s := f.known[w.Inst(i).Address().Reg]
			s.arguments &^= f.number(blockSize) | f.number(gridSize) // how a block's sum is halved
			add(s)
		}
	}
	at := arithmetic{f, map[string]sources{}, map[ir.Reg]ir.Affine{}}
	for k, i := range stores {
		for _, j := range stores[k+1:] {
			if len(stores) > mostStores || meets(w, i, j) {
				add(at.apart(*w.Inst(i).Address(), *w.Inst(j).Address()))
			}
		}
	}
	return out
}

// several reports whether numbers that were computed are put into shared memory at several places
// of the code.
func several(w *ir.Func, m *numbers) bool {
	n := 0
	for i := range w.Stmts {
		if x := w.Inst(i); x.Op == "st" && ptx.Space(w.Opcode(i)) == "shared" &&
			slices.ContainsFunc(x.Args, func(o ir.Operand) bool { return !o.Address && m.is(o) }) {
			n++
		}
	}
	return n > 1
}

// meets reports whether two stores may be to the same array, in one thread.
func meets(w *ir.Func, i, j int) bool {
	a, b := w.Origin(*w.Inst(i).Address()).Root, w.Origin(*w.Inst(j).Address()).Root
	m, n := w.Block(i), w.Block(j)
	return (a == b || a == "" || b == "") && (m == n || w.Reaches([]int{m}, n, nil) || w.Reaches([]int{n}, m, nil))
}

// An arithmetic writes addresses in terms of registers that can't be written in terms of others.
type arithmetic struct {
	*flow
	known map[string]sources // what these depend on
	done  map[ir.Reg]ir.Affine
}

// mostTerms bounds a sum; a register with a longer one stands for itself.
const mostTerms = 32

// apart is what the distance of two addresses depends on.
func (f *arithmetic) apart(a, b ir.Operand) (s sources) {
	for product := range f.affine(a).Plus(f.affine(b), -1) {
		for _, leaf := range ir.Leaves(product) {
			s = s.join(f.known[leaf])
		}
	}
	return s
}

func (f *arithmetic) affine(o ir.Operand) (a ir.Affine) {
	if n, ok := ir.Literal(o.Text); ok && o.Reg == ir.None {
		return ir.Number(n)
	}
	if o.Reg == ir.None {
		switch name, _, _ := strings.Cut(o.Text, "."); name {
		case "%ntid":
			f.known[o.Text] = sources{arguments: f.number(blockSize)}
		case "%nctaid":
			f.known[o.Text] = sources{arguments: f.number(gridSize)}
		}
		return ir.Affine{o.Text: 1}
	}
	if a, ok := f.done[o.Reg]; ok {
		return a
	}
	a = ir.Affine{f.Name(o.Reg): 1}
	f.done[o.Reg], f.known[f.Name(o.Reg)] = a, f.flow.known[o.Reg]
	if i := f.Sole(o.Reg); i >= 0 {
		x := f.Inst(i)
		if sum, ok := x.Arithmetic(func(n int) (ir.Affine, bool) {
			if n >= len(x.Args) {
				return nil, false
			}
			return f.affine(x.Args[n]), true
		}, func(a ir.Affine, _ bool) ir.Affine { return a }); ok && len(sum) <= mostTerms {
			a = sum
		}
	}
	f.done[o.Reg] = a
	return a
}
