package early

import (
	"bytes"
	"errors"
	"maps"
	"slices"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
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
	reg string
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
	f           *ptx.Func
	first, size int // statements, in each turn
	turns       int
	writes      map[string][]int // by register: the places that write it, in order
	touch       map[string]int   // the first place that writes or reads it
	bits        func(reg string) int
}

func newEarlyBlock(f *ptx.Func, bits func(string) int, from, to, turns int) *earlyBlock {
	b := &earlyBlock{f: f, first: from, size: to - from, turns: turns, bits: bits,
		writes: map[string][]int{}, touch: map[string]int{}}
	for v := range b.places() {
		f.Effects(b.stmt(v), func(n ptx.Span, _, write bool) {
			name := string(f.Bytes(n))
			if _, ok := b.touch[name]; !ok {
				b.touch[name] = v
			}
			if write {
				b.writes[name] = append(b.writes[name], v)
			}
		})
	}
	return b
}

func (b *earlyBlock) places() int    { return b.size * b.turns }
func (b *earlyBlock) stmt(v int) int { return b.first + v%b.size }

// earlyPlans looks at all blocks; loops of one block are looked at in so many turns. end is the
// statement in front of which text can be added that nothing falls into.
func earlyPlans(f *ptx.Func, addressSize, turns int) (plans []*earlyPlan, end int, err error) {
	if addressSize != 64 {
		return nil, 0, errors.New("its addresses are not of 64 bits")
	}
	if end, err = endOfCode(f); err != nil {
		return nil, 0, err
	}
	blocks, err := f.Blocks()
	if err != nil {
		return nil, 0, err
	}
	bits, err := widthsOf(f)
	if err != nil {
		return nil, 0, err
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
	for n, b := range blocks {
		if turns > 1 && slices.Contains(b.Succs, n) {
			if p := planTurns(f, bits, b, turns); p != nil && add(p) {
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
				p := planEarly(f, bits, at, to)
				if p == nil || !add(p) {
					break
				}
				at = p.first + p.last + 1
			}
			from = to
		}
	}
	return plans, end, nil
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

// inCode tells of statements that are more than a line number.
func inCode(k ptx.Kind) bool { return k != ptx.Line && k != ptx.Empty }

// widthsOf gives a function for the width in bits of a register that the body itself declares, 0
// for others.
func widthsOf(f *ptx.Func) (func(reg string) int, error) {
	var sight ptx.Sight
	var bits []int
	for i, s := range f.Stmts {
		if s.Kind != ptx.Decl || s.Depth > 0 || string(f.Opcode(i)) != ".reg" {
			continue
		}
		vars, err := f.Declared(i)
		if err != nil {
			return nil, err
		}
		for _, v := range vars {
			if err := sight.Declare(&v, len(bits)); err != nil {
				return nil, err
			}
			bits = append(bits, pass.BitsOf(v.Type))
		}
	}
	return func(reg string) int {
		if id, _, ok := sight.Find([]byte(reg)); ok {
			return bits[id]
		}
		return 0
	}, nil
}

// planTurns finds what can be done in several turns of a loop that is one block, nil: nothing.
func planTurns(f *ptx.Func, bits func(string) int, loop ptx.Block, turns int) *earlyPlan {
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
	again, _ := f.Guard(to)
	if from == to || string(f.Base(to)) != "bra" || again == nil {
		return nil
	}
	b := newEarlyBlock(f, bits, from, to, turns)
	chain := map[int]bool{}
	p, _ := b.plan(chain)
	if p == nil || p.loads[len(p.loads)-1].at < b.size {
		return nil
	}
	for turn := 1; turn < turns; turn++ { // is there another one behind it?
		at := turn * b.size
		if _, ok := b.needs(string(again), at, chain, 0); !ok {
			return nil
		}
		p.goes = append(p.goes, earlyBase{string(again), b.definition(string(again), at)})
	}
	p.last = b.places() - 1
	return p.ordered(chain)
}

// planEarly finds what can be done in the statements [from, to), nil: nothing. Where an address
// comes from something that is computed there itself, what stands behind that is tried.
func planEarly(f *ptx.Func, bits func(string) int, from, to int) *earlyPlan {
	for tries := 0; from < to && tries < mostEarlyTries; tries++ {
		b, chain := newEarlyBlock(f, bits, from, to, 1), map[int]bool{}
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
func (b *earlyBlock) definition(reg string, v int) int {
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
func (b *earlyBlock) needs(reg string, v int, into map[int]bool, depth int) (at int, ok bool) {
	d := b.definition(reg, v)
	if d < 0 || into[d] {
		return 0, true
	}
	if depth > 64 || !b.computes(b.stmt(d), reg) {
		return d, false
	}
	at, ok = 0, true
	b.f.Effects(b.stmt(d), func(n ptx.Span, read, _ bool) {
		if ok && read {
			at, ok = b.needs(string(b.f.Bytes(n)), d, into, depth+1)
		}
	})
	if ok {
		into[d] = true
	}
	return at, ok
}

// computes tells of an instruction on integers or predicates whose only result, in a register that
// the body declares, depends on its operands alone.
func (b *earlyBlock) computes(i int, reg string) bool {
	if base := string(b.f.Base(i)); !dataflow.Computes(base) || base == "div" || base == "rem" {
		return false // those take as long as a load
	}
	for _, word := range bytes.Split(b.f.Opcode(i), []byte("."))[1:] {
		switch string(word) {
		case "cc", "f16", "f16x2", "bf16", "bf16x2", "f32", "f64", "f32x2":
			return false
		}
	}
	ops := b.f.Operands(i, nil)
	if b.f.Stmts[i].Guarded || len(ops) < 2 || string(b.f.Bytes(ops[0])) != reg {
		return false
	}
	still := true
	b.f.Effects(i, func(n ptx.Span, read, _ bool) {
		name := string(b.f.Bytes(n))
		still = still && (!read || name[0] != '%' || b.bits(name) > 0 || dataflow.OfThread(name))
	})
	return still && slices.ContainsFunc(earlyWidths[:], func(k earlyWidth) bool {
		return k.bits == b.bits(reg)
	})
}

// free tells whether nothing in front of a load in the stretch reads or writes a register that it
// loads into.
func (b *earlyBlock) free(v int) bool {
	free := true
	b.f.Effects(b.stmt(v), func(n ptx.Span, _, write bool) {
		free = free && (!write || b.touch[string(b.f.Bytes(n))] == v)
	})
	return free
}

// access reads a load that may be moved, or a store to global memory.
func (b *earlyBlock) access(v int) (a earlyAccess, store, ok bool) {
	f, i := b.f, b.stmt(v)
	if f.Stmts[i].Kind != ptx.Inst {
		return a, false, false
	}
	store = string(f.Base(i)) == "st" && ptx.HasModifier(f.Opcode(i), "global")
	if !store && (f.Stmts[i].Guarded || !pass.WeakLoad(f, i)) {
		return a, false, false
	}
	ops := f.Operands(i, nil)
	address := ops[1]
	if store {
		address = ops[0]
	}
	ok = a.read(f, i, address)
	if !store {
		f.Effects(i, func(n ptx.Span, _, write bool) {
			ok = ok && (!write || slices.ContainsFunc(earlyWidths[:3], func(k earlyWidth) bool {
				return k.bits == b.bits(string(f.Bytes(n)))
			}))
		})
	}
	a.at, a.base.def = v, b.definition(a.base.reg, v)
	return a, store, ok
}

// read takes an access' address apart.
func (a *earlyAccess) read(f *ptx.Func, i int, address ptx.Span) bool {
	base, n, ok := f.Place(address)
	size := pass.AccessSize(f.Opcode(i))
	if !ok || base[0] != '%' || size == 0 || n > mostEarlyOffset || n < -mostEarlyOffset {
		return false
	}
	*a = earlyAccess{base: earlyBase{reg: base}, low: n, high: n + size}
	return true
}

// passedEarly tells of instructions that a load may be moved across, and that may be done in one of
// two places: arithmetic, plain accesses to memory. Stores to global memory have to have an address
// that can be compared.
func passedEarly(f *ptx.Func, i int) bool {
	s := f.Stmts[i]
	if s.Kind != ptx.Inst || s.Depth > 0 {
		return false
	}
	switch base := string(f.Base(i)); base {
	case "mov":
		return !bytes.Contains(f.Text()[s.OpEnd:s.End], []byte("%clock")) &&
			!bytes.Contains(f.Text()[s.OpEnd:s.End], []byte("%globaltimer"))
	case "ld":
		return plainWords(f.Opcode(i))
	case "st":
		op := f.Opcode(i)
		var a earlyAccess
		ops := f.Operands(i, nil)
		if !plainWords(op) || len(ops) != 2 {
			return false
		}
		return ptx.HasModifier(op, "shared") || ptx.HasModifier(op, "local") ||
			ptx.HasModifier(op, "global") && a.read(f, i, ops[0])
	default:
		return dataflow.Computes(base) || dataflow.Carries(f.Opcode(i), base)
	}
}

// plainWords tells of an opcode of a weak load or store: no order, no scope.
func plainWords(op []byte) bool {
	for n, word := range bytes.Split(op, []byte(".")) {
		if n > 0 && ptx.KindOf(string(word)) == ptx.OtherWord {
			return false
		}
	}
	return true
}
