package ir

import (
	"fmt"
	"slices"
)

// Which writes of a register a read may see: forward data flow over the basic blocks, in bit sets.
// Most registers that a compiler names are written once; only the others have bits.

// Reaching returns a function that gives the statements, in order, whose write of a register a
// statement may read. A statement that also writes it reads what was there before. An error means
// that there are more registers than is followed.
func (w *Func) Reaching() (func(stmt int, r Reg) []int, error) {
	bit := map[Access]int{} // by a write's statement and register
	var at []int            // by bit: the statement
	write := func(stmt int, r Reg) Access { return Access{Stmt: int32(stmt), Reg: r} }
	for r, defs := range w.defs {
		for _, i := range defs {
			if len(defs) > 1 {
				bit[write(i, Reg(r))] = len(at)
				at = append(at, i)
			}
		}
	}
	words := (len(at) + 63) / 64
	if 8*words*len(w.Blocks) > limitFlow {
		return nil, fmt.Errorf("ptx: %s: %d blocks with %d writes are more than is followed",
			w.Func.Name, len(w.Blocks), len(at))
	}
	// step carries the writes that reach a statement over it.
	step := func(live []uint64, i int) {
		for _, a := range w.Accesses(i) {
			if !a.Write || len(w.defs[a.Reg]) < 2 {
				continue
			}
			for _, d := range w.defs[a.Reg] {
				if n := bit[write(d, a.Reg)]; !a.Kept || d == i {
					live[n/64] &^= 1 << (n % 64)
				}
			}
			n := bit[write(i, a.Reg)]
			live[n/64] |= 1 << (n % 64)
		}
	}
	in := make([][]uint64, len(w.Blocks))
	for b := range in {
		in[b] = make([]uint64, words)
	}
	for grown := true; grown; {
		grown = false
		for b := range w.Blocks {
			live := slices.Clone(in[b])
			for i := w.Blocks[b].First; i < w.Blocks[b].Last; i++ {
				step(live, i)
			}
			for _, s := range w.Blocks[b].Succs {
				for n, set := range live {
					if set&^in[s][n] != 0 {
						in[s][n] |= set
						grown = true
					}
				}
			}
		}
	}
	return func(stmt int, r Reg) (out []int) {
		if len(w.defs[r]) < 2 {
			return w.defs[r]
		}
		b := w.Block(stmt)
		live := slices.Clone(in[b])
		for i := w.Blocks[b].First; i < stmt; i++ {
			step(live, i)
		}
		for _, d := range w.defs[r] {
			if n := bit[write(d, r)]; live[n/64]>>(n%64)&1 != 0 {
				out = append(out, d)
			}
		}
		return out
	}, nil
}
