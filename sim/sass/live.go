package sass

import "math/bits"

// A regSet is a set of registers of one file.
type regSet [4]uint64

func (s *regSet) add(x Span) {
	for n := range int(x.N) {
		if r := int(x.First) + n; r < 255 {
			s[r/64] |= 1 << (r % 64)
		}
	}
}

// Has reports whether a register is in the set.
func (s *regSet) Has(r int) bool { return s[r/64]>>(r%64)&1 == 1 }

// Len counts.
func (s *regSet) Len() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// live is what holds a value that is still needed, in both files.
type live [2]regSet

func (l *live) union(o *live) bool {
	changed := false
	for f := range l {
		for w := range l[f] {
			if n := l[f][w] | o[f][w]; n != l[f][w] {
				l[f][w], changed = n, true
			}
		}
	}
	return changed
}

func (l *live) meet(o *live) {
	for f := range l {
		for w := range l[f] {
			l[f][w] &= o[f][w]
		}
	}
}

// before turns what is live behind an instruction into what is live in front of it.
func (l *live) before(i *Inst) {
	if i.unguarded() { // else the old value may live on
		for _, s := range i.Writes() {
			var w regSet
			w.add(s)
			for k := range w {
				l[s.File][k] &^= w[k]
			}
		}
	}
	for _, s := range i.Reads() {
		l[s.File].add(s)
	}
}

// A passage is what a callee does to live registers: before a call is live what the callee reads,
// and of what is live behind the call all that the callee does not surely write.
type passage struct{ reads, keeps live }

func (p passage) before(l *live) {
	for f := range l {
		for w := range l[f] {
			l[f][w] = p.reads[f][w] | l[f][w]&p.keeps[f][w]
		}
	}
}

// A liveness is the backward analysis of one function.
type liveness struct {
	f     *Function
	flow  *Flow
	calls map[int]passage // by the callee's offset
	in    []live          // of each block
}

// run finds what is live at each block's beginning, with `atReturn` live behind returns.
func (a *liveness) run(atReturn live) {
	a.in = make([]live, len(a.flow.Blocks))
	waiting := make([]bool, len(a.flow.Blocks))
	work := make([]int, 0, len(a.flow.Blocks))
	for b := range a.flow.Blocks {
		work, waiting[b] = append(work, b), true
	}
	for len(work) > 0 {
		b := work[len(work)-1]
		work, waiting[b] = work[:len(work)-1], false
		l := a.out(b, &atReturn)
		for k := a.flow.Blocks[b].End - 1; k >= a.flow.Blocks[b].Start; k-- {
			a.before(&l, k)
		}
		if !a.in[b].union(&l) {
			continue
		}
		for _, p := range a.flow.Blocks[b].Before {
			if !waiting[p] {
				work, waiting[p] = append(work, p), true
			}
		}
	}
}

func (a *liveness) out(b int, atReturn *live) live {
	var l live
	block := &a.flow.Blocks[b]
	if last := &a.f.Insts[block.End-1]; last.op != nil && last.op.code == 0x150 {
		l = *atReturn
	}
	if len(block.Next) == 0 {
		l[General].add(Span{General, 1, 1})
	}
	for _, n := range block.Next {
		l.union(&a.in[n])
		if n == b { // an endless loop keeps the stack pointer too
			l[General].add(Span{General, 1, 1})
		}
	}
	return l
}

func (a *liveness) before(l *live, k int) {
	i := &a.f.Insts[k]
	if i.op != nil && i.op.code == 0x144 {
		if p, ok := a.calls[i.Target]; ok {
			p.before(l)
		}
	}
	l.before(i)
}

// passages finds what the section's functions do, callees first where they stand in front or
// behind: two rounds do for calls of calls, deeper ones are cut (too few registers are then counted
// around them).
func (a *liveness) passages() {
	a.calls = map[int]passage{}
	if len(a.f.Parts) < 2 || len(a.f.Parts) > mostParts {
		return
	}
	var all live
	for f := range all {
		for w := range all[f] {
			all[f][w] = ^uint64(0)
		}
	}
	for round := 0; round < 2; round++ {
		next := map[int]passage{}
		a.run(live{})
		for _, p := range a.f.Parts {
			if at := p.Offset / wordBytes; p.Offset > 0 && at < len(a.f.Insts) {
				next[p.Offset] = passage{reads: a.in[a.flow.block[at]]}
			}
		}
		a.run(all)
		for offset, p := range next {
			p.keeps = a.in[a.flow.block[offset/wordBytes]]
			next[offset] = p
		}
		a.calls = next
	}
}

// mostParts bounds the functions of one section whose calls are followed.
const mostParts = 1000

// Live counts, for each instruction, the general and the uniform registers that hold something when
// it runs: those needed by it or later, and those it writes. R1, the stack pointer, is taken as
// needed to the end. Calls through registers are taken to need nothing and to write nothing.
func (f *Function) Live(flow *Flow) (general, uniform []int) {
	general, uniform = make([]int, len(f.Insts)), make([]int, len(f.Insts))
	a := &liveness{f: f, flow: flow}
	a.passages()
	a.run(live{})
	returns := a.behindCalls()
	a.run(returns)
	var defined []live
	if len(a.calls) > 0 {
		defined = a.defined()
	}
	for b := range flow.Blocks {
		l := a.out(b, &returns)
		for k := flow.Blocks[b].End - 1; k >= flow.Blocks[b].Start; k-- {
			a.before(&l, k)
			now := l
			for _, s := range f.Insts[k].Writes() {
				now[s.File].add(s)
			}
			if defined != nil {
				now.meet(&defined[b])
			}
			general[k], uniform[k] = now[General].Len(), now[Scalar].Len()
		}
	}
	return general, uniform
}

// defined is what may have been written when a block has run. A kernel gets nothing in registers,
// so that what seems needed without having been written is not: a guarded write and a read under
// the same guard look so. Behind a call, and in a function that is called, everything may have
// been.
func (a *liveness) defined() []live {
	out := make([]live, len(a.flow.Blocks))
	var all live
	for f := range all {
		for w := range all[f] {
			all[f][w] = ^uint64(0)
		}
	}
	whole := make([]bool, len(out)) // everything may have been written at the block's beginning
	for _, e := range a.flow.entries {
		whole[e] = !a.f.Kernel || e != 0
	}
	work := make([]int, len(out))
	waiting := make([]bool, len(out))
	for b := range work {
		work[b], waiting[b] = len(out)-1-b, true
	}
	for len(work) > 0 {
		b := work[len(work)-1]
		work, waiting[b] = work[:len(work)-1], false
		now := live{}
		if whole[b] {
			now = all
		}
		for _, p := range a.flow.Blocks[b].Before {
			now.union(&out[p])
		}
		for k := a.flow.Blocks[b].Start; k < a.flow.Blocks[b].End; k++ {
			i := &a.f.Insts[k]
			for _, s := range i.Writes() {
				now[s.File].add(s)
			}
			if i.op == nil || i.op.code == 0x144 || i.op.code == 0x143 {
				now = all
			}
		}
		if !out[b].union(&now) {
			continue
		}
		for _, n := range a.flow.Blocks[b].Next {
			if !waiting[n] {
				work, waiting[n] = append(work, n), true
			}
		}
	}
	return out
}

// behindCalls is what any caller needs when a function of the section comes back.
func (a *liveness) behindCalls() live {
	var all live
	none := live{}
	for b := range a.flow.Blocks {
		l := a.out(b, &none)
		for k := a.flow.Blocks[b].End - 1; k >= a.flow.Blocks[b].Start; k-- {
			if i := &a.f.Insts[k]; i.op != nil && i.op.code == 0x144 {
				all.union(&l)
			}
			a.before(&l, k)
		}
	}
	return all
}
