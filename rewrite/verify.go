package rewrite

import (
	"fmt"
	"slices"
	"strings"

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
//   - a register that the passes brought in is written on every way to each place where it is read;
//     one that was there and was written somewhere still is
func verify(before, after *ptx.Func) error {
	if string(before.Bytes(before.Inside())) == string(after.Bytes(after.Inside())) {
		return nil
	}
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
	was := earlier(old, now)
	for r := range ir.Reg(now.Registers()) {
		if o := was(r); o != ir.None && len(now.Defs(r)) == 0 && len(old.Defs(o)) > 0 && now.IsRead(r) {
			return fmt.Errorf("register %s is read but no longer written", now.Name(r))
		}
	}
	for _, r := range now.Live(0) {
		if was(r) == ir.None && unwritten(now, r) {
			return fmt.Errorf("register %s may be read before it is written", now.Name(r))
		}
	}
	return nil
}

// earlier returns a function that gives the register which one was before the passes, None where
// they brought it in. Passes declare theirs behind those that there are.
func earlier(old, now *ir.Func) func(ir.Reg) ir.Reg {
	same, rest := 0, map[string]ir.Reg{}
	for same < min(len(old.Groups), len(now.Groups)) && old.Groups[same] == now.Groups[same] {
		same++
	}
	for r := range ir.Reg(old.Registers()) {
		if old.Group(r) >= same {
			rest[plainName(old, r)] = r
		}
	}
	return func(r ir.Reg) ir.Reg {
		if now.Group(r) < same {
			return r
		}
		if o, ok := rest[plainName(now, r)]; ok {
			return o
		}
		return ir.None
	}
}

// plainName is a register's name, whatever scope it is of.
func plainName(w *ir.Func, r ir.Reg) string {
	name, _, _ := strings.Cut(w.Name(r), "'")
	return name
}

// special recognises PTX's own registers by their form, since the list grows with every ISA: they have a
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
