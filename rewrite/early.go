package rewrite

import (
	"errors"
	"fmt"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

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
// Neither cicc nor ptxas does this: a pointer that is not __restrict__ may lead anywhere. So in a
// loop that stores in each turn the turns that were unrolled wait for memory one after the other.
//
// Allowed: loads that are plain (weak), of .global, with cache hints or without, not guarded, whose
// address and whose stores' addresses come from integers that are there at the block's beginning.
// What else stands between them must be arithmetic, a plain access to memory, or a load of a
// parameter: behind a barrier, an atomic, a fence, a call, a volatile or generic store a new
// stretch begins (earlyplan.go). Left alone: functions that are called, inline assembly with a
// scope.
//
// Safe: every load of the block is done once, as before, and so is every store, in the order of the
// text. A load that may see what a store of its own thread left is not moved: by the same register
// that is seen here, else at run time, where the way as it was is taken. What other threads store
// meanwhile a weak load may see or not, early or late: nothing that orders it is passed (PTX ISA,
// "Memory Consistency Model"). Exact as checked only: ptxas compiles the arithmetic anew.
//
// From: the test at run time is Nicolau's (run-time disambiguation, 1989).
func early(k *kernel, terms []recipe.Term) error {
	value, err := only(terms)
	if err != nil {
		return err
	}
	if value != "on" {
		return errors.New("the only value is on")
	}
	if strings.Contains(string(k.Text()), earlyPrefix) ||
		strings.Contains(string(k.Text()), earlyLabel) {
		return errors.New("the kernel has names that begin with " + earlyPrefix + " already")
	}
	plans, end, err := earlyPlans(k.Func, k.module.AddressSize)
	if err != nil {
		return err
	}
	if len(plans) == 0 {
		return errNoEarly
	}
	w := earlyWriter{f: k.Func}
	var heads [][]string
	for _, p := range plans {
		heads = append(heads, w.head(p, len(heads)))
	}
	k.Insert(k.First(), strings.Join(w.declared(), "\n\t"))
	for n, p := range plans {
		k.Insert(p.first, strings.Join(heads[n], "\n\t"))
		for _, l := range p.loads {
			k.Delete(l.stmt)
		}
		k.Insert(p.last+1, fmt.Sprintf("%s:", joinedAt(n)))
		k.Insert(end, strings.Join(w.asItWas(p, n), "\n\t"))
	}
	return nil
}

var errNoEarly = errors.New("no plain load from global memory stands behind a store in one block, " +
	"with addresses that are known before")

// Early is the number of loads in a kernel that early does in front of stores.
func Early(f *ptx.Func, addressSize int) int {
	plans, _, err := earlyPlans(f, addressSize)
	if err != nil {
		return 0
	}
	n := 0
	for _, p := range plans {
		n += len(p.loads)
	}
	return n
}

const (
	earlyPrefix = "%gnvcc_e"
	earlyLabel  = "$gnvcc_early_"
)

func joinedAt(n int) string { return fmt.Sprintf("$gnvcc_joined_%d", n) }

// An earlyWriter writes PTX with registers of its own, which it counts by their width.
type earlyWriter struct {
	f     *ptx.Func
	count [4]int // as in earlyWidths
}

// earlyWidths are the kinds of registers that addresses are computed in, and their names.
var earlyWidths = [4]struct {
	bits         int
	kind, letter string
}{{64, "b64", "w"}, {32, "b32", "r"}, {16, "b16", "h"}, {predBits, "pred", "p"}}

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

// head is the text in front of a stretch: addresses, the test, the loads.
func (w *earlyWriter) head(p *earlyPlan, n int) []string {
	names := map[int]string{} // by statement: the register that takes its result's place
	// as is a statement's text, a register that the stretch computes replaced by what is known of it
	as := func(i int, span ptx.Span, skipFirst string) string {
		text := w.f.Text()
		out, from := "", span.Start
		w.f.Names(span, func(name ptx.Span) bool {
			if d := p.definition(string(w.f.Bytes(name)), i); d >= 0 {
				out += string(text[from:name.Start]) + names[d]
				from = name.End
			}
			return true
		})
		return skipFirst + out + string(text[from:span.End])
	}
	var out []string
	for _, i := range p.chain {
		s, ops := w.f.Stmts[i], w.f.Operands(i, nil)
		dest := w.register(p.width(string(w.f.Bytes(ops[0]))))
		rest := as(i, ptx.Span{Start: ops[1].Start, End: s.End}, "")
		out = append(out, fmt.Sprintf("%s %s, %s", w.f.Opcode(i), dest, rest))
		names[i] = dest
	}
	register := func(b earlyBase) string {
		if b.def >= 0 {
			return names[b.def]
		}
		return b.reg
	}
	test := ""
	for _, t := range p.tests {
		d, q := w.register(64), w.register(predBits)
		out = append(out, fmt.Sprintf("sub.s64 %s, %s, %s;", d, register(t.store), register(t.load)),
			fmt.Sprintf("add.s64 %s, %s, %d;", d, d, t.storeHigh-t.loadLow-1))
		span := t.loadHigh - t.storeLow + t.storeHigh - t.loadLow - 1
		if test == "" {
			out = append(out, fmt.Sprintf("setp.lt.u64 %s, %s, %d;", q, d, span))
		} else {
			out = append(out, fmt.Sprintf("setp.lt.or.u64 %s, %s, %d, %s;", q, d, span, test))
		}
		test = q
	}
	out = append(out, fmt.Sprintf("@%s bra %s%d;", test, earlyLabel, n))
	for _, l := range p.loads {
		s := w.f.Stmts[l.stmt]
		ops := w.f.Operands(l.stmt, nil)
		out = append(out, as(l.stmt, ptx.Span{Start: ops[1].Start, End: s.End},
			string(w.f.Text()[s.Start:ops[1].Start])))
	}
	return out
}

// asItWas is the stretch as nvcc gave it.
func (w *earlyWriter) asItWas(p *earlyPlan, n int) []string {
	out := []string{fmt.Sprintf("%s%d:", earlyLabel, n)}
	for i := p.first; i <= p.last; i++ {
		if s := w.f.Stmts[i]; s.Kind == ptx.Inst {
			out = append(out, string(w.f.Text()[s.Start:s.End]))
		}
	}
	return append(out, fmt.Sprintf("bra %s;", joinedAt(n)))
}
