package ir

import (
	"strings"

	"gnvcc/rewrite/ptx"
)

// What all threads of a block do together: which registers hold the same for all of them, and
// whether all of them come to a place, equally often. A branch on which threads differ parts them
// up to the block where its ways meet; what is written in between is not the same for all.

// A Uniformity is what is known of a body.
type Uniformity struct {
	Varying   []bool // by register: it may differ between threads
	Divergent []bool // by block: perhaps not all threads come to it, or not equally often
}

// Uniform works it out, where no thread has parted from the others at the statements that are held.
func (w *Func) Uniform(held func(stmt int) bool) *Uniformity {
	u := &Uniformity{make([]bool, w.Registers()), make([]bool, len(w.Blocks))}
	varies := func(i int) bool {
		x := w.Inst(i)
		varies := u.Divergent[w.Block(i)] || x.Op == "ld" && !x.Has("param") ||
			x.Op != "ld" && !w.Leaves(i) && !Computes(x.Op)
		for _, a := range w.Accesses(i) {
			varies = varies || a.Read && (u.Varying[a.Reg] || len(w.Defs(a.Reg)) == 0)
		}
		w.Symbols(i, func(n ptx.Span) bool {
			switch name, _, _ := strings.Cut(string(w.Bytes(n)), "."); name {
			case "%ntid", "%ctaid", "%nctaid":
			default:
				varies = varies || name[0] == '%'
			}
			return !varies
		})
		return varies
	}
	for grown := true; grown; {
		grown = false
		Forward(w, u.Varying, func(a, b bool) bool { return a || b }, varies)
		for b := range w.Blocks {
			if i := w.Branch(b); i >= 0 && !(held(i) && w.Inst(i).Op != "brx") && varies(i) {
				for _, x := range w.Apart(b) {
					grown = grown || !u.Divergent[x]
					u.Divergent[x] = true
				}
			}
		}
	}
	return u
}
