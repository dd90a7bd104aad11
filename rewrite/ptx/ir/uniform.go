package ir

import (
	"slices"
	"strings"

	"gnvcc/rewrite/ptx"
)

// What all threads of a block do together: which registers hold the same for all of them, and
// whether all of them come to a place, equally often. A branch on which threads differ parts them
// up to the block where its ways meet; what is written in between is not the same for all.

// A Spread is what follows from some statements: by the registers that they write, and by the
// branches on these.
type Spread struct {
	w         *Func
	Varying   []bool // by register: its value follows
	Divergent []bool // by block: whether, or how often, it is run follows
}

// Reads reports whether a statement reads a register that follows.
func (s *Spread) Reads(stmt int) bool {
	return slices.ContainsFunc(s.w.Accesses(stmt), func(a Access) bool { return a.Read && s.Varying[a.Reg] })
}

// Spread works out what follows within some blocks. follows says of a statement whether what it
// writes does, and parts of a conditional branch whether which way it takes does, by what is known
// so far.
func (w *Func) Spread(blocks []int, follows, parts func(stmt int, s *Spread) bool) *Spread {
	s := &Spread{w, make([]bool, w.Registers()), make([]bool, len(w.Blocks))}
	parted := make([]bool, len(w.Blocks))
	for grown := true; grown; {
		grown = false
		for _, b := range blocks {
			for i := w.Blocks[b].First; i < w.Blocks[b].Last; i++ {
				if w.Inst(i).Op == "" || !follows(i, s) {
					continue
				}
				for _, a := range w.Accesses(i) {
					grown = grown || a.Write && !s.Varying[a.Reg]
					s.Varying[a.Reg] = s.Varying[a.Reg] || a.Write
				}
			}
			if i := w.Branch(b); i >= 0 && !parted[b] && parts(i, s) {
				parted[b], grown = true, true
				for _, x := range w.Apart(b) {
					s.Divergent[x] = true
				}
			}
		}
	}
	return s
}

// Uniform works out what differs between the threads of a block, where no thread has parted from the
// others at the statements that are held: registers, and blocks to which perhaps not all threads
// come, or not equally often.
func (w *Func) Uniform(held func(stmt int) bool) *Spread {
	varies := func(i int, u *Spread) bool {
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
	all := make([]int, len(w.Blocks))
	for b := range all {
		all[b] = b
	}
	return w.Spread(all, varies, func(i int, u *Spread) bool {
		return !(held(i) && w.Inst(i).Op != "brx") && varies(i, u)
	})
}
