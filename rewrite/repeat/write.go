package repeat

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gnvcc/rewrite/ptx"
)

// The copies. They stand in front of the loop, with labels of their own.

// A writer writes a loop's copies.
type writer struct {
	*loop
	number, turns int
	ends          string         // where the last copy's turn begins the next one
	outside       map[int]string // labels of blocks outside that had none
	text          []string
}

// write notes the edits for so many turns.
func (l *loop) write(number, turns int) {
	f, blocks := l.f, l.reach.Blocks
	w := &writer{loop: l, number: number, turns: turns, outside: map[int]string{}}
	first := blocks[l.head].First
	head := string(f.Opcode(first))
	w.ends = head
	from := 1 // the loop itself is the first turn
	if l.trip != nil {
		from, w.ends = 0, fmt.Sprintf("$%s%d_turns", mark, number)
		w.line("%s:", w.ends)
		w.line(nounroll)
		w.test(head)
	} else if l.head > 0 && l.falls(l.head-1) {
		w.line("bra %s;", head)
	}
	for turn := from; turn < turns; turn++ {
		for n := range l.body {
			w.block(turn, n)
		}
	}
	if l.trip != nil {
		f.Insert(f.First(), w.declared())
	}
	f.Insert(first, strings.Join(w.text, "\n\t"))
	if !w.hasPragma() {
		f.Insert(first+1, nounroll)
	}
	// in front of the loop, or at its end
	for _, b := range l.before[l.head] {
		last := blocks[b].Last - 1
		if l.in[b] == (l.trip != nil) || f.Stmts[last].Kind != ptx.Inst || string(f.Base(last)) != "bra" {
			continue
		}
		if to := f.Operands(last, nil)[0]; l.labels[string(f.Bytes(to))] == l.head {
			target := w.ends
			if l.in[b] {
				target = w.label(1, l.head)
			}
			f.ReplaceSpan(to, target)
		}
	}
	for _, b := range slices.Sorted(maps.Keys(w.outside)) {
		f.Insert(blocks[b].First, w.outside[b]+":")
	}
}

const nounroll = `.pragma "nounroll";`

func (w *writer) line(format string, args ...any) {
	w.text = append(w.text, fmt.Sprintf(format, args...))
}

// register names one of ours: r for numbers, d for wide ones, p for predicates.
func (w *writer) register(kind string, n int) string {
	return fmt.Sprintf("%%%s%d_%s%d", mark, w.number, kind, n)
}

func (w *writer) declared() string {
	out := fmt.Sprintf(".reg .b%s %%%s%d_r<3>;\n\t.reg .pred %%%s%d_p<2>;", w.trip.kind[1:],
		mark, w.number,
		mark, w.number)
	if w.trip.by != "" {
		out += fmt.Sprintf("\n\t.reg .b64 %%%s%d_d<2>;", mark, w.number)
	}
	return out
}

// test goes to the loop itself where not so many turns are left as stand in a row.
func (w *writer) test(head string) {
	t := w.trip
	bits := t.kind[1:]
	last, distance, bound := t.reg, w.register("r", 1), t.bound
	if t.load != "" {
		bound = w.register("r", 2)
		w.line(t.load, bound)
	}
	if own := w.register("r", 0); t.less {
		w.line("sub.s%s %s, %s, %s;", bits, own, last, t.by)
		last = own
	}
	if own := w.register("r", 0); t.offset != 0 {
		w.line("add.s%s %s, %s, %d;", bits, own, last, t.offset)
		last = own
	}
	least := int64(w.turns-1) * t.step
	if t.step >= 0 {
		w.line("sub.s%s %s, %s, %s;", bits, distance, bound, last)
	} else {
		w.line("sub.s%s %s, %s, %s;", bits, distance, last, bound)
		least = -least
	}
	far, goes := w.register("p", 0), w.register("p", 1)
	how := "gt"
	if t.stay == "le" || t.stay == "ge" {
		how = "ge"
	}
	if t.by == "" {
		w.line("setp.%s.u%s %s, %s, %d;", how, bits, far, distance, least)
	} else { // without a sign, so that a step down is too far
		wide, all := w.register("d", 0), w.register("d", 1)
		w.line("cvt.u64.u32 %s, %s;", wide, distance)
		w.line("mul.wide.u32 %s, %s, %d;", all, t.by, w.turns-1)
		w.line("setp.%s.u64 %s, %s, %s;", how, far, wide, all)
	}
	if t.stay == "ne" {
		goes = far
	} else {
		w.line("setp.%s.and.%s %s, %s, %s, %s;", t.stay, t.kind, goes, last, bound, far)
	}
	w.line("@!%s bra %s;", goes, head)
}

func (w *writer) label(turn, block int) string {
	return fmt.Sprintf("$%s%d_turn%d_%d", mark, w.number, turn, block)
}

// to is the label of a block as a turn comes to it.
func (w *writer) to(turn, block int) string {
	switch {
	case block == w.head && turn+1 < w.turns:
		return w.label(turn+1, block)
	case block == w.head:
		return w.ends
	case w.in[block]:
		return w.label(turn, block)
	}
	if s := w.reach.Blocks[block].First; w.f.Stmts[s].Kind == ptx.Label {
		return string(w.f.Opcode(s))
	}
	if w.outside[block] == "" {
		w.outside[block] = fmt.Sprintf("$%s%d_left%d", mark, w.number, block)
	}
	return w.outside[block]
}

// block writes the nth block of a turn.
func (w *writer) block(turn, n int) {
	f, b := w.f, w.body[n]
	at := w.reach.Blocks[b]
	if f.Stmts[at.First].Kind == ptx.Label {
		w.line("%s:", w.label(turn, b))
	}
	falls := w.falls(b)
	for i := at.First; i < at.Last; i++ {
		s := f.Stmts[i]
		text := string(f.Text()[s.Start:s.End])
		switch {
		case s.Kind == ptx.Label || s.Kind == ptx.Empty || b == w.head && isNounroll(f, i):
			continue
		case s.Kind == ptx.Inst && string(f.Base(i)) == "bra":
			to := f.Operands(i, nil)[0]
			target := w.labels[string(f.Bytes(to))]
			if w.trip != nil && w.trip.block == b && turn+1 < w.turns { // it goes on
				if !w.in[target] {
					continue
				}
				falls, text = false, fmt.Sprintf("bra %s;", w.to(turn, target))
			} else {
				text = text[:to.Start-s.Start] + w.to(turn, target) + text[to.End-s.Start:]
			}
		}
		w.text = append(w.text, text)
	}
	if falls && (n+1 == len(w.body) || w.body[n+1] != b+1) {
		w.line("bra %s;", w.to(turn, b+1))
	}
}

func (w *writer) hasPragma() bool {
	at := w.reach.Blocks[w.head]
	for i := at.First; i < at.Last; i++ {
		if isNounroll(w.f, i) {
			return true
		}
	}
	return false
}

func isNounroll(f *ptx.Func, i int) bool {
	s := f.Stmts[i]
	return s.Kind == ptx.Direction && strings.Contains(string(f.Text()[s.Start:s.End]), `"nounroll"`)
}
