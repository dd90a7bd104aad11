package rewrite

import (
	"fmt"
	"slices"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// The verifier: what must hold of a kernel after the passes, whatever they did. ptxas checks forms;
// this checks what ptxas takes silently (a register that is read before it is written), and what it
// would report by a line of a file that the user never saw.
//
//   - braces balance and statements end (the parser saw to it at Commit)
//   - every label that a branch names is in sight, once; no register is declared twice in one scope
//     (ir.Of)
//   - every register that is named was declared, as far as it was before the passes
//   - in statements that the passes brought in or changed, registers have the width of the
//     instruction's type (fits.go)
//   - a register that the passes brought in is written on every way to each place where it is read;
//     one that was there and was written somewhere still is
func verify(before, after *ptx.Func) error {
	old, err := ir.Of(before)
	if err != nil {
		return fmt.Errorf("before the passes: %w", err)
	}
	now, err := ir.Of(after)
	if err != nil {
		return err
	}
	for name := range now.Others {
		if !old.Others[name] && !special(name) {
			return fmt.Errorf("register %s is not declared", name)
		}
	}
	stood := make(map[string]bool, len(before.Stmts))
	for _, s := range before.Stmts {
		stood[string(before.Text()[s.Start:s.End])] = true
	}
	for i, s := range after.Stmts {
		if s.Kind == ptx.Inst && !stood[string(after.Text()[s.Start:s.End])] {
			if err := fits(now, i); err != nil {
				return err
			}
		}
	}
	was, is := uses(old), uses(now)
	fresh := func(r ir.Reg) bool { _, had := was[keyOf(now, r)]; return !had }
	for r := range ir.Reg(now.Registers()) {
		key := keyOf(now, r)
		if is[key] == readBit && was[key]&writeBit != 0 {
			return fmt.Errorf("register %s is read but no longer written", now.Name(r))
		}
	}
	if len(now.Stmts) == 0 {
		return nil
	}
	for _, r := range now.Live(0) {
		if fresh(r) && unwritten(now, r) {
			return fmt.Errorf("register %s may be read before it is written", now.Name(r))
		}
	}
	return nil
}

const (
	readBit = 1 << iota
	writeBit
)

// A registerKey is a register's name. The same name declared in several scopes counts as one, which
// is enough for the questions above.
type registerKey struct {
	name string
	n    ir.Reg // of a range; -1 for a register of exactly that name
}

func keyOf(w *ir.Func, r ir.Reg) registerKey {
	g := &w.Groups[w.Group(r)]
	if g.Count == 0 {
		if cut, n := ptx.SplitNumber([]byte(g.Name)); n >= 0 {
			return registerKey{g.Name[:cut], ir.Reg(n)} // as if of a range
		}
		return registerKey{g.Name, -1}
	}
	return registerKey{g.Name, r - g.Base}
}

// uses says of each register that is declared whether it is read and written.
func uses(w *ir.Func) map[registerKey]uint8 {
	out := make(map[registerKey]uint8, w.Registers())
	for r := range ir.Reg(w.Registers()) {
		state := out[keyOf(w, r)]
		if len(w.Defs(r)) > 0 {
			state |= writeBit
		}
		out[keyOf(w, r)] = state
	}
	for i := range w.Stmts {
		for _, a := range w.Accesses(i) {
			if a.Read {
				out[keyOf(w, a.Reg)] |= readBit
			}
		}
	}
	return out
}

// special tells PTX's own registers by their form, since the list grows with every ISA: they have a
// dimension (%tid.x) or a long name (%laneid, %clock64).
func special(name string) bool { return slices.Contains([]byte(name), '.') || len(name) > 4 }

// unwritten reports whether a way leads from the entry to a read of a register on which nothing
// writes it. A guarded write is none, but a second one behind it under the opposite guard is.
func unwritten(w *ir.Func, r ir.Reg) bool {
	reads, writes := make([]bool, len(w.Blocks)), make([]bool, len(w.Blocks))
	for b, block := range w.Blocks {
		for i := block.First; i < block.Last && !reads[b] && !writes[b]; i++ {
			reads[b] = w.Reads(i, r)
			writes[b] = !reads[b] && w.Writes(i, r) && (!w.Stmts[i].Guarded || i > 0 && w.Writes(i-1, r) &&
				opposite(w.Inst(i-1), w.Inst(i)))
		}
	}
	reached := ptx.Onward(w.Blocks, []int{0}, func(b int) bool { return writes[b] })
	for b := range reached {
		if reached[b] && reads[b] {
			return true
		}
	}
	return false
}

// opposite reports whether exactly one of two instructions runs.
func opposite(x, y *ir.Inst) bool {
	return x.Guard != ir.None && x.Guard == y.Guard && x.Unless != y.Unless
}
