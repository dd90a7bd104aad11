package ir

import (
	"fmt"
	"math/bits"
	"sync"
)

// Which registers hold a value that is still needed, point by point: backward data flow over the
// basic blocks, in bit sets.
//
// A register that is written before it is read, in the one block where it occurs, never crosses a
// block's edge and has no bit: those are most of what a compiler writes. A guarded write keeps the
// old value where the guard is false, so it does not end the life of what was there before.

// A liveness is the data flow's result.
type liveness struct {
	bit   []int32   // by register, -1: it stays within a block
	width int       // words of a bit set
	once  sync.Once // for out
	out   []uint64
}

// limitFlow bounds the bit sets of one body, bytes. The largest kernels of libraries that we know
// take some MB.
const limitFlow = 1 << 28

// number gives a bit to each register that may be live between blocks.
func (w *Func) number() error {
	const none = -2                     // not met yet
	home := make([]int32, len(w.group)) // the block of a register that stayed in one so far
	l := &liveness{bit: make([]int32, len(w.group))}
	for r := range home {
		home[r], l.bit[r] = none, -1
	}
	next := int32(0)
	for _, a := range w.access {
		switch b := w.block[a.Stmt]; {
		case l.bit[a.Reg] >= 0 || home[a.Reg] == b:
		case home[a.Reg] == none && a.Write && !a.Kept && !w.Reads(int(a.Stmt), a.Reg):
			home[a.Reg] = b
		default:
			l.bit[a.Reg] = next
			next++
		}
	}
	l.width = (int(next) + 63) / 64
	if size := 8 * 3 * l.width * len(w.Blocks); size > limitFlow {
		return fmt.Errorf("ptx: %s: %d blocks with %d registers between them are more than is followed",
			w.Func.Name, len(w.Blocks), 64*l.width)
	}
	w.life = l
	return nil
}

// live solves the data flow: what a block leaves live is what any block behind it needs.
func (w *Func) live() *liveness {
	w.life.once.Do(w.flow)
	return w.life
}

func (w *Func) flow() {
	l := w.life
	n, width := len(w.Blocks), l.width
	l.out = make([]uint64, n*width)
	in, kill := make([]uint64, n*width), make([]uint64, n*width)
	for i := range w.Stmts {
		at, list := int(w.block[i])*width, w.Accesses(i)
		for _, a := range list { // an instruction reads before it writes
			if bit := l.bit[a.Reg]; bit >= 0 && a.Read && kill[at+int(bit/64)]&(1<<(bit%64)) == 0 {
				in[at+int(bit/64)] |= 1 << (bit % 64)
			}
		}
		for _, a := range list {
			if bit := l.bit[a.Reg]; bit >= 0 && a.Write && !a.Kept {
				kill[at+int(bit/64)] |= 1 << (bit % 64)
			}
		}
	}
	for grown := true; grown; {
		grown = false
		for b := n - 1; b >= 0; b-- {
			out := l.out[b*width:][:width]
			for _, s := range w.Blocks[b].Succs {
				for i, word := range in[s*width:][:width] {
					out[i] |= word
				}
			}
			for i := range out {
				if more := out[i] &^ kill[b*width+i] &^ in[b*width+i]; more != 0 {
					in[b*width+i] |= more
					grown = true
				}
			}
		}
	}
}

// LiveOut reports whether a register is live at the end of a block.
func (w *Func) LiveOut(block int, r Reg) bool {
	l := w.live()
	bit := l.bit[r]
	return bit >= 0 && l.out[block*l.width+int(bit/64)]>>(bit%64)&1 != 0
}

// Pressure returns for each statement how many words are live in front of it. count says what a
// register counts; nil: Words.
func (w *Func) Pressure(count func(r Reg) int) []int32 {
	if count == nil {
		count = w.Words
	}
	l := w.live()
	weight := make([]int32, len(w.group))
	byBit := make([]int32, 64*l.width)
	for r, bit := range l.bit {
		weight[r] = int32(count(Reg(r)))
		if bit >= 0 {
			byBit[bit] = weight[r]
		}
	}
	out := make([]int32, len(w.Stmts))
	alive := make([]bool, len(w.group))
	for b := range w.Blocks {
		sum := int32(0)
		for i, word := range l.out[b*l.width:][:l.width] {
			for ; word != 0; word &= word - 1 {
				sum += byBit[64*i+bits.TrailingZeros64(word)]
			}
		}
		first, last := w.Blocks[b].First, w.Blocks[b].Last
		// alive is right for the registers that the block mentions, from the block's end on.
		for _, a := range w.access[w.first[first]:w.first[last]] {
			alive[a.Reg] = w.LiveOut(b, a.Reg)
		}
		for i := last - 1; i >= first; i-- {
			list := w.Accesses(i)
			for _, a := range list {
				if a.Write && !a.Kept && alive[a.Reg] {
					alive[a.Reg] = false
					sum -= weight[a.Reg]
				}
			}
			for _, a := range list {
				if a.Read && !alive[a.Reg] {
					alive[a.Reg] = true
					sum += weight[a.Reg]
				}
			}
			out[i] = sum
		}
	}
	return out
}

// Live lists the registers that are live in front of a statement, by number.
func (w *Func) Live(stmt int) (out []Reg) {
	const (
		dead = iota + 1
		live
	)
	b := w.Block(stmt)
	state := make([]uint8, len(w.group)) // 0: as at the end of the block
	for i := w.Blocks[b].Last - 1; i >= stmt; i-- {
		list := w.Accesses(i)
		for _, a := range list {
			if a.Write && !a.Kept {
				state[a.Reg] = dead
			}
		}
		for _, a := range list {
			if a.Read {
				state[a.Reg] = live
			}
		}
	}
	for r, s := range state {
		if s == live || s == 0 && w.LiveOut(b, Reg(r)) {
			out = append(out, Reg(r))
		}
	}
	return out
}

// Range calls yield for each statement in front of which a register is live. list holds the
// register's accesses, in order.
func (w *Func) Range(r Reg, list []Access, yield func(stmt int)) {
	at := 0
	for b := range w.Blocks {
		block := w.Blocks[b]
		from := at
		for at < len(list) && int(list[at].Stmt) < block.Last {
			at++
		}
		live := w.LiveOut(b, r)
		next := at - 1
		for i := block.Last - 1; i >= block.First && (live || next >= from); i-- {
			read := false
			for ; next >= from && int(list[next].Stmt) == i; next-- {
				read = read || list[next].Read
				live = live && !(list[next].Write && !list[next].Kept)
			}
			if live = live || read; live {
				yield(i)
			}
		}
	}
}
