package dataflow

import (
	"fmt"
	"math/bits"
	"slices"

	"gnvcc/graph"
	"gnvcc/rewrite/ptx"
)

// Which registers hold a value that is still needed, point by point: backward data flow over the
// basic blocks, in bit sets.
//
// A register that is written before it is read, in the one block where it occurs, never crosses a
// block's edge and has no bit: those are most of what a compiler writes. A guarded write keeps the
// old value where the guard is false, so it does not end the life of what was there before. Names
// are looked up in the scope where they stand: inline assembly declares the same names over and
// over, and each of them is a register of its own.

// A Flow is the data flow of a body. It is void once the function is edited.
type Flow struct {
	Blocks []ptx.Block
	Loops  []int // around each block, 0: none

	f        *ptx.Func
	groups   []regGroup
	group    []int32 // by register
	accesses []Access
	first    []int32 // by statement: where its accesses begin; one more at the end
	global   []int32 // by register: its bit, -1: it stays within a block
	width    int     // words of a bit set
	out      []uint64
}

// An Access is one mention of a register by an instruction.
type Access struct {
	At          ptx.Span
	Stmt        int32
	Reg         int32 // number of the register, from 0
	Read, Write bool
	Kept        bool // written under a guard: the old value may stay
}

type regGroup struct {
	prefix, kind string
	count        int // 0: one register of exactly this name
	base         int32
	words        int8
}

// limitFlow bounds the bit sets of one body, bytes. The largest kernels of libraries that we know
// take some MB.
const limitFlow = 1 << 28

// Of works the data flow out. An error means that the body has no control flow that can be
// followed.
func Of(f *ptx.Func) (*Flow, error) {
	blocks, err := f.Blocks()
	if err != nil {
		return nil, err
	}
	w := &Flow{Blocks: blocks, f: f}
	if err := w.read(); err != nil {
		return nil, err
	}
	w.number()
	if size := 8 * 3 * w.width * len(blocks); size > limitFlow {
		return nil,
			fmt.Errorf("ptx: %s: %d blocks with %d registers between them are more than is followed", f.Name,
				len(blocks), 64*w.width)
	}
	w.live()
	w.nest()
	return w, nil
}

// read lists all accesses.
func (w *Flow) read() error {
	f := w.f
	w.first = make([]int32, len(f.Stmts)+1)
	w.accesses = make([]Access, 0, 3*len(f.Stmts))
	var sight ptx.Sight
	for i, s := range f.Stmts {
		w.first[i] = int32(len(w.accesses))
		switch s.Kind {
		case ptx.Open:
			sight.Open()
		case ptx.Close:
			sight.Close()
		case ptx.Decl:
			if string(f.Opcode(i)) != ".reg" {
				continue
			}
			vars, err := f.Declared(i)
			if err != nil {
				return err
			}
			for _, v := range vars {
				if err := sight.Declare(&v, len(w.groups)); err != nil {
					return err
				}
				g := regGroup{prefix: v.Name, kind: v.Type, count: v.Count, base: int32(len(w.group)),
					words: int8(wordsOf(&v))}
				for n := 0; n < max(v.Count, 1); n++ {
					w.group = append(w.group, int32(len(w.groups)))
				}
				w.groups = append(w.groups, g)
			}
		case ptx.Inst:
			f.Effects(i, func(at ptx.Span, read, write bool) {
				if g, n, ok := sight.Find(f.Bytes(at)); ok {
					w.accesses = append(w.accesses, Access{At: at, Stmt: int32(i), Reg: w.groups[g].base +
						int32(n), Read: read, Write: write, Kept: write && s.Guarded})
				}
			})
		}
	}
	w.first[len(f.Stmts)] = int32(len(w.accesses))
	return nil
}

// wordsOf is the number of 32-bit registers that a register takes on the machine: none for
// predicates, which have a file of their own, one for 16 bits.
func wordsOf(v *ptx.Variable) int {
	if v.Type == "pred" {
		return 0
	}
	return (v.Size() + 3) / 4
}

// number gives a bit to each register that may be live between blocks.
func (w *Flow) number() {
	const none = -2                     // not met yet
	home := make([]int32, len(w.group)) // the block of a register that stayed in one so far
	w.global = make([]int32, len(w.group))
	for r := range home {
		home[r], w.global[r] = none, -1
	}
	next := int32(0)
	for b := range w.Blocks {
		for _, a := range w.span(w.Blocks[b].First, w.Blocks[b].Last) {
			switch {
			case w.global[a.Reg] >= 0 || home[a.Reg] == int32(b):
			case home[a.Reg] == none && a.Write && !a.Read && !a.Kept && !w.readsToo(a):
				home[a.Reg] = int32(b)
			default:
				w.global[a.Reg] = next
				next++
			}
		}
	}
	w.width = (int(next) + 63) / 64
}

// readsToo reports whether the instruction of a write reads the register as well: its destination
// stands first.
func (w *Flow) readsToo(a Access) bool {
	for _, o := range w.Accesses(int(a.Stmt)) {
		if o.Reg == a.Reg && o.Read {
			return true
		}
	}
	return false
}

func (w *Flow) span(first, last int) []Access { return w.accesses[w.first[first]:w.first[last]] }

// live solves the data flow: what a block leaves live is what any block behind it wants.
func (w *Flow) live() {
	n, width := len(w.Blocks), w.width
	w.out = make([]uint64, n*width)
	if width == 0 {
		return
	}
	in, kill := make([]uint64, n*width), make([]uint64, n*width)
	for b := range w.Blocks {
		gen, end := in[b*width:][:width], kill[b*width:][:width]
		for i := w.Blocks[b].First; i < w.Blocks[b].Last; i++ {
			list := w.Accesses(i)
			for _, a := range list { // an instruction reads before it writes
				if bit := w.global[a.Reg]; bit >= 0 && a.Read && end[bit/64]&(1<<(bit%64)) == 0 {
					gen[bit/64] |= 1 << (bit % 64)
				}
			}
			for _, a := range list {
				if bit := w.global[a.Reg]; bit >= 0 && a.Write && !a.Kept {
					end[bit/64] |= 1 << (bit % 64)
				}
			}
		}
	}
	before := graph.Reverse(Successors(w.Blocks))
	waiting := make([]bool, n)
	stack := make([]int, 0, n)
	for b := range w.Blocks { // the last block is taken first
		stack, waiting[b] = append(stack, b), true
	}
	for len(stack) > 0 {
		b := last(stack)
		stack, waiting[b] = stack[:len(stack)-1], false
		out := w.out[b*width:][:width]
		for _, s := range w.Blocks[b].Succs {
			for i, word := range in[s*width:][:width] {
				out[i] |= word
			}
		}
		mine, end, grown := in[b*width:][:width], kill[b*width:][:width], false
		for i := range mine {
			if more := out[i] &^ end[i] &^ mine[i]; more != 0 {
				mine[i] |= more
				grown = true
			}
		}
		if grown {
			for _, p := range before[b] {
				if !waiting[p] {
					stack, waiting[p] = append(stack, p), true
				}
			}
		}
	}
}

// nest counts the loops around each block.
func (w *Flow) nest() {
	w.Loops = make([]int, len(w.Blocks))
	for _, l := range graph.Loops(Successors(w.Blocks)) {
		for _, b := range l.Body {
			w.Loops[b]++
		}
	}
}

// Registers is the number of registers that the body declares, in all scopes.
func (w *Flow) Registers() int { return len(w.group) }

// Accesses lists what a statement does to registers: its guard first, then its operands as they
// stand.
func (w *Flow) Accesses(stmt int) []Access { return w.accesses[w.first[stmt]:w.first[stmt+1]] }

// Symbols calls yield for each name in an instruction's operands that is no register of the body's,
// until it returns false.
func (w *Flow) Symbols(stmt int, yield func(ptx.Span) bool) {
	s := w.f.Stmts[stmt]
	w.f.Names(ptx.Span{Start: s.OpEnd, End: s.End}, func(n ptx.Span) bool {
		return slices.ContainsFunc(w.Accesses(stmt), func(a Access) bool { return a.At == n }) || yield(n)
	})
}

// Type is a register's type as declared: "b32", "f64", "pred".
func (w *Flow) Type(reg int32) string { return w.groups[w.group[reg]].kind }

// Words is the number of 32-bit registers that a register takes on the machine, 0 for a predicate.
func (w *Flow) Words(reg int32) int { return int(w.groups[w.group[reg]].words) }

// liveOut reports whether a register is live at the end of a block.
func (w *Flow) liveOut(block int, reg int32) bool {
	bit := w.global[reg]
	return bit >= 0 && w.out[block*w.width+int(bit/64)]>>(bit%64)&1 != 0
}

// Pressure tells for each statement how many words are live in front of it. count says what a
// register counts; nil: Words.
func (w *Flow) Pressure(count func(reg int32) int) []int32 {
	if count == nil {
		count = w.Words
	}
	weight := make([]int32, len(w.group))
	byBit := make([]int32, 64*w.width)
	for r, bit := range w.global {
		weight[r] = int32(count(int32(r)))
		if bit >= 0 {
			byBit[bit] = weight[r]
		}
	}
	out := make([]int32, len(w.f.Stmts))
	alive := make([]bool, len(w.group))
	for b := range w.Blocks {
		sum := int32(0)
		set := w.out[b*w.width:][:w.width]
		for i, word := range set {
			for ; word != 0; word &= word - 1 {
				sum += byBit[64*i+bits.TrailingZeros64(word)]
			}
		}
		// alive is right for the registers that the block mentions, from the block's end on.
		for _, a := range w.span(w.Blocks[b].First, w.Blocks[b].Last) {
			alive[a.Reg] = w.liveOut(b, a.Reg)
		}
		for i := w.Blocks[b].Last - 1; i >= w.Blocks[b].First; i-- {
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
func (w *Flow) Live(stmt int) []int32 {
	b, _ := slices.BinarySearchFunc(w.Blocks, stmt, func(b ptx.Block, stmt int) int {
		if b.Last <= stmt {
			return -1
		}
		return 1
	})
	const (
		dead = iota + 1
		live
	)
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
	var out []int32
	for r, s := range state {
		if s == live || s == 0 && w.liveOut(b, int32(r)) {
			out = append(out, int32(r))
		}
	}
	return out
}

// Range calls yield for each statement in front of which a register is live. list holds the
// register's accesses, in order.
func (w *Flow) Range(reg int32, list []Access, yield func(stmt int)) {
	at := 0
	for b := range w.Blocks {
		block := w.Blocks[b]
		from := at
		for at < len(list) && int(list[at].Stmt) < block.Last {
			at++
		}
		live := w.liveOut(b, reg)
		if from == at {
			if live { // and so all through the block
				for i := block.First; i < block.Last; i++ {
					yield(i)
				}
			}
			continue
		}
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
