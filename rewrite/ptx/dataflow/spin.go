package dataflow

import "gnvcc/rewrite/ptx"

// Spin loops: a compare-and-swap or an exchange on shared memory that is repeated until it finds a
// lock free.
//
//	$L__BB1_4:
//		atom.shared.cas.b32 	%r7, [%r6], %r5, %r4;    // the attempt: free (%r5) -> taken (%r4)
//		setp.ne.s32 	%p3, %r7, 0;
//		@%p3 bra 	$L__BB1_4;
//
// Loops come in many forms (the critical section inside or behind, a flag that says done, a sleep,
// a load that tests first), and two compilers make different ones of the same source. So none is
// matched by its form: the code behind an attempt is followed, along the real control flow, once as
// if the lock had been taken and once as if it had not. It is a spin loop where every way from a
// failed attempt leads back to it without having done anything, and none from a successful one
// does.

// A Spin is one such attempt.
type Spin struct {
	Atom    int      // its statement
	Swap    string   // "cas" or "exch"
	Type    string   // "b32" or "b64"
	Order   string   // "acquire", "release", "acq_rel", or "" for relaxed
	Scope   string   // "cta", ... as written; "" where the text names none
	Generic bool     // the address is generic, and comes from a shared variable on every way
	Old     ptx.Span // the register that gets the old value
	Address ptx.Span // with its brackets
	Free    ptx.Span // cas: the operand that stands for free
	Taken   ptx.Span // what is stored: the last operand
	Blocks  []int    // blocks that a failed attempt passes through on its way back, its own first
	Sleeps  bool     // it sleeps in between
	Tests   bool     // a load looks at the lock in between
	Lock    string   // the address in terms of what it is computed from (Origins.Expression)
	Root    string   // the shared variable in which the lock lies, "" where it is not known
}

// Spins finds the spin loops on shared memory of a function, in the order of the text.
func Spins(f *ptx.Func) ([]Spin, error) {
	if !swaps(f) {
		return nil, nil
	}
	w, err := Walk(f)
	if err != nil {
		return nil, err
	}
	return w.Spins(), nil
}

// swaps reports whether there is any atom instruction: most functions have none, and need no more
// work.
func swaps(f *ptx.Func) bool {
	for i, s := range f.Stmts {
		if s.Kind == ptx.Inst && string(f.Base(i)) == "atom" {
			return true
		}
	}
	return false
}

// Spins finds the spin loops on shared memory, in the order of the text.
func (w *Walker) Spins() []Spin {
	var out []Spin
	for i, s := range w.f.Stmts {
		if s.Kind == ptx.Inst && string(w.f.Base(i)) == "atom" {
			if s, ok := w.spin(i); ok {
				out = append(out, s)
			}
		}
	}
	return out
}

// AfterTaking goes along all ways behind an attempt, as if it had taken the lock, up to the next
// attempt at the same place. see is called for each instruction that runs or may run, with the
// state that it returned for the one before on this way (0 at first); with on false the way ends
// there. It sees at most some hundred blocks.
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
	if want := map[string]int{"cas": 4, "exch": 3}[s.Swap]; s.Type == "" || len(ops) != want ||
		f.Bytes(ops[0])[0] != '%' {
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
	if w.changes(s.Blocks, string(base), 8) || s.Swap == "cas" && !w.freeKnown &&
		w.changes(s.Blocks, w.free, 8) {
		return s, false
	}
	s.Lock = w.Origins.Place(s.Address)
	for _, b := range s.Blocks {
		for n := w.Blocks[b].First; n < w.Blocks[b].Last; n++ {
			if w.f.Stmts[n].Kind != ptx.Inst {
				continue
			}
			switch string(w.f.Base(n)) {
			case "nanosleep":
				s.Sleeps = true
			case "ld":
				if ops := w.f.Operands(n, nil); len(ops) == 2 && w.Origins.Place(ops[1]) == s.Lock {
					s.Tests = true
				}
			}
		}
	}
	return s, true
}

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
	return w.walk(atom, old, v, w.quiet, func(int) {}, func(end ending) bool {
		return end == effect || end == left
	})
}

// quiet ends a way at an instruction that others can see.
func (w *Walker) quiet(i int, state uint8) (uint8, bool) {
	return state, !visible(string(w.f.Base(i)))
}

// visible tells of the instructions that end a way: others can see what they did, or they wait for
// others.
func visible(word string) bool {
	switch word {
	case "st", "atom", "red", "call", "bar", "barrier", "cp", "mbarrier", "multimem", "sust",
		"sured", "vote", "shfl", "match", "redux", "elect", "activemask", "setmaxnreg",
		"griddepcontrol", "wgmma", "wmma", "mma", "tcgen05", "tensormap", "stmatrix", "discard",
		"brkpt", "alloca", "stackrestore", "clusterlaunchcontrol", "pmevent":
		return true
	}
	return false
}

// compared lists the constants that a register is compared with anywhere.
func (w *Walker) compared(reg string) []int64 {
	var out []int64
	f := w.f
	for i, s := range f.Stmts {
		if s.Kind != ptx.Inst || string(f.Base(i)) != "setp" {
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

// changes reports whether an operand may have another value after a way through these blocks. What
// is computed anew of things that do not change is no change.
func (w *Walker) changes(blocks []int, operand string, depth int) bool {
	f := w.f
	if operand == "" {
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
	at, ok := w.Origins.computed(operand)
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
