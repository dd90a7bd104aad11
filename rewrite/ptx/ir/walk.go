package ir

import (
	"fmt"
	"maps"

	"gnvcc/rewrite/ptx"
)

// Following code from one instruction on, along the control flow, with the values of a few
// registers: enough to know which way a branch goes that depends on what that instruction found.

// Runs reports whether a statement is carried out, and whether that is certain: constant is what is
// known of registers, a predicate being 0 or 1.
func (w *Func) Runs(i int, constant func(Reg) (int64, bool)) (runs, certain bool) {
	if !w.Stmts[i].Guarded {
		return true, true
	}
	x := w.Inst(i)
	v, certain := constant(x.Guard)
	return v != 0 != x.Unless, certain
}

// Onward lists the blocks with which a block may go on, where its last statement runs or not.
func (w *Func) Onward(block int, runs, certain bool) []int {
	to := w.Blocks[block].Succs
	switch last := len(to) - 1; {
	case last < 1 || !certain || !w.Stmts[w.Blocks[block].Last-1].Guarded:
		return to
	case runs:
		return to[:last]
	default:
		return to[last:]
	}
}

// Store notes in known what a statement leaves: v in its first operand, where that is known, and of
// what else it writes nothing.
func Store[V any](w *Func, i int, known map[Reg]V, v V, is bool) {
	for _, a := range w.Accesses(i) {
		if a.Write {
			delete(known, a.Reg)
		}
	}
	if is && w.Inst(i).Args[0].Reg != None {
		known[w.Inst(i).Args[0].Reg] = v
	}
}

// A Walker follows a body's code with what little it knows of registers.
type Walker struct {
	*Func
	free       Operand // what stands for free
	freeNumber int64
	freeKnown  bool
}

type value struct {
	kind uint8
	n    int64
}

const (
	unknown  = iota
	constant // n; predicates are 0 and 1
	isFree   // the value of the operand that stands for free
	notFree  // any other
)

// A place is where the walk goes on, with what is known there. known is shared between places and
// never changed.
type place struct {
	stmt  int
	state uint8 // the caller's
	known map[Reg]value
}

// maxPlaces bounds a walk; the longest spin loop seen has five blocks.
const maxPlaces = 400

// An ending says how one way ended.
type ending uint8

const (
	back   ending = iota + 1 // at the attempt
	effect                   // where the caller ended it
	left                     // the function ended
	lost                     // too long to follow
)

type seeing func(stmt int, state uint8) (next uint8, on bool)

// walk goes along all ways from behind the attempt until each has ended; accept judges the endings.
func (w *Walker) walk(atom int, v value, see seeing, visit func(block int),
	accept func(ending) bool) bool {
	queue := []place{{atom + 1, 0, map[Reg]value{w.Inst(atom).Args[0].Reg: v}}}
	seen := map[string]bool{}
	for steps := 0; len(queue) > 0; steps++ {
		if steps > maxPlaces {
			return accept(lost)
		}
		p := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		key := fmt.Sprint(p) // maps in order
		if seen[key] {
			continue
		}
		seen[key] = true
		next, end := w.block(p, atom, see, visit)
		if end != 0 && !accept(end) {
			return false
		}
		queue = append(queue, next...)
	}
	return true
}

// block goes to the end of a block, and returns the places behind it.
func (w *Walker) block(p place, atom int, see seeing, visit func(int)) ([]place, ending) {
	if p.stmt >= len(w.Stmts) {
		return nil, left
	}
	at := w.Block(p.stmt)
	known := make(map[Reg]value, len(p.known)+4)
	maps.Copy(known, p.known)
	b := w.Blocks[at]
	visit(at)
	for i := p.stmt; i < b.Last; i++ {
		if w.Stmts[i].Kind != ptx.Inst {
			continue
		}
		if i == atom {
			return nil, back
		}
		runs, certain := w.Runs(i, number(known))
		if certain && !runs {
			continue
		}
		if w.Leaves(i) {
			break
		}
		var on bool
		if p.state, on = see(i, p.state); !on {
			return nil, effect
		}
		var v value
		if certain {
			v = w.result(w.Inst(i), known)
		}
		Store(w.Func, i, known, v, v.kind != unknown)
	}
	last := b.Last - 1
	if w.Stmts[last].Kind != ptx.Inst || !w.Leaves(last) {
		if len(b.Succs) == 0 {
			return nil, left
		}
		return []place{{w.Blocks[b.Succs[0]].First, p.state, known}}, 0
	}
	runs, certain := w.Runs(last, number(known))
	if op := w.Inst(last).Op; op != "bra" && op != "brx" && (runs || !certain) {
		return nil, left // ret, exit, trap
	}
	var next []place
	for _, to := range w.Onward(at, runs, certain) {
		next = append(next, place{w.Blocks[to].First, p.state, known})
	}
	if len(next) == 0 {
		return nil, left
	}
	return next, 0
}

// number are the constants among known values.
func number(known map[Reg]value) func(Reg) (int64, bool) {
	return func(r Reg) (int64, bool) { v := known[r]; return v.n, v.kind == constant }
}

// result is what an instruction gives: of constants, or one that an operand alone decides.
func (w *Walker) result(x *Inst, known map[Reg]value) value {
	of := func(n int) value { return w.value(x.Args[n], known) }
	args := len(x.Args)
	if args < 2 {
		return value{}
	}
	var in []int64
	for n := 1; n < args; n++ {
		switch v := of(n); {
		case v.kind == constant:
			in = append(in, v.n)
		case x.Op == "and" && args == 3 && of(3-n) == value{constant, 0}:
			return value{constant, 0}
		case x.Is("or.pred") && args == 3 && of(3-n) == value{constant, 1}:
			return value{constant, 1}
		}
	}
	switch {
	case x.Op == "mov" && args == 2 && x.Type() != "pred":
		return of(1)
	case x.Op == "selp" && args == 4 && of(3).kind == constant:
		return of(2 - int(of(3).n&1))
	case x.Op == "setp" && args == 3 && len(in) < 2:
		return w.compare(x, of(1), of(2))
	case len(in) == args-1 && x.Has("pred", "eq", "ne"): // a counter would never come to an end
		if n, ok := x.Compute(in...); ok {
			return value{constant, n}
		}
	}
	return value{}
}

// compare says of what stands for free, and of what does not, whether it is that.
func (w *Walker) compare(x *Inst, a, b value) value {
	width, _ := x.Integer()
	equal := x.Has("eq")
	if !equal && !x.Has("ne") || width == 0 {
		return value{}
	}
	free := func(v value, o Operand) bool {
		return v.kind == isFree || w.free.Text != "" && o.Reg == w.free.Reg && o.Text == w.free.Text ||
			v.kind == constant && w.freeKnown && v.n == w.freeNumber
	}
	var same bool
	switch {
	case a.kind == notFree && free(b, x.Args[2]), b.kind == notFree && free(a, x.Args[1]):
	case a.kind == isFree && free(b, x.Args[2]), b.kind == isFree && free(a, x.Args[1]):
		same = true
	default:
		return value{}
	}
	if same == equal {
		return value{constant, 1}
	}
	return value{constant, 0}
}

// value is what is known of an operand.
func (w *Walker) value(o Operand, known map[Reg]value) value {
	if v, ok := known[o.Reg]; ok && o.Reg != None {
		return v
	}
	if n, ok := w.Constant(o); ok {
		return value{constant, n}
	}
	return value{}
}
