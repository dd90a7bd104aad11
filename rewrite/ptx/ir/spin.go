package ir

import "slices"

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
	Atom    int     // its statement
	Swap    string  // "cas" or "exch"
	Type    string  // "b32" or "b64"
	Order   string  // "acquire", "release", "acq_rel", or "" for relaxed
	Scope   string  // "cta", ... as written; "" where the text names none
	Generic bool    // the address is generic, and comes from a shared variable on every way
	Old     Operand // the register that gets the old value
	Address Operand
	Free    Operand // cas: what stands for free
	Taken   Operand // what is stored
	Blocks  []int   // blocks that a failed attempt passes through on its way back, its own first
	Sleeps  bool    // it sleeps in between
	Tests   bool    // a load looks at the lock in between
	Lock    string  // the address in terms of what it is computed from (Location)
	Root    string  // the shared variable in which the lock lies, "" where it is not known
}

// Spins finds the spin loops on shared memory, in the order of the text.
func (w *Func) Spins() []Spin {
	var out []Spin
	for i := range w.Stmts {
		if w.Inst(i).Op == "atom" {
			if s, ok := (&Walker{Func: w}).spin(i); ok {
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
func (f *Func) AfterTaking(s Spin, see func(stmt int, state uint8) (next uint8, on bool)) {
	w := &Walker{Func: f}
	won := value{kind: isFree}
	if s.Swap == "cas" {
		won = w.swaps(s)
	} else {
		taken, _ := w.Constant(s.Taken)
		for _, free := range w.compared(s.Old.Reg) {
			if free != taken {
				won = value{constant, free}
			}
		}
	}
	w.walk(s.Atom, won, see, func(int) {}, func(ending) bool { return true })
}

// swaps notes what stands for free at a compare-and-swap, and returns what is in the lock then.
func (w *Walker) swaps(s Spin) value {
	w.free = s.Free
	if w.freeNumber, w.freeKnown = w.Constant(s.Free); w.freeKnown {
		return value{constant, w.freeNumber}
	}
	return value{kind: isFree}
}

// attempt reads an atom instruction; ok is false for those that can be no attempt.
func (w *Walker) attempt(i int) (s Spin, ok bool) {
	s.Atom = i
	x := w.Inst(i)
	shared := false
	for _, word := range x.Words {
		switch word {
		case "cas", "exch":
			s.Swap = word
		case "b32", "b64":
			s.Type = word
		case "acquire", "release", "acq_rel":
			s.Order = word
		case "relaxed":
		case "cta", "cluster", "gpu", "sys":
			s.Scope = word
		case "shared", "shared::cta":
			shared = true
		default: // other operations, state spaces, a cache policy
			return s, false
		}
	}
	if want := map[string]int{"cas": 4, "exch": 3}[s.Swap]; w.Stmts[i].Guarded || s.Type == "" ||
		len(x.Args) != want || x.Args[0].Reg == None || !x.Args[1].Address {
		return s, false
	}
	s.Old, s.Address, s.Taken = x.Args[0], x.Args[1], x.Args[len(x.Args)-1]
	if s.Swap == "cas" {
		s.Free = x.Args[2]
	}
	o := w.Origin(s.Address)
	s.Generic, s.Root = !shared, o.Root
	return s, shared || o.Shared
}

func (w *Walker) spin(i int) (s Spin, ok bool) {
	if s, ok = w.attempt(i); !ok {
		return s, false
	}
	if s.Swap == "cas" {
		won := w.swaps(s)
		s.Blocks, ok = w.retries(i, value{kind: notFree})
		ok = ok && w.succeeds(i, won)
	} else {
		taken, known := w.Constant(s.Taken)
		if !known {
			return s, false
		}
		s.Blocks, ok = w.retries(i, value{constant, taken})
		ok = ok && slices.ContainsFunc(w.compared(s.Old.Reg), func(free int64) bool {
			return free != taken && w.succeeds(i, value{constant, free})
		})
	}
	// The lock and what stands for free are the same in every attempt.
	if !ok || w.changes(s.Blocks, s.Address, 8) || s.Swap == "cas" && !w.freeKnown &&
		w.changes(s.Blocks, s.Free, 8) {
		return s, false
	}
	s.Lock = w.Location(i)
	for _, b := range s.Blocks {
		for n := w.Blocks[b].First; n < w.Blocks[b].Last; n++ {
			x := w.Inst(n)
			s.Sleeps = s.Sleeps || x.Op == "nanosleep"
			s.Tests = s.Tests || x.Op == "ld" && w.Location(n) == s.Lock
		}
	}
	return s, true
}

// retries follows a failed attempt; ok is true where each way leads back to it and does nothing.
func (w *Walker) retries(atom int, v value) (blocks []int, ok bool) {
	seen := map[int]bool{}
	comes := false
	ok = w.walk(atom, v, w.quiet, func(block int) {
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
func (w *Walker) succeeds(atom int, v value) bool {
	return w.walk(atom, v, w.quiet, func(int) {}, func(end ending) bool {
		return end == effect || end == left
	})
}

// quiet ends a way at an instruction that others can see.
func (w *Walker) quiet(i int, state uint8) (uint8, bool) {
	return state, !visible(w.Inst(i).Op)
}

// visible reports the instructions that end a way: others can see what they did, or they wait for
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
func (w *Walker) compared(r Reg) []int64 {
	var out []int64
	for i := range w.Stmts {
		x := w.Inst(i)
		if x.Op != "setp" || len(x.Args) < 3 {
			continue
		}
		for k := 1; k <= 2; k++ {
			if x.Args[k].Reg == r {
				if n, ok := w.Constant(x.Args[3-k]); ok {
					out = append(out, n)
				}
			}
		}
	}
	return out
}

// changes reports whether an operand may have another value after a way through these blocks. What
// is computed anew of things that do not change is no change.
func (w *Walker) changes(blocks []int, o Operand, depth int) bool {
	if o.Reg == None || !slices.ContainsFunc(w.Defs(o.Reg), func(d int) bool {
		return slices.Contains(blocks, w.Block(d))
	}) {
		return false
	}
	at := w.computed(o.Reg)
	return at < 0 || depth == 0 || slices.ContainsFunc(w.Inst(at).Args[1:], func(o Operand) bool {
		return w.changes(blocks, o, depth-1)
	})
}
