package ptx

import (
	"strconv"
)

// Spin loops: a compare-and-swap or an exchange on shared memory that is repeated until it finds a lock free.
//
//	$L__BB1_4:
//		atom.shared.cas.b32 	%r7, [%r6], %r5, %r4;    // the attempt: free (%r5) -> taken (%r4)
//		setp.ne.s32 	%p3, %r7, 0;
//		@%p3 bra 	$L__BB1_4;
//
// Loops come in many forms (the critical section inside or behind, a flag that says done, a sleep, a load that tests
// first), and two compilers make different ones of the same source. So none is matched by its form: the code behind an
// attempt is followed, along the real control flow, once as if the lock had been taken and once as if it had not. It is
// a spin loop where every way from a failed attempt leads back to it without having done anything, and none from a
// successful one does.

// A Spin is one such attempt.
type Spin struct {
	Atom    int    // its statement
	Swap    string // "cas" or "exch"
	Type    string // "b32" or "b64"
	Order   string // "acquire", "release", "acq_rel", or "" for relaxed
	Scope   string // "cta", ... as written; "" where the text names none
	Generic bool   // the address is generic, and comes from a shared variable on every way
	Old     Span   // the register that gets the old value
	Address Span   // with its brackets
	Free    Span   // cas: the operand that stands for free
	Taken   Span   // what is stored: the last operand
	Blocks  []int  // blocks that a failed attempt passes through on its way back, its own first
	Sleeps  bool   // it sleeps in between
	Tests   bool   // a load looks at the lock in between
	Lock    string // the address in terms of what it is computed from (Origins.Expression)
	Root    string // the shared variable in which the lock lies, "" where it is not known
}

// Spins finds the spin loops on shared memory of a function, in the order of the text.
func (f *Func) Spins() ([]Spin, error) {
	if !f.swaps() {
		return nil, nil
	}
	w, err := f.Walk()
	if err != nil {
		return nil, err
	}
	return w.Spins(), nil
}

// swaps tells whether there is any atom instruction: most functions have none, and need no more work.
func (f *Func) swaps() bool {
	for i, s := range f.Stmts {
		if s.Kind == Inst && string(f.Base(i)) == "atom" {
			return true
		}
	}
	return false
}

// Walk prepares to follow a function's code.
func (f *Func) Walk() (*Walker, error) {
	blocks, err := f.Blocks()
	if err != nil {
		return nil, err
	}
	return &Walker{f: f, Blocks: blocks, Origins: f.Origins()}, nil
}

// Spins finds the spin loops on shared memory, in the order of the text.
func (w *Walker) Spins() []Spin {
	var out []Spin
	for i, s := range w.f.Stmts {
		if s.Kind == Inst && string(w.f.Base(i)) == "atom" {
			if s, ok := w.spin(i); ok {
				out = append(out, s)
			}
		}
	}
	return out
}

// AfterTaking goes along all ways behind an attempt, as if it had taken the lock, up to the next attempt at the same place. see is
// called for each instruction that runs or may run, with the state that it returned for the one before on this way (0
// at first); with on false the way ends there. It sees at most some hundred blocks.
func (w *Walker) AfterTaking(s Spin, see func(stmt int, state uint8) (next uint8, on bool)) {
	won := value{kind: isFree}
	w.free, w.freeKnown = "", false
	if s.Swap == "cas" {
		w.free = string(w.f.Bytes(s.Free))
		if n, ok := w.Origins.Constant(w.free); ok {
			won = value{constant, n}
			w.freeNumber, w.freeKnown = n, true
		}
	} else {
		taken, _ := w.Origins.Constant(string(w.f.Bytes(s.Taken)))
		for _, free := range w.compared(string(w.f.Bytes(s.Old))) {
			if free != taken {
				won = value{constant, free}
			}
		}
	}
	w.walk(s.Atom, string(w.f.Bytes(s.Old)), won, see, func(int) {}, func(ending) bool { return true })
}

// attempt reads an atom instruction; ok is false for those that can be no attempt.
func (w *Walker) attempt(i int) (s Spin, ok bool) {
	f := w.f
	s.Atom = i
	if f.Stmts[i].Guarded {
		return s, false
	}
	shared := false
	for rest := f.Opcode(i)[len("atom"):]; len(rest) > 0; {
		n := 1
		for n < len(rest) && (rest[n] != '.') {
			n++
		}
		switch word := string(rest[1:n]); word {
		case "cas", "exch":
			s.Swap = word
		case "b32", "b64":
			s.Type = word
		case "relaxed":
		case "acquire", "release", "acq_rel":
			s.Order = word
		case "cta", "cluster", "gpu", "sys":
			s.Scope = word
		case "shared", "shared::cta":
			shared = true
		default: // other operations, state spaces, a cache policy
			return s, false
		}
		rest = rest[n:]
	}
	ops := f.Operands(i, nil)
	if want := map[string]int{"cas": 4, "exch": 3}[s.Swap]; s.Type == "" || len(ops) != want || f.text[ops[0].Start] != '%' {
		return s, false
	}
	s.Old, s.Address, s.Taken = ops[0], ops[1], ops[len(ops)-1]
	if s.Swap == "cas" {
		s.Free = ops[2]
	}
	base, _, isAddress := f.Address(s.Address)
	if !isAddress {
		return s, false
	}
	o := w.Origins.Of(string(base))
	s.Generic = !shared
	if s.Generic && !o.Shared {
		return s, false
	}
	s.Root = o.Root
	return s, true
}

func (w *Walker) spin(i int) (Spin, bool) {
	s, ok := w.attempt(i)
	if !ok {
		return s, false
	}
	old := string(w.f.Bytes(s.Old))
	switch s.Swap {
	case "cas":
		w.free = string(w.f.Bytes(s.Free))
		lost := value{kind: notFree}
		won := value{kind: isFree}
		if n, ok := w.Origins.Constant(w.free); ok {
			won = value{constant, n}
			w.freeNumber, w.freeKnown = n, true
		} else {
			w.freeKnown = false
		}
		s.Blocks, ok = w.retries(i, old, lost)
		if !ok || !w.succeeds(i, old, won) {
			return s, false
		}
	case "exch":
		w.free, w.freeKnown = "", false
		taken, known := w.Origins.Constant(string(w.f.Bytes(s.Taken)))
		if !known {
			return s, false
		}
		s.Blocks, ok = w.retries(i, old, value{constant, taken})
		if !ok {
			return s, false
		}
		ok = false
		for _, free := range w.compared(old) {
			ok = ok || free != taken && w.succeeds(i, old, value{constant, free})
		}
		if !ok {
			return s, false
		}
	}
	// The lock and what stands for free are the same in every attempt.
	base, _, _ := w.f.Address(s.Address)
	if w.changes(s.Blocks, string(base), 8) || s.Swap == "cas" && !w.freeKnown && w.changes(s.Blocks, w.free, 8) {
		return s, false
	}
	s.Lock = w.lock(s.Address)
	for _, b := range s.Blocks {
		for n := w.Blocks[b].First; n < w.Blocks[b].Last; n++ {
			if w.f.Stmts[n].Kind != Inst {
				continue
			}
			switch string(w.f.Base(n)) {
			case "nanosleep":
				s.Sleeps = true
			case "ld":
				if ops := w.f.Operands(n, nil); len(ops) == 2 && w.lock(ops[1]) == s.Lock {
					s.Tests = true
				}
			}
		}
	}
	return s, true
}

// A Walker follows code with what little it knows of registers.
type Walker struct {
	Blocks  []Block
	Origins *Origins
	f       *Func

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

// A place is where the walk goes on, with what is known there. known is shared between places and never changed.
type place struct {
	stmt  int
	state uint8 // the caller's
	known map[string]value
}

// maxPlaces bounds a walk; the longest spin loop seen has five blocks.
const maxPlaces = 400

// retries follows a failed attempt; ok is true where each way leads back to it and does nothing.
func (w *Walker) retries(atom int, old string, v value) (blocks []int, ok bool) {
	seen := map[int]bool{}
	comes := false
	ok = w.walk(atom, old, v, w.quiet, func(block int) {
		if !seen[block] {
			seen[block] = true
			blocks = append(blocks, block)
		}
	}, func(end ending) bool {
		comes = comes || end == back
		return end == back
	})
	return blocks, ok && comes
}

// succeeds follows a successful attempt; it is true where no way leads back with nothing done.
func (w *Walker) succeeds(atom int, old string, v value) bool {
	return w.walk(atom, old, v, w.quiet, func(int) {}, func(end ending) bool { return end == effect || end == left })
}

// quiet ends a way at an instruction that others can see.
func (w *Walker) quiet(i int, state uint8) (uint8, bool) { return state, !visible[string(w.f.Base(i))] }

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
func (w *Walker) walk(atom int, old string, v value, see seeing, visit func(block int), accept func(ending) bool) bool {
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
	for k, v := range p.known {
		known[k] = v
	}
	b := w.Blocks[at]
	visit(at)
	for i := p.stmt; i < b.Last; i++ {
		if f.Stmts[i].Kind != Inst {
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
		if f.leaves(i) {
			break
		}
		var on bool
		if p.state, on = see(i, p.state); !on {
			return nil, effect
		}
		w.step(i, known, run.kind != constant)
	}
	last := b.Last - 1
	if f.Stmts[last].Kind != Inst || !f.leaves(last) {
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
	if branch != "bra" && branch != "brx" && (taken.kind != constant || taken.n == 1) { // ret, exit, trap
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

// visible are the instructions that end a way: others can see what they did, or they wait for others.
var visible = map[string]bool{
	"st": true, "atom": true, "red": true, "call": true, "bar": true, "barrier": true, "cp": true, "mbarrier": true,
	"multimem": true, "sust": true, "sured": true, "vote": true, "shfl": true, "match": true, "redux": true, "elect": true,
	"activemask": true, "setmaxnreg": true, "griddepcontrol": true, "wgmma": true, "wmma": true, "mma": true, "tcgen05": true,
	"tensormap": true, "stmatrix": true, "discard": true, "brkpt": true, "alloca": true, "stackrestore": true,
	"clusterlaunchcontrol": true, "pmevent": true,
}

// step works out what an instruction leaves in its destination. maybe: its guard is not known.
func (w *Walker) step(i int, known map[string]value, maybe bool) {
	f := w.f
	ops := f.Operands(i, nil)
	result := value{}
	if len(ops) > 1 && !maybe {
		of := func(n int) value { return w.value(string(f.Bytes(ops[n])), known) }
		word := string(f.Opcode(i))
		switch string(f.Base(i)) {
		case "mov":
			if result = of(1); word == "mov.pred" && result.kind == constant && result.n != 0 { // true is -1
				result.n = 1
			}
		case "not":
			if a := of(1); word == "not.pred" && a.kind == constant {
				result = value{constant, 1 - a.n}
			}
		case "setp":
			if len(ops) == 3 {
				result = w.compare(f.Opcode(i), of(1), of(2), string(f.Bytes(ops[1])), string(f.Bytes(ops[2])))
			}
		case "and", "or", "xor":
			if len(ops) == 3 && HasModifier(f.Opcode(i), "pred") {
				result = logic(string(f.Base(i)), of(1), of(2))
			}
		case "selp":
			if len(ops) == 4 && of(3).kind == constant {
				result = of(2 - int(of(3).n&1))
			}
		}
	}
	f.Effects(i, func(name Span, _, write bool) {
		if write {
			delete(known, string(f.Bytes(name)))
		}
	})
	if result.kind != unknown && len(ops) > 0 {
		known[string(f.Bytes(ops[0]))] = result
	}
}

func logic(op string, a, b value) value {
	both := a.kind == constant && b.kind == constant
	switch {
	case op == "and" && (a == value{constant, 0} || b == value{constant, 0}):
		return value{constant, 0}
	case op == "or" && (a == value{constant, 1} || b == value{constant, 1}):
		return value{constant, 1}
	case !both:
		return value{}
	case op == "and":
		return value{constant, a.n & b.n}
	case op == "or":
		return value{constant, a.n | b.n}
	}
	return value{constant, a.n ^ b.n}
}

// compare works setp.eq and setp.ne out, on integers and bits.
func (w *Walker) compare(op []byte, a, b value, aText, bText string) value {
	equal := HasModifier(op, "eq")
	if !equal && !HasModifier(op, "ne") || HasModifier(op, "f32") || HasModifier(op, "f64") || HasModifier(op, "f16") {
		return value{}
	}
	free := func(v value, text string) bool {
		return v.kind == isFree || text == w.free || v.kind == constant && w.freeKnown && v.n == w.freeNumber
	}
	same, known := false, false
	switch {
	case a.kind == constant && b.kind == constant:
		same, known = a.n == b.n, true
	case a.kind == notFree && free(b, bText), b.kind == notFree && free(a, aText):
		same, known = false, true
	case a.kind == isFree && free(b, bText), b.kind == isFree && free(a, aText):
		same, known = true, true
	}
	if !known {
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

// compared lists the constants that a register is compared with anywhere.
func (w *Walker) compared(reg string) []int64 {
	var out []int64
	f := w.f
	for i, s := range f.Stmts {
		if s.Kind != Inst || string(f.Base(i)) != "setp" {
			continue
		}
		ops := f.Operands(i, nil)
		if len(ops) < 3 {
			continue
		}
		for k := 1; k <= 2; k++ {
			if string(f.Bytes(ops[k])) == reg {
				if n, ok := w.Origins.Constant(string(f.Bytes(ops[3-k]))); ok {
					out = append(out, n)
				}
			}
		}
	}
	return out
}

// changes tells whether an operand may have another value after a way through these blocks. What is computed anew of things that
// do not change is no change.
func (w *Walker) changes(blocks []int, operand string, depth int) bool {
	f := w.f
	if operand == "" || operand[0] != '%' {
		return false
	}
	written := false
	for _, at := range w.Origins.Defs(operand) {
		for _, b := range blocks {
			written = written || at >= w.Blocks[b].First && at < w.Blocks[b].Last
		}
	}
	if !written {
		return false
	}
	at, ok := w.Origins.Computed(operand)
	if !ok || depth == 0 {
		return true
	}
	for _, s := range f.Operands(at, nil)[1:] {
		if w.changes(blocks, string(f.Bytes(s)), depth-1) {
			return true
		}
	}
	return false
}

// lock is an address in terms of what it is computed from.
func (w *Walker) lock(address Span) string {
	base, offset, ok := w.f.Address(address)
	if !ok {
		return string(w.f.Bytes(address))
	}
	return w.Origins.Expression(string(base)) + string(offset)
}
