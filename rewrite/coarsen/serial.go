package coarsen

import (
	"fmt"
	"slices"

	"gnvcc/rewrite/pass"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// Turns one by one, where they disagree on a branch.

// maxCoarseLocal bounds the local memory in which turns wait, bytes a thread: what ptxas spills has
// to stand beside it in what every launch may have (stackLimit).
const maxCoarseLocal = 640

// A coarseRoom says where in local memory a register waits, in front of a branch.
type coarseRoom struct {
	reg  ir.Reg
	at   int
	bits int
}

// alone writes what follows where the turns disagree. In front of the branch all that is needed
// from there on is put into local memory, the registers that the turns have in common once:
//
//	$gnvcc_jam_leave0:  st.local.b32 [gnvcc_jam_local+8], %r1; ...   the turn is 0, the branch is the 0th
//	$gnvcc_jam_next:    the next turn, or the end
//	$gnvcc_jam_resume0: ld.local.b32 %gnvcc_js_r1, [...]; ...
//	                    the branch and what follows it, as they are in the kernel, for one turn
//
// where each end of the kernel's goes to the next turn.
func (w *coarseWriter) alone() error {
	rooms, common, each, err := w.rooms()
	if err != nil {
		return err
	}
	for n := range w.leaves {
		w.line("%s_leave%d:", coarseLabel, n)
		for _, r := range rooms[n] {
			for u := range w.turns {
				if u > 0 && !w.varies[r.reg] {
					break
				}
				at := r.at
				if w.varies[r.reg] {
					at += common + u*each
				}
				w.keep(r, u, at)
			}
		}
		w.line("mov.u32 %st, 0;", coarsePrefix)
		w.line("mov.u32 %sw, %d;", coarsePrefix, n)
		w.line("bra %s_next;", coarseLabel)
	}
	w.next(rooms, common, each)
	w.rest()
	w.out = slices.Insert(w.out, 0, fmt.Sprintf(".local .align 8 .b8 %s[%d];", coarseLocal,
		common+w.turns*each))
	return nil
}

// rooms gives each register that is needed from a branch on its place: those that the turns have
// in common in common bytes, the others in each turn's.
func (w *coarseWriter) rooms() (rooms [][]coarseRoom, common, each int, err error) {
	for _, i := range w.leaves {
		var list []coarseRoom
		var size [2]int
		for _, r := range w.Live(i) {
			room := coarseRoom{reg: r, bits: pass.BitsOf(w.Type(r))}
			if room.bits == pass.PredBits {
				room.bits = 32
			}
			of := &size[0]
			if w.varies[r] {
				of = &size[1]
			}
			*of = (*of + room.bits/8 - 1) / (room.bits / 8) * (room.bits / 8)
			room.at = *of
			*of += room.bits / 8
			list = append(list, room)
		}
		rooms = append(rooms, list)
		common, each = max(common, (size[0]+7)/8*8), max(each, (size[1]+7)/8*8)
	}
	if n := common + w.turns*each; n > maxCoarseLocal {
		return nil, 0, 0, fmt.Errorf(
			"where its blocks go different ways %d bytes a thread would have to wait, and %d are the most",
			n, maxCoarseLocal)
	}
	return rooms, common, each, nil
}

// keep stores a register of a turn.
func (w *coarseWriter) keep(r coarseRoom, turn, at int) {
	name := w.register(r.reg, turn)
	if w.Type(r.reg) == "pred" {
		w.line("selp.u32 %sx, 1, 0, %s;", coarsePrefix, name)
		name = coarsePrefix + "x"
	}
	w.line("st.local.b%d [%s+%d], %s;", r.bits, coarseLocal, at, name)
}

// next writes the choice of the next turn, and its way back to where it waits.
func (w *coarseWriter) next(rooms [][]coarseRoom, common, each int) {
	p := fmt.Sprintf("%sp%d", coarsePrefix, w.preds)
	w.preds++
	w.line("%s_next:", coarseLabel)
	w.line("setp.ge.u32 %s, %st, %d;", p, coarsePrefix, w.turns)
	w.line("@%s ret;", p)
	w.line("add.u32 %sb%d, %sb0, %st;", coarsePrefix, w.turns, coarsePrefix, coarsePrefix)
	w.line("mov.u64 %sa0, %s;", coarsePrefix, coarseLocal)
	w.line("mad.wide.u32 %sa0, %st, %d, %sa0;", coarsePrefix, coarsePrefix, each, coarsePrefix)
	w.line("add.u32 %st, %st, 1;", coarsePrefix, coarsePrefix)
	for n := range rooms[:len(rooms)-1] {
		w.line("setp.eq.u32 %s, %sw, %d;", p, coarsePrefix, n)
		w.line("@%s bra %s_resume%d;", p, coarseLabel, n)
	}
	for n := len(rooms) - 1; n >= 0; n-- {
		w.line("%s_resume%d:", coarseLabel, n)
		for _, r := range rooms[n] {
			from := fmt.Sprintf("%s+%d", coarseLocal, r.at)
			if w.varies[r.reg] {
				from = fmt.Sprintf("%sa0+%d", coarsePrefix, common+r.at)
			}
			name := w.register(r.reg, serial)
			if w.Type(r.reg) == "pred" {
				w.line("ld.local.u32 %sx, [%s];", coarsePrefix, from)
				w.line("setp.ne.u32 %s, %sx, 0;", name, coarsePrefix)
				continue
			}
			w.line("ld.local.b%d %s, [%s];", r.bits, name, from)
		}
		w.line("bra %s_alone%d;", coarseLabel, n)
	}
}

// rest writes the kernel's own code as far as it can be reached from the branches on which turns
// disagree.
func (w *coarseWriter) rest() {
	blocks := w.Blocks
	var after []int
	for b := range blocks {
		if slices.Contains(w.leaves, blocks[b].Last-1) {
			after = append(after, blocks[b].Succs...)
		}
	}
	reached := ptx.Onward(blocks, after, nil)
	for b := range blocks {
		from := blocks[b].First
		if !reached[b] {
			from = blocks[b].Last - 1
			if !slices.Contains(w.leaves, from) {
				continue
			}
		}
		w.own(from, blocks[b].Last, serial, coarseLabel+"_s_")
	}
	if w.falls() {
		w.line("bra %s_next;", coarseLabel)
	}
}

// own writes some of the kernel's statements for one turn. Where one goes on alone, each end goes to
// the next one.
func (w *coarseWriter) own(from, to, turn int, label string) {
	for i := from; i < to; i++ {
		if end, is := w.calls[i]; is {
			w.call(i, turn)
			i = end
			continue
		}
		if n := slices.Index(w.leaves, i); n >= 0 && turn == serial {
			w.line("%s_alone%d:", coarseLabel, n)
		}
		switch x := w.Inst(i); w.Stmts[i].Kind {
		case ptx.Inst, ptx.Label, ptx.Line, ptx.Direction:
			if turn != serial || !ends(x) {
				w.line("%s", w.statement(i, turn, label))
				continue
			}
			guard := ""
			if x.Guard != ir.None {
				guard = "@" + map[bool]string{true: "!"}[x.Unless] + w.register(x.Guard, turn) + " "
			}
			w.line("%sbra %s_next;", guard, coarseLabel)
		}
	}
}

// ends reports an instruction that ends a thread.
func ends(x *ir.Inst) bool { return x.Op == "ret" || x.Op == "exit" }
