package early

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
	"gnvcc/rewrite/recipe"
)

// Lever is the lever's name.
const Lever = "early"

// early=on does loads from global memory in front of the stores that stand before them in the same
// basic block, where it is seen at run time that they are of other addresses.
//
//	                                     sub.s64 %gnvcc_ew0, %rd3, %rd20; ...     (every store, every load)
//	                                     setp.lt.u64 %gnvcc_ep0, %gnvcc_ew1, 15;
//	                                     @%gnvcc_ep0 bra $gnvcc_early_0;
//	                                     ld.global.f32 %f66, [%rd20+5920];
//	                                     ld.global.f32 %f82, [%rd20+8880];
//	st.global.f32 [%rd3], %f64;          st.global.f32 [%rd3], %f64;
//	ld.global.f32 %f66, [%rd20+5920];
//	mul.f32 %f67, %f66, %f12;            mul.f32 %f67, %f66, %f12;
//	st.global.f32 [%rd3], %f67;          st.global.f32 [%rd3], %f67;
//	ld.global.f32 %f82, [%rd20+8880];
//	                                     $gnvcc_joined_0:
//	...                                  ...
//	ret;                                 ret;
//	                                     $gnvcc_early_0:        (as it was, up to the last such load)
//	                                     st.global.f32 [%rd3], %f64; ...
//	                                     bra $gnvcc_joined_0;
//
// early=N, from 2 to 16, does the same for N turns at once of each loop that is one block, where it
// is seen at the first that all of them come: the loads of the others go into registers of their
// own, from where they are copied in their turns. Other blocks are treated as by on.
//
// Neither cicc nor ptxas does this: a pointer that is not __restrict__ may lead anywhere. So in a
// loop that stores in each turn the turns that were unrolled wait for memory one after the other.
//
// Unrolling in the source does not help by itself, and may change what is contracted.
//
// Allowed: loads that are plain (weak), of .global, with cache hints or without, not guarded, whose
// address and whose stores' addresses come from integers that are there at the block's beginning.
// What else stands between them must be arithmetic, a plain access to memory, or a load of a
// parameter: behind a barrier, an atomic, a fence, a call, a volatile or generic store a new
// stretch begins (plan.go). Left alone: functions that are called, inline assembly with a
// scope.
//
// Safe: a load is done only where it would be done: in the same block, or in a turn that comes. It
// is done once, as before, and so is every store, in the order of the text. A load that may see
// what a store of its own thread left is not moved: by the same register that is seen here, else at
// run time, where the way as it was is taken. What other threads store meanwhile a weak load may
// see or not, early or late: nothing that orders it is passed (PTX ISA, "Memory Consistency
// Model"). Exact as checked only: ptxas compiles the arithmetic anew.
//
// From: the test at run time is Nicolau's (run-time disambiguation, 1989).
func Apply(k *pass.Kernel, terms []recipe.Term) error {
	value, err := pass.Only(terms)
	if err != nil {
		return err
	}
	turns := 1
	if value != "on" {
		if turns, err = recipe.Number(value, 2, mostEarlyTurns); err != nil {
			return err
		}
	}
	if strings.Contains(string(k.Text()), earlyPrefix) ||
		strings.Contains(string(k.Text()), earlyLabel) {
		return errors.New("the kernel has names that begin with " + earlyPrefix + " already")
	}
	f, plans, end, err := earlyPlans(k.Func, k.Module.AddressSize, turns)
	if err != nil {
		return err
	}
	if turns > 1 && !slices.ContainsFunc(plans, func(p *earlyPlan) bool { return p.turns > 1 }) {
		return ErrNoTurns
	}
	if len(plans) == 0 {
		return ErrNone
	}
	w := earlyWriter{f: f}
	var texts []earlyText
	for n, p := range plans {
		texts = append(texts, w.text(p, n))
	}
	k.Insert(k.First(), strings.Join(w.declared(), "\n\t"))
	for n, p := range plans {
		x := &texts[n]
		k.Insert(p.first, strings.Join(x.head, "\n\t"))
		for _, l := range p.loads {
			if l.at < p.size*(p.turns-1) {
				continue // in a turn of the head's
			}
			if copies := x.copies[l.at]; copies == nil {
				k.Delete(p.stmt(l.at))
			} else {
				k.Replace(p.stmt(l.at), strings.Join(copies, "\n\t"))
			}
		}
		k.Insert(p.stmt(p.last)+1, joinedAt(n)+":")
		k.Insert(end, strings.Join(w.asItWas(p, n), "\n\t"))
	}
	return nil
}

var ErrNone = errors.New("no plain load from global memory stands behind a store in one block, " +
	"with addresses that are known before")
var ErrNoTurns = errors.New("no loop of one block stores, and loads what can be moved from one turn " +
	"to another")

// Loads is the number of loads in a kernel that early does in front of stores, in a turn of each
// loop, and whether there is a loop of which it takes several.
func Loads(f *ptx.Func, addressSize int) (loads int, turns bool) {
	_, plans, _, err := earlyPlans(f, addressSize, 1)
	if err != nil {
		return 0, false
	}
	for _, p := range plans {
		loads += len(p.loads)
	}
	_, plans, _, _ = earlyPlans(f, addressSize, 2)
	return loads, slices.ContainsFunc(plans, func(p *earlyPlan) bool { return p.turns > 1 })
}

// mostEarlyTurns is the largest number of turns.
const mostEarlyTurns = 16

const (
	earlyPrefix = "%gnvcc_e"
	earlyLabel  = "$gnvcc_early_"
)

func joinedAt(n int) string { return fmt.Sprintf("$gnvcc_joined_%d", n) }

// An earlyWriter writes PTX with registers of its own, which it counts by their width.
type earlyWriter struct {
	f     *ir.Func
	count [4]int // as in earlyWidths
}

// An earlyWidth is a kind of registers, and what their names end in.
type earlyWidth struct {
	bits         int
	kind, letter string
}

// earlyWidths are the kinds that addresses are computed in; what is loaded is no predicate.
var earlyWidths = [4]earlyWidth{{64, "b64", "w"}, {32, "b32", "r"}, {16, "b16", "h"},
	{pass.PredBits, "pred", "p"}}

// register is a new one of so many bits.
func (w *earlyWriter) register(bits int) string {
	for i, k := range earlyWidths {
		if k.bits == bits {
			w.count[i]++
			return fmt.Sprintf("%s%s%d", earlyPrefix, k.letter, w.count[i]-1)
		}
	}
	panic("rewrite: early: a register of another width")
}

func (w *earlyWriter) declared() []string {
	var out []string
	for i, k := range earlyWidths {
		if n := w.count[i]; n > 0 {
			out = append(out, fmt.Sprintf(".reg .%s %s%s<%d>;", k.kind, earlyPrefix, k.letter, n))
		}
	}
	return out
}

// An earlyText is what stands in front of a stretch: addresses, the test, the loads, all turns but
// the last. copies are the moves that stand where a load was, by place, where its registers are in
// use before.
type earlyText struct {
	head   []string
	copies map[int][]string
}

func (w *earlyWriter) text(p *earlyPlan, n int) earlyText {
	x := earlyText{copies: map[int][]string{}}
	names := map[int]string{} // by place: the register that takes its result's place
	line := func(format string, args ...any) { x.head = append(x.head, fmt.Sprintf(format, args...)) }
	for _, v := range p.chain {
		i := p.stmt(v)
		ops := w.f.Operands(i, nil)
		rest := w.as(p, names, v, ptx.Span{Start: ops[1].Start, End: w.f.Stmts[i].End})
		names[v] = w.register(w.f.Bits(w.f.Inst(i).Args[0].Reg))
		line("%s %s, %s", w.f.Opcode(i), names[v], rest)
	}
	register := func(b earlyBase) string {
		if b.def >= 0 {
			return names[b.def]
		}
		return w.f.Name(b.reg)
	}
	for _, g := range p.goes {
		not := "!"
		if w.f.Inst(p.first + p.size).Unless {
			not = ""
		}
		line("@%s%s bra %s%d;", not, register(g), earlyLabel, n)
	}
	test := ""
	for _, t := range p.tests {
		d, q := w.register(64), w.register(pass.PredBits)
		line("sub.s64 %s, %s, %s;", d, register(t.store), register(t.load))
		line("add.s64 %s, %s, %d;", d, d, t.storeHigh-t.loadLow-1)
		span := t.loadHigh - t.storeLow + t.storeHigh - t.loadLow - 1
		if test == "" {
			line("setp.lt.u64 %s, %s, %d;", q, d, span)
		} else {
			line("setp.lt.or.u64 %s, %s, %d, %s;", q, d, span, test)
		}
		test = q
	}
	line("@%s bra %s%d;", test, earlyLabel, n)
	moved := map[int]bool{}
	for _, l := range p.loads {
		moved[l.at] = true
		line("%s", w.load(p, &x, names, l))
	}
	for v := range p.size * (p.turns - 1) {
		switch s := w.f.Stmts[p.stmt(v)]; {
		case moved[v]:
			x.head = append(x.head, x.copies[v]...)
		case s.Kind == ptx.Inst:
			line("%s", w.f.Text()[s.Start:s.End])
		}
	}
	return x
}

// as is a piece of a statement, its registers replaced by those that hold their values before.
func (w *earlyWriter) as(p *earlyPlan, names map[int]string, v int, span ptx.Span) string {
	out, from := "", span.Start
	w.f.Names(span, func(name ptx.Span) bool {
		if d := w.definition(p, v, name); d >= 0 {
			out += string(w.f.Text()[from:name.Start]) + names[d]
			from = name.End
		}
		return true
	})
	return out + string(w.f.Text()[from:span.End])
}

// definition is the place that gives a name in a statement its value in front of it, -1: none does.
func (w *earlyWriter) definition(p *earlyPlan, v int, name ptx.Span) int {
	if a := w.f.At(p.stmt(v), name); a != nil {
		return p.definition(a.Reg, v)
	}
	return -1
}

// load is a load's text at the beginning, into registers of its own where its are in use.
func (w *earlyWriter) load(p *earlyPlan, x *earlyText, names map[int]string, l earlyAccess) string {
	i := p.stmt(l.at)
	s, ops := w.f.Stmts[i], w.f.Operands(i, nil)
	into := string(w.f.Bytes(ops[0]))
	if !p.free(l.at) {
		out, from := "", ops[0].Start
		w.f.Names(ops[0], func(name ptx.Span) bool {
			reg := w.f.Bytes(name)
			bits := w.f.Bits(w.f.At(i, name).Reg)
			own := w.register(bits)
			out += string(w.f.Text()[from:name.Start]) + own
			from = name.End
			x.copies[l.at] = append(x.copies[l.at], fmt.Sprintf("mov.b%d %s, %s;", bits, reg, own))
			return true
		})
		into = out + string(w.f.Text()[from:ops[0].End])
	}
	return fmt.Sprintf("%s %s, %s", w.f.Opcode(i), into,
		w.as(p, names, l.at, ptx.Span{Start: ops[1].Start, End: s.End}))
}

// asItWas is the stretch as nvcc gave it.
func (w *earlyWriter) asItWas(p *earlyPlan, n int) []string {
	out := []string{fmt.Sprintf("%s%d:", earlyLabel, n)}
	for i := p.first; i <= p.stmt(p.last); i++ {
		if s := w.f.Stmts[i]; s.Kind == ptx.Inst {
			out = append(out, string(w.f.Text()[s.Start:s.End]))
		}
	}
	return append(out, fmt.Sprintf("bra %s;", joinedAt(n)))
}
