package early

import (
	"bytes"
	"errors"
	"maps"
	"slices"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// Which loads can be done early, and what has to be asked before.

const (
	// tests of a store against a load, in one stretch: each takes three instructions, a load from
	// memory some hundred cycles
	mostEarlyTests = 32
	// statements that are written twice, in a kernel
	mostEarlyCopied = 2000
	// beginnings of a stretch that are tried
	mostEarlyTries = 16
	// an offset is written into an instruction
	mostEarlyOffset = 1 << 20
)

// An earlyBase is a register as of some place: with the place of its stretch that wrote it.
type earlyBase struct {
	reg ir.Reg
	def int // -1: it had its value at the stretch's beginning
}

// An earlyAccess is a load or store of a stretch: the bytes [low, high) behind its base.
type earlyAccess struct {
	at        int // its place
	base      earlyBase
	low, high int
}

// An earlyTest asks whether some store of one base, which stands before a load of the other, may be
// of the same bytes as that: of all those of the two bases, from the lowest to the highest.
type earlyTest struct {
	store, load                            earlyBase
	storeLow, storeHigh, loadLow, loadHigh int
}

// An earlyPlan is what is done with a stretch.
type earlyPlan struct {
	*earlyBlock
	last  int   // the last place that is moved away from, or the stretch's last one
	chain []int // places of statements that compute addresses, in order
	loads []earlyAccess
	tests []earlyTest
	goes  []earlyBase // by turn but the last: the predicate that sends it round
}

// An earlyBlock is a stretch: some statements of a block, or all of a loop's, in so many turns. A
// place is a statement in a turn, counted from the first one's first; it knows who writes what.
type earlyBlock struct {
	f           *ir.Func
	first, size int // statements, in each turn
	turns       int
	writes      map[ir.Reg][]int // the places that write a register, in order
	touch       map[ir.Reg]int   // the first place that writes or reads it
}

func newEarlyBlock(f *ir.Func, from, to, turns int) *earlyBlock {
	b := &earlyBlock{f: f, first: from, size: to - from, turns: turns, writes: map[ir.Reg][]int{},
		touch: map[ir.Reg]int{}}
	for v := range b.places() {
		for _, a := range f.Accesses(b.stmt(v)) {
			if _, ok := b.touch[a.Reg]; !ok {
				b.touch[a.Reg] = v
			}
			if a.Write {
				b.writes[a.Reg] = append(b.writes[a.Reg], v)
			}
		}
	}
	return b
}

func (b *earlyBlock) places() int    { return b.size * b.turns }
func (b *earlyBlock) stmt(v int) int { return b.first + v%b.size }

// earlyPlans looks at all blocks; loops of one block are looked at in so many turns. end is the
// statement in front of which text can be added that nothing falls into.
func earlyPlans(body *ptx.Func, addressSize, turns int) (f *ir.Func, plans []*earlyPlan, end int, err error) {
	if addressSize != 64 {
		return nil, nil, 0, errors.New("its addresses are not of 64 bits")
	}
	if end, err = endOfCode(body); err != nil {
		return nil, nil, 0, err
	}
	if f, err = ir.Of(body); err != nil {
		return nil, nil, 0, err
	}
	copied := 0
	add := func(p *earlyPlan) bool {
		if n := p.last + 1; n <= mostEarlyCopied-copied {
			copied += n
			plans = append(plans, p)
			return true
		}
		return false
	}
	for n, b := range f.Blocks {
		if turns > 1 && slices.Contains(b.Succs, n) {
			if p := planTurns(f, b, turns); p != nil && add(p) {
				continue
			}
		}
		for from := b.First; from < b.Last; {
			if !passedEarly(f, from) {
				from++
				continue
			}
			to := from
			for to < b.Last && (passedEarly(f, to) || !inCode(f.Stmts[to].Kind)) {
				to++
			}
			for at := from; at < to; {
				p := planEarly(f, at, to)
				if p == nil || !add(p) {
					break
				}
				at = p.first + p.last + 1
			}
			from = to
		}
	}
	return f, plans, end, nil
}

// endOfCode is behind the last instruction, which nothing falls through.
func endOfCode(f *ptx.Func) (end int, err error) {
	end = len(f.Stmts)
	for end > 0 && f.Stmts[end-1].Kind != ptx.Inst {
		if k := f.Stmts[end-1].Kind; k == ptx.Close || k == ptx.Decl {
			return 0, errors.New("its end is not the end of its code")
		}
		end--
	}
	if end == 0 || f.Stmts[end-1].Guarded || !slices.Contains([]string{"ret", "exit", "bra"},
		string(f.Base(end-1))) {
		return 0, errors.New("its last instruction does not leave it")
	}
	return end, nil
}

// inCode reports statements that are more than a line number.
func inCode(k ptx.Kind) bool { return k != ptx.Line && k != ptx.Empty }

// planTurns finds what can be done in several turns of a loop that is one block, nil: nothing.
func planTurns(f *ir.Func, loop ptx.Block, turns int) *earlyPlan {
	from, to := loop.First, loop.Last-1
	for from < to && !passedEarly(f, from) {
		if k := f.Stmts[from].Kind; k == ptx.Inst || k == ptx.Open || k == ptx.Close || k == ptx.Decl {
			return nil
		}
		from++
	}
	for i := from; i < to; i++ {
		if inCode(f.Stmts[i].Kind) && !passedEarly(f, i) {
			return nil
		}
	}
	again := f.Inst(to).Guard
	if from == to || f.Inst(to).Op != "bra" || again == ir.None {
		return nil
	}
	b := newEarlyBlock(f, from, to, turns)
	chain := map[int]bool{}
	p, _ := b.plan(chain)
	if p == nil || p.loads[len(p.loads)-1].at < b.size {
		return nil
	}
	for turn := 1; turn < turns; turn++ { // is there another one behind it?
		at := turn * b.size
		if _, ok := b.needs(again, at, chain, 0); !ok {
			return nil
		}
		p.goes = append(p.goes, earlyBase{again, b.definition(again, at)})
	}
	p.last = b.places() - 1
	return p.ordered(chain)
}

// planEarly finds what can be done in the statements [from, to), nil: nothing. Where an address
// comes from something that is computed there itself, what stands behind that is tried.
func planEarly(f *ir.Func, from, to int) *earlyPlan {
	for tries := 0; from < to && tries < mostEarlyTries; tries++ {
		b, chain := newEarlyBlock(f, from, to, 1), map[int]bool{}
		p, blocked := b.plan(chain)
		if p != nil {
			return p.ordered(chain)
		}
		if blocked < 0 {
			return nil
		}
		from += blocked + 1
	}
	return nil
}

// plan finds loads that can be moved to the beginning, and adds to chain what computes addresses.
// blocked is a place behind which more may be possible, -1: none.
func (b *earlyBlock) plan(chain map[int]bool) (p *earlyPlan, blocked int) {
	p = &earlyPlan{earlyBlock: b}
	var stores []earlyAccess
	tests := map[[2]earlyBase]int{}
	for v := range b.places() {
		a, store, ok := b.access(v)
		if !ok || !store && len(stores) == 0 {
			continue
		}
		needs := map[int]bool{}
		at, known := b.needs(a.base.reg, v, needs, 0)
		switch {
		case !known && store: // no load behind it can be moved in front of it
			if len(p.loads) == 0 {
				return nil, at
			}
			return p, -1
		case store:
			stores = append(stores, a)
		case known:
			more, ok := p.ask(tests, stores, a)
			if !ok {
				continue
			}
			tests = more
			p.loads, p.last = append(p.loads, a), v
			for j := range needs {
				chain[j] = true
			}
			for _, s := range stores {
				b.needs(s.base.reg, s.at, chain, 0)
			}
		}
	}
	if len(p.loads) == 0 {
		return nil, -1
	}
	return p, -1
}

// ordered is the plan as it is done, nil where ptxas sees by itself that nothing stands in the way.
func (p *earlyPlan) ordered(chain map[int]bool) *earlyPlan {
	if len(p.tests) == 0 {
		return nil
	}
	for i := range chain {
		p.chain = append(p.chain, i)
	}
	slices.Sort(p.chain)
	return p
}

// ask adds to the plan's tests those for a load behind some stores; false where that is known to be
// of the same bytes as one of them, or the tests are too many.
func (p *earlyPlan) ask(tests map[[2]earlyBase]int, stores []earlyAccess, l earlyAccess) (
	map[[2]earlyBase]int, bool) {
	list := slices.Clone(p.tests)
	more := map[[2]earlyBase]int{}
	maps.Copy(more, tests)
	for _, s := range stores {
		if s.base == l.base {
			if s.low < l.high && l.low < s.high {
				return tests, false
			}
			continue
		}
		key := [2]earlyBase{s.base, l.base}
		n, ok := more[key]
		if !ok {
			n = len(list)
			more[key] = n
			list = append(list, earlyTest{s.base, l.base, s.low, s.high, l.low, l.high})
		}
		t := &list[n]
		t.storeLow, t.storeHigh = min(t.storeLow, s.low), max(t.storeHigh, s.high)
		t.loadLow, t.loadHigh = min(t.loadLow, l.low), max(t.loadHigh, l.high)
	}
	if len(list) > mostEarlyTests {
		return tests, false
	}
	p.tests = list
	return more, true
}

// definition is the place that gives a register its value in front of another one, -1: none does.
func (b *earlyBlock) definition(reg ir.Reg, v int) int {
	d := -1
	for _, at := range b.writes[reg] {
		if at < v {
			d = at
		}
	}
	return d
}

// needs collects the places that compute what a register holds in front of one, by integers alone,
// from what is there at the stretch's beginning. Where that can't be: at is the place that stands
// in the way.
func (b *earlyBlock) needs(reg ir.Reg, v int, into map[int]bool, depth int) (at int, ok bool) {
	d := b.definition(reg, v)
	if d < 0 || into[d] {
		return 0, true
	}
	if depth > 64 || !b.computes(b.stmt(d), reg) {
		return d, false
	}
	at, ok = 0, true
	for _, a := range b.f.Accesses(b.stmt(d)) {
		if ok && a.Read {
			at, ok = b.needs(a.Reg, d, into, depth+1)
		}
	}
	if ok {
		into[d] = true
	}
	return at, ok
}

// computes reports a instruction on integers or predicates whose only result, in a register that
// the body declares, depends on its operands alone.
func (b *earlyBlock) computes(i int, reg ir.Reg) bool {
	x := b.f.Inst(i)
	if !ir.Computes(x.Op) || x.Op == "div" || x.Op == "rem" { // those take as long as a load
		return false
	}
	if x.Has("cc", "f16", "f16x2", "bf16", "bf16x2", "f32", "f64", "f32x2") || b.f.Stmts[i].Guarded ||
		len(x.Args) < 2 || x.Args[0].Reg != reg {
		return false
	}
	still := true
	b.f.Symbols(i, func(n ptx.Span) bool {
		name := string(b.f.Bytes(n))
		still = name[0] != '%' || ir.OfThread(name)
		return still
	})
	return still && hasWidth(earlyWidths[:], b.f.Bits(reg))
}

func hasWidth(list []earlyWidth, bits int) bool {
	return slices.ContainsFunc(list, func(k earlyWidth) bool { return k.bits == bits })
}

// free reports whether nothing in front of a load in the stretch reads or writes a register that it
// loads into.
func (b *earlyBlock) free(v int) bool {
	return !slices.ContainsFunc(b.f.Accesses(b.stmt(v)), func(a ir.Access) bool {
		return a.Write && b.touch[a.Reg] != v
	})
}

// access reads a load that may be moved, or a store to global memory.
func (b *earlyBlock) access(v int) (a earlyAccess, store, ok bool) {
	i := b.stmt(v)
	x := b.f.Inst(i)
	store = x.Op == "st" && x.Has("global")
	if x.Op == "" || !store && (b.f.Stmts[i].Guarded || !pass.WeakLoad(b.f.Func, i)) {
		return a, false, false
	}
	ok = a.read(b.f, i)
	if !store {
		for _, c := range b.f.Accesses(i) {
			ok = ok && (!c.Write || hasWidth(earlyWidths[:3], b.f.Bits(c.Reg)))
		}
	}
	a.at, a.base.def = v, b.definition(a.base.reg, v)
	return a, store, ok
}

// read takes an access' address apart.
func (a *earlyAccess) read(f *ir.Func, i int) bool {
	o, size := f.Inst(i).Address(), pass.AccessSize(f.Opcode(i))
	if o == nil || o.Reg == ir.None || size == 0 || o.Offset > mostEarlyOffset ||
		o.Offset < -mostEarlyOffset {
		return false
	}
	*a = earlyAccess{base: earlyBase{reg: o.Reg}, low: o.Offset, high: o.Offset + size}
	return true
}

// passedEarly reports instructions that a load may be moved across, and that may be done in one of
// two places: arithmetic, plain accesses to memory. Stores to global memory have to have an address
// that can be compared.
func passedEarly(f *ir.Func, i int) bool {
	s, x := f.Stmts[i], f.Inst(i)
	if s.Depth > 0 {
		return false
	}
	switch x.Op {
	case "mov":
		text := f.Text()[s.OpEnd:s.End]
		return !bytes.Contains(text, []byte("%clock")) && !bytes.Contains(text, []byte("%globaltimer"))
	case "ld":
		return plainWords(x)
	case "st":
		var a earlyAccess
		return plainWords(x) && len(x.Args) == 2 && (x.Has("shared", "local") || x.Has("global") && a.read(f, i))
	}
	return ir.Computes(x.Op) || x.Carries()
}

// plainWords reports whether a load or store is weak: no order, no scope.
func plainWords(x *ir.Inst) bool {
	return !slices.ContainsFunc(x.Words, func(w string) bool { return ptx.KindOf(w) == ptx.OtherWord })
}
