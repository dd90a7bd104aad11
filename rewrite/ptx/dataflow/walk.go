package dataflow

import (
	"maps"
	"strconv"

	"gnvcc/rewrite/ptx"
)

// Following code from one instruction on, along the control flow, with the values of a few
// registers: enough to know which way a branch goes that depends on what that instruction found.

// Walk prepares to follow a function's code.
func Walk(f *ptx.Func) (*Walker, error) {
	blocks, err := f.Blocks()
	if err != nil {
		return nil, err
	}
	return &Walker{f: f, Blocks: blocks, Origins: OriginsOf(f)}, nil
}

// A Walker follows code with what little it knows of registers.
type Walker struct {
	Blocks  []ptx.Block
	Origins *Origins
	f       *ptx.Func

	free       string // the operand that stands for free
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
	known map[string]value
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
func (w *Walker) walk(atom int, old string, v value, see seeing, visit func(block int),
	accept func(ending) bool) bool {
	queue := []place{{atom + 1, 0, map[string]value{old: v}}}
	seen := map[string]bool{}
	for steps := 0; len(queue) > 0; steps++ {
		if steps > maxPlaces {
			return accept(lost)
		}
		p := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		key := p.key()
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

func (p place) key() string {
	sum := uint64(0) // of a hash per entry, so that the order does not matter
	for name, v := range p.known {
		h := uint64(14695981039346656037)
		for i := 0; i < len(name); i++ {
			h = (h ^ uint64(name[i])) * 1099511628211
		}
		h = (h ^ uint64(v.kind)) * 1099511628211
		h = (h ^ uint64(v.n)) * 1099511628211
		sum += h
	}
	return strconv.Itoa(p.stmt) + " " + strconv.Itoa(int(p.state)) + " " + strconv.FormatUint(sum, 16)
}

// block goes to the end of a block, and returns the places behind it.
func (w *Walker) block(p place, atom int, see seeing, visit func(int)) ([]place, ending) {
	f := w.f
	at := 0
	for at < len(w.Blocks) && w.Blocks[at].Last <= p.stmt {
		at++
	}
	if at == len(w.Blocks) {
		return nil, left
	}
	known := make(map[string]value, len(p.known)+4)
	maps.Copy(known, p.known)
	b := w.Blocks[at]
	visit(at)
	for i := p.stmt; i < b.Last; i++ {
		if f.Stmts[i].Kind != ptx.Inst {
			continue
		}
		if i == atom {
			return nil, back
		}
		run := value{constant, 1} // whether its guard lets it run
		if reg, negated := f.Guard(i); reg != nil {
			run = known[string(reg)]
			if negated && run.kind == constant {
				run.n = 1 - run.n
			}
		}
		if run.kind == constant && run.n == 0 {
			continue
		}
		if f.Leaves(i) {
			break
		}
		var on bool
		if p.state, on = see(i, p.state); !on {
			return nil, effect
		}
		w.step(i, known, run.kind != constant)
	}
	last := b.Last - 1
	if f.Stmts[last].Kind != ptx.Inst || !f.Leaves(last) {
		if len(b.Succs) == 0 {
			return nil, left
		}
		return []place{{w.Blocks[b.Succs[0]].First, p.state, known}}, 0
	}
	guard, negated := f.Guard(last)
	taken := value{constant, 1}
	if guard != nil {
		taken = known[string(guard)]
		if negated && taken.kind == constant {
			taken.n = 1 - taken.n
		}
	}
	branch := string(f.Base(last))
	// ret, exit, trap
	if branch != "bra" && branch != "brx" && (taken.kind != constant || taken.n == 1) {
		return nil, left
	}
	var next []place
	fall := -1
	targets := b.Succs
	if guard != nil && len(targets) > 0 {
		fall, targets = targets[len(targets)-1], targets[:len(targets)-1]
	}
	if taken.kind != constant || taken.n == 1 {
		for _, t := range targets {
			next = append(next, place{w.Blocks[t].First, p.state, known})
		}
	}
	if fall >= 0 && (taken.kind != constant || taken.n == 0) {
		next = append(next, place{w.Blocks[fall].First, p.state, known})
	}
	if len(next) == 0 {
		return nil, left
	}
	return next, 0
}

// step works out what an instruction leaves in its destination. maybe: its guard is not known.
func (w *Walker) step(i int, known map[string]value, maybe bool) {
	f := w.f
	ops := f.Operands(i, nil)
	result := value{}
	if len(ops) > 1 && !maybe {
		result = w.result(i, ops, known)
	}
	f.Effects(i, func(name ptx.Span, _, write bool) {
		if write {
			delete(known, string(f.Bytes(name)))
		}
	})
	if result.kind != unknown && len(ops) > 0 {
		known[string(f.Bytes(ops[0]))] = result
	}
}

// result is what an instruction gives: of constants, or one that an operand alone decides.
func (w *Walker) result(i int, ops []ptx.Span, known map[string]value) value {
	op, base := w.f.Opcode(i), string(w.f.Base(i))
	of := func(n int) value { return w.value(string(w.f.Bytes(ops[n])), known) }
	var in []int64
	for n := 1; n < len(ops); n++ {
		switch v := of(n); {
		case v.kind == constant:
			in = append(in, v.n)
		case base == "and" && len(ops) == 3 && of(3-n) == value{constant, 0}:
			return value{constant, 0}
		case string(op) == "or.pred" && len(ops) == 3 && of(3-n) == value{constant, 1}:
			return value{constant, 1}
		}
	}
	switch {
	case base == "mov" && len(ops) == 2 && string(op) != "mov.pred":
		return of(1)
	case base == "selp" && len(ops) == 4 && of(3).kind == constant:
		return of(2 - int(of(3).n&1))
	case base == "setp" && len(ops) == 3 && len(in) < 2:
		return w.compare(op, of(1), of(2), string(w.f.Bytes(ops[1])), string(w.f.Bytes(ops[2])))
	case len(in) == len(ops)-1 && (ptx.HasModifier(op, "pred") || ptx.HasModifier(op, "eq") ||
		ptx.HasModifier(op, "ne")): // a counter would never come to an end
		if n, ok := Compute(op, in...); ok {
			return value{constant, n}
		}
	}
	return value{}
}

// compare tells of what stands for free, and of what does not, whether it is that.
func (w *Walker) compare(op []byte, a, b value, aText, bText string) value {
	width, _ := IntegerType(op)
	equal := ptx.HasModifier(op, "eq")
	if !equal && !ptx.HasModifier(op, "ne") || width == 0 {
		return value{}
	}
	free := func(v value, text string) bool {
		return v.kind == isFree || text == w.free || v.kind == constant && w.freeKnown &&
			v.n == w.freeNumber
	}
	var same bool
	switch {
	case a.kind == notFree && free(b, bText), b.kind == notFree && free(a, aText):
	case a.kind == isFree && free(b, bText), b.kind == isFree && free(a, aText):
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
func (w *Walker) value(text string, known map[string]value) value {
	if v, ok := known[text]; ok {
		return v
	}
	if n, ok := w.Origins.Constant(text); ok {
		return value{constant, n}
	}
	return value{}
}
