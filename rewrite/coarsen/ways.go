package coarsen

import (
	"errors"
	"fmt"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// Ways under guards. Where threads act together, or use shared memory, no turn can go on by itself:
// all threads stay in the jammed code. So the small ways of an if, with an else or without, on
// which turns may disagree are written under guards before the kernel is jammed:
//
//	                              not.pred %gnvcc_jga0, %p1;                     (who goes on)
//	@%p1 bra $L1;                 @!%gnvcc_jga0 bra $L1;                   (jammed: where no turn does)
//	ld.global.u32 %r1, [%rd1];    @%gnvcc_jga0 ld.global.u32 %r1, [%rd1];
//	                              mov.pred %gnvcc_jga2, %p2;
//	                              and.pred %gnvcc_jga2, %gnvcc_jga2, %gnvcc_jga0;
//	@%p2 st.global.u32 [%rd2], 1; @%gnvcc_jga2 st.global.u32 [%rd2], 1;
//	$L1:                          $L1:
//
// Of an if with an else the branches go, and predicates keep who took them: behind the label of the
// else there are those who branched to it, behind the last all.
//
// Allowed are ways whose branches all lead on in the text until they have met, into which no other
// branch leads, without loops, barriers, operations of a warp, fences, ends and scopes.
//
// What is computed for the way alone needs no guard: a sum of which nothing is needed behind any
// label until the ways have met is worked out for all. So what turns have in common on the way
// stays in common, and ptxas sees values that begin where they are written.
//
// Safe: for one thread, by induction over the statements: a guard holds exactly where the kernel
// comes to the statement. Who does not come there goes on at one of these labels, and reads nothing
// that was worked out for the others. What is not carried out changes nothing, as if it were jumped
// over, and a predicate that a guarded statement has not set counts for nothing, as what follows
// from it is ANDed with the guard at hand. In jammed code a branch that stays is taken where it is
// by all turns, and jumps over what no turn would carry out and no guard behind its label follows
// from. No barrier stands in between, so that all threads come to each of the kernel's as often as
// they did.

// maxWay bounds the statements of a way: under guards each is issued for every turn.
const maxWay = 320

// coarseGuard begins the names of guards.
const coarseGuard = coarsePrefix + "g"

// underGuards gives a copy of the kernel in which the ways on which turns may disagree are under
// guards. round makes the names of several such copies differ.
func (c *coarseRead) underGuards(round int) (*ptx.Func, error) {
	g := c.Clone()
	w := &wayWriter{f: g, was: c.Func, live: map[int]map[ir.Reg]bool{}, branches: map[int]int{}, name: fmt.Sprintf("%s%c", coarseGuard, 'a'+round)}
	labels := map[string]int{}
	for i, s := range g.Stmts {
		if s.Kind == ptx.Label {
			labels[string(g.Opcode(i))] = i
		}
	}
	for i := range g.Stmts {
		x := c.Inst(i)
		if x.Op != "bra" {
			continue
		}
		at, ok := labels[x.Args[0].Text]
		if !ok {
			return nil, errors.New("a branch leads nowhere")
		}
		w.branches[i] = at
	}
	last := -1
	for _, i := range c.leaves {
		if i < last {
			continue // within a way that is under guards already
		}
		to, err := w.ends(i)
		if err == nil {
			err = w.way(i, to)
		}
		if err != nil {
			return nil, err
		}
		last = to
	}
	g.Insert(g.First(), fmt.Sprintf(".reg .pred %s<%d>;", w.name, w.guards+1))
	return g, g.Commit()
}

// A wayWriter notes the edits.
type wayWriter struct {
	f        *ptx.Func
	was      *ir.Func                // the kernel as it was, statement by statement the same
	live     map[int]map[ir.Reg]bool // by label: the registers that are needed behind it
	branches map[int]int             // branch -> the label that it leads to
	name     string                  // of guards
	guards   int
}

// ends finds the label at which all ways from a branch have met.
func (w *wayWriter) ends(from int) (to int, err error) {
	to, is := w.branches[from]
	if !is {
		return 0, fmt.Errorf("a thread may end there (%s)", w.f.Opcode(from))
	}
	for i := from; i < to; i++ {
		if at, is := w.branches[i]; is && at <= i {
			return 0, errors.New("it is a loop, or has one")
		} else if is {
			to = max(to, at)
		}
		if to-from > maxWay {
			return 0, fmt.Errorf("there are %d statements until the ways meet, and %d are the most",
				to-from, maxWay)
		}
	}
	if to < from {
		return 0, errors.New("it is a loop")
	}
	for b, at := range w.branches {
		if (b < from || b >= to) && from < at && at < to {
			return 0, errors.New("another branch leads in between")
		}
	}
	return to, nil
}

// closed reports a branch that none of the statements which it jumps over leads further than it
// does, and that no branch before it leads to one of them: it may stay, as a branch over what no
// turn needs.
func (w *wayWriter) closed(from int) bool {
	to := w.branches[from]
	for i, at := range w.branches {
		if from < i && i < to && at > to || i < from && from < at && at < to {
			return false
		}
	}
	return w.f.Stmts[from].Guarded
}

// fresh is a new predicate.
func (w *wayWriter) fresh() string {
	w.guards++
	return fmt.Sprintf("%s%d", w.name, w.guards-1)
}

// way puts the statements from a branch to the label where all ways have met under guards. here is
// the guard at hand, "": all threads come here.
func (w *wayWriter) way(from, to int) error {
	f, here := w.f, ""
	before, taken := map[int]string{}, map[int]string{} // of branches: here, and who took it
	for i := from; i < to; i++ {
		s := f.Stmts[i]
		if s.Depth != f.Stmts[from].Depth {
			return errors.New("a scope begins in between")
		}
		switch s.Kind {
		case ptx.Label:
			here = w.meet(i, here, before, taken)
			continue
		case ptx.Line:
			continue
		case ptx.Inst:
		default:
			return fmt.Errorf("something other than an instruction stands there (%s)", f.Opcode(i))
		}
		if _, is := w.branches[i]; is {
			before[i] = here
			here, taken[i] = w.branch(i, here)
			continue
		}
		x := w.was.Inst(i)
		if ends(x) || acts(x) || !guardable(x.Op) {
			return fmt.Errorf("it is no statement that can be left out (%s)", f.Opcode(i))
		}
		if here != "" && !w.idle(i, to) {
			if x.Op == "set" || x.Op == "testp" { // docs/facts.md
				return fmt.Errorf("ptxas loses what a register holds that it sets under a guard (%s)",
					f.Opcode(i))
			}
			w.guarded(i, here)
		}
	}
	return nil
}

// idle reports a statement that changes nothing for those who do not come to it: it computes what
// is needed nowhere behind any label up to the one where all ways have met.
func (w *wayWriter) idle(i, to int) bool {
	f := w.f
	if !ir.Computes(w.was.Inst(i).Op) {
		return false
	}
	for at := i + 1; at <= to; at++ {
		if f.Stmts[at].Kind != ptx.Label {
			continue
		}
		if w.live[at] == nil {
			w.live[at] = map[ir.Reg]bool{}
			for _, r := range w.was.Live(at) {
				w.live[at][r] = true
			}
		}
		for _, a := range w.was.Accesses(i) {
			if a.Write && w.live[at][a.Reg] {
				return false
			}
		}
	}
	return true
}

// meet writes the guard behind a label: of those who come from above, and those who branched to it.
// Behind a branch that stays all are there again who came to the branch.
func (w *wayWriter) meet(i int, here string, before, taken map[int]string) string {
	first := -1
	for b := range taken {
		if w.branches[b] == i && (first < 0 || b < first) {
			first = b
		}
	}
	switch {
	case first < 0:
		return here
	case w.closed(first):
		return before[first]
	}
	var text []string
	for b := first; b < i; b++ {
		if p, is := taken[b]; is && w.branches[b] == i {
			n := w.fresh()
			text = append(text, fmt.Sprintf("or.pred %s, %s, %s;", n, here, p))
			here = n
		}
	}
	w.f.Insert(i+1, strings.Join(text, "\n\t"))
	return here
}

// branch writes the guards of who goes on behind a branch, and who takes it.
func (w *wayWriter) branch(i int, here string) (on, taken string) {
	f, s := w.f, w.f.Stmts[i]
	reg, negated := f.Guard(i)
	on, taken = w.fresh(), w.fresh()
	var text []string
	line := func(format string, args ...any) { text = append(text, fmt.Sprintf(format, args...)) }
	if reg == nil {
		line("mov.pred %s, %s;", taken, here)
		line("xor.pred %s, %s, %s;", on, here, here) // no lane
	} else {
		yes, no := "mov", "not"
		if negated {
			yes, no = no, yes
		}
		line("%s.pred %s, %s;", yes, taken, reg)
		line("%s.pred %s, %s;", no, on, reg)
		if here != "" {
			line("and.pred %s, %s, %s;", taken, taken, here)
			line("and.pred %s, %s, %s;", on, on, here)
		}
	}
	if w.closed(i) {
		line("@!%s bra %s;", on, f.Bytes(f.Operands(i, nil)[0]))
	}
	f.ReplaceSpan(ptx.Span{Start: s.Start, End: s.End}, strings.Join(text, "\n\t"))
	return on, taken
}

// guarded puts a statement under a guard, and under its own, if it has one.
func (w *wayWriter) guarded(i int, guard string) {
	f, s := w.f, w.f.Stmts[i]
	text := ""
	if reg, negated := f.Guard(i); reg != nil {
		op, both := "mov", w.fresh()
		if negated {
			op = "not"
		}
		text = fmt.Sprintf("%s.pred %s, %s;\n\tand.pred %s, %s, %s;\n\t", op, both, reg, both, both,
			guard)
		guard = both
	}
	f.ReplaceSpan(ptx.Span{Start: s.Start, End: s.Op}, text+"@"+guard+" ")
}

// guardable reports a instruction that a guard can stand for a way around it.
func guardable(base string) bool {
	switch base {
	case "ld", "ldu", "st", "atom", "red", "prefetch", "prefetchu":
		return true
	}
	return ir.Computes(base)
}

// skips reports a branch over a way that is under guards.
func skips(f *ir.Func, i int) bool {
	x := f.Inst(i)
	return x.Op == "bra" && x.Guard != ir.None && strings.HasPrefix(f.Name(x.Guard), coarseGuard)
}

// skip writes such a branch: it is taken where no turn goes that way.
func (w *coarseWriter) skip(i int) {
	x := w.Inst(i)
	any := w.register(x.Guard, 0)
	for u := 1; u < w.turns; u++ {
		to := fmt.Sprintf("%sp%d", coarsePrefix, w.preds)
		w.line("or.pred %s, %s, %s;", to, any, w.register(x.Guard, u))
		any = to
	}
	w.preds++
	w.line("@!%s bra %s;", any, x.Args[0].Text)
}
