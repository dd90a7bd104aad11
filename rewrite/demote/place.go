package demote

import (
	"strconv"

	"gnvcc/rewrite/ptx"
)

// Demotion, the second half: where the loads and stores of the demoted values stand.
//
// In each block every value that is read gets a fresh register, loaded some instructions ahead
// where registers are not short, and every definition a fresh register, stored right behind it
// under the definition's own guard. A guarded definition is loaded first: where the guard is false,
// the register must hold the old value for what reads it behind.
//
// Two kinds of accesses fall away (RegDem, section 3.4.2). A value that is in a register already is
// not loaded again within the block, as long as keeping it there does not cost a register where
// registers are short, or the two uses stand side by side. A store that no load can see is dropped:
// backward data flow over the slots, one bit each.

type actionKind uint8

const (
	load actionKind = iota
	rename
	store
)

// An action is one edit. They stand in the order in which the edits must be noted: an insertion
// behind a statement before those in front of the next one.
type action struct {
	kind  actionKind
	slot  int32
	stmt  int
	at    ptx.Span // rename: the name
	temp  string
	guard string // store: "@%p1 "
	gone  bool
}

// sideBySide is how many statements may stand between two uses of which the second never loads
// again.
const sideBySide = 2

// loadAhead is how many instructions a load stands in front of the use: shared memory answers after
// some 25 cycles, and volatile loads, which ptxas does not move over each other, would wait for
// each other's users.
const loadAhead = 8

// held is a demoted value that is in a register at the point that place has come to.
type held struct {
	temp string // "": it is in none
	last int    // statement of its last access, else what is in front of the block
}

// place goes through the body once and notes the actions.
func (d *demotion) place() {
	now := make([]held, len(d.slots))
	type touch struct {
		slot                int32
		reads, writes, kept bool
	}
	var touched []touch
	for _, b := range d.flow.Blocks {
		for i := range now {
			now[i] = held{last: b.First - 1}
		}
		for i := b.First; i < b.Last; i++ {
			list := d.flow.Accesses(i)
			touched = touched[:0]
			for _, a := range list {
				n := d.slotOf[a.Reg]
				if n < 0 {
					continue
				}
				at := 0
				for at < len(touched) && touched[at].slot != n {
					at++
				}
				if at == len(touched) {
					touched = append(touched, touch{slot: n})
				}
				t := &touched[at]
				t.reads, t.writes, t.kept = t.reads || a.Read, t.writes || a.Write, t.kept || a.Kept
			}
			for _, t := range touched {
				if t.reads || t.kept {
					d.fetch(t.slot, i, &now[t.slot])
				}
			}
			for _, a := range list {
				if n := d.slotOf[a.Reg]; n >= 0 && a.Read {
					d.actions = append(d.actions, action{kind: rename, slot: n, stmt: i, at: a.At,
						temp: now[n].temp})
				}
			}
			for _, t := range touched {
				if !t.writes {
					continue
				}
				h := &now[t.slot]
				if !t.kept {
					h.temp = d.fresh(t.slot)
				}
				for _, a := range list {
					if a.Write && d.slotOf[a.Reg] == t.slot {
						d.actions = append(d.actions, action{kind: rename, slot: t.slot, stmt: i, at: a.At,
							temp: h.temp})
					}
				}
			}
			for _, t := range touched {
				now[t.slot].last = i
				if t.writes {
					d.actions = append(d.actions, action{kind: store, slot: t.slot, stmt: i,
						temp: now[t.slot].temp, guard: d.guard(i)})
				}
			}
		}
	}
}

// fetch sees to it that a value is in a register in front of a statement.
func (d *demotion) fetch(slot int32, stmt int, h *held) {
	words := int32(1)
	if d.slots[slot].wide {
		words = 2
	}
	if h.temp != "" {
		most, between := int32(0), 0
		for i := h.last + 1; i <= stmt; i++ {
			most = max(most, d.room[i]+words)
			if i < stmt && d.k.Stmts[i].Kind == ptx.Inst {
				between++
			}
		}
		if between <= sideBySide || most <= d.bound {
			for i := h.last + 1; i <= stmt; i++ {
				d.room[i] += words
			}
			return
		}
	}
	h.temp = d.fresh(slot)
	from := d.ahead(stmt, h.last, words)
	for i := from; i <= stmt; i++ { // in front of stmt too: it reads what was loaded
		d.room[i] += words
	}
	d.actions = append(d.actions, action{kind: load, slot: slot, stmt: from, temp: h.temp})
}

// ahead finds the place for a load, in front of an instruction: at most loadAhead of them before
// the use, behind the value's last access, and not where a register more than needed would be
// taken.
func (d *demotion) ahead(stmt, last int, words int32) int {
	from, seen := stmt, 0
	for i := stmt - 1; i > last && seen < loadAhead; i-- {
		switch d.k.Stmts[i].Kind {
		case ptx.Inst:
			if d.room[i]+words > d.bound {
				return from
			}
			from = i
			seen++
		case ptx.Line:
		default:
			return from
		}
	}
	return from
}

func (d *demotion) fresh(slot int32) string {
	if d.slots[slot].wide {
		d.wide++
		return demotePrefix + "w" + strconv.Itoa(d.wide-1)
	}
	d.narrow++
	return demotePrefix + strconv.Itoa(d.narrow-1)
}

// guard is the text of a statement's guard, "" for none.
func (d *demotion) guard(i int) string {
	reg, negated := d.k.Guard(i)
	switch {
	case reg == nil:
		return ""
	case negated:
		return "@!" + string(reg) + " "
	}
	return "@" + string(reg) + " "
}

// dropStores removes the stores that no load can see.
func (d *demotion) dropStores() {
	blocks := d.flow.Blocks
	first := make([]int, len(blocks)+1) // a block's actions begin here
	at := 0
	for b := range blocks {
		first[b] = at
		for at < len(d.actions) && d.actions[at].stmt < blocks[b].Last {
			at++
		}
	}
	first[len(blocks)] = at
	back := func(b int, seen uint64, drop bool) uint64 {
		for i := first[b+1] - 1; i >= first[b]; i-- {
			x := &d.actions[i]
			bit := uint64(1) << x.slot
			switch {
			case x.kind == load:
				seen |= bit
			case x.kind == store && drop && seen&bit == 0:
				x.gone = true
			case x.kind == store && x.guard == "":
				seen &^= bit
			}
		}
		return seen
	}
	in := make([]uint64, len(blocks))
	out := func(b int) (seen uint64) {
		for _, s := range blocks[b].Succs {
			seen |= in[s]
		}
		return seen
	}
	for changed := true; changed; {
		changed = false
		for b := len(blocks) - 1; b >= 0; b-- {
			if seen := back(b, out(b), false); seen != in[b] {
				in[b], changed = seen, true
			}
		}
	}
	for b := range blocks {
		back(b, out(b), true)
	}
	kept := d.actions[:0]
	for _, x := range d.actions {
		if !x.gone {
			kept = append(kept, x)
		}
	}
	d.actions = kept
}
