package check

import (
	"slices"

	"gnvcc/rewrite/counters"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// Arguments is what a kernel's arguments decide by their own values, with no number from memory.
type Arguments struct {
	// Data decides whether something runs that has to in a checked launch (Counted).
	Data     bool
	deciding []argument
	read     []argument // all that is read
	unread   bool       // it is not known: they may all decide
}

// An argument is one, or a part of one.
type argument struct{ index, offset, bytes int }

// The sizes that a launch gives in registers, as arguments: their indices.
const (
	Block = -1
	Grid  = -2
)

var blockSize, gridSize = argument{index: Block}, argument{index: Grid}

// Decides reports whether the argument at a place is part of a condition that does not depend on
// memory: a pointer that is compared with null, a factor that is compared with 0.
func (a Arguments) Decides(index, offset, bytes int) bool {
	return a.unread || slices.ContainsFunc(a.deciding, func(d argument) bool {
		return d.index == index && d.offset < offset+bytes && offset < d.offset+d.bytes
	})
}

// Hidden calls yield for each part of an argument that the kernel reads and of which known does not
// tell what it is: an array's element, a private field. bytes is 0 where it is not known which part.
func (a Arguments) Hidden(known func(index, byte int) bool, yield func(index, offset, bytes int)) {
	if a.unread {
		yield(0, 0, 0)
	}
	for _, p := range a.read {
		step := min(p.bytes, 8)
		if p.index >= 0 && (p.bytes > 64 || step == 0 || step&(step-1) != 0) {
			yield(p.index, p.offset, 0)
			continue
		}
		for from := p.offset; p.index >= 0 && from < p.offset+p.bytes; from += step {
			for n := range step {
				if !known(p.index, from+n) {
					yield(p.index, from, step)
					break
				}
			}
		}
	}
}

// ArgumentsOf reads it in a kernel's PTX. It follows values, and not which way control flow came.
func ArgumentsOf(f *ptx.Func) (a Arguments) {
	w, err := ir.Of(f)
	if err != nil {
		return Arguments{unread: true, Data: true}
	}
	flow := flowOf(w, false, nil)
	a.read = flow.all
	for i := range w.Stmts {
		x := w.Inst(i)
		if len(x.Args) == 0 || x.Op == "isspacep" {
			continue
		}
		if to := x.Args[0].Reg; to != ir.None && w.Type(to) == "pred" {
			if s := flow.of(i); !s.memory {
				a.deciding = append(a.deciding, flow.arguments(s)...)
			}
		}
	}
	some := false // of a kernel that computes nothing, nothing has to run
	for i := range w.Stmts {
		op := w.Inst(i).Op
		some = some || op == "call" || op != "" && computes(w.Opcode(i), op)
	}
	if !some {
		return a
	}
	m, ways := numbersOf(w), flowOf(w, true, nil)
	for b := range w.Blocks {
		a.Data = a.Data || m.block(w.Blocks[b]) && ways.decided(b).memory
	}
	for i := range w.Stmts {
		if counters.Predicate(w, i) != "" {
			a.Data = a.Data || (m.choice(w, i, true) || m.choice(w, i, false)) && ways.chooses(i).memory
		}
	}
	return a
}
