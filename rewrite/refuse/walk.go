package refuse

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// Fixed values followed through branches and loops: x / i in a loop that begins at i = 0, a divisor
// that a branch chooses. The kernel is walked with what is known of its registers. A branch on
// something unknown is followed both ways; what a loop with such a way out changes is unknown from
// its second round on, for no compiler knows of how many rounds it has. Not followed are memory and
// called functions.

// steps bounds a walk, some ten milliseconds; what lies behind it is not seen.
const steps = 1 << 15

// A walk is one way through a function.
type walk struct {
	block int
	known map[ir.Reg]int64 // registers; a predicate is 0 or 1
	left  map[int]int      // branches on something unknown, by the block: the way not taken
}

// walks looks for an operation without a result on all ways, of which bad says why it has none;
// ended, if it has seen them all.
func (c computation) walks(bad func(i int, value values) error) (
	ended bool, err error) {
	blocks := c.Blocks
	todo := []walk{{known: map[ir.Reg]int64{}, left: map[int]int{}}}
	seen := map[[2]uint64]bool{}
	n := 0
	for len(todo) > 0 && n < steps {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		at := [2]uint64{uint64(w.block), digest(w.known)}
		if n += 1 + len(w.known)/8; seen[at] {
			continue
		}
		seen[at] = true
		b := blocks[w.block]
		for i := b.First; i < b.Last; i++ {
			if c.Stmts[i].Kind != ptx.Inst {
				continue
			}
			n++
			runs, certain := c.runs(i, w.known)
			if certain && !runs {
				continue
			}
			value := func(o ir.Operand) (int64, bool) { return c.known(w.known, o) }
			if certain {
				if err := bad(i, value); err != nil {
					return true, err
				}
			}
			v, is := int64(0), false
			if certain {
				v, is = c.compute(i, value)
			}
			ir.Store(c.Func, i, w.known, v, is)
		}
		todo = append(todo, c.onward(blocks, w)...)
	}
	return len(todo) == 0, nil
}

// digest is a number for what is known.
func digest(known map[ir.Reg]int64) (sum uint64) {
	var b []byte
	for r, v := range known {
		b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(b[:0], uint32(r)), uint64(v))
		of := sha256.Sum256(b) // FNV's sums of two registers that count together are often the same
		sum += binary.LittleEndian.Uint64(of[:])
	}
	return sum
}

// onward are the ways out of a block.
func (c computation) onward(blocks []ptx.Block, w walk) (out []walk) {
	b := blocks[w.block]
	succs := b.Succs
	if len(succs) == 2 {
		runs, certain := c.runs(b.Last-1, w.known)
		succs = c.Onward(w.block, runs, certain)
	}
	for k, to := range succs {
		next := walk{block: to, known: maps.Clone(w.known), left: maps.Clone(w.left)}
		if len(succs) > 1 {
			next.left[w.block] = succs[1-min(k, 1)]
		}
		if to <= w.block {
			for at, other := range next.left {
				if at >= to && at <= w.block && (other < to || other > w.block) {
					c.forget(blocks[to].First, b.Last, next.known)
					break
				}
			}
		}
		out = append(out, next)
	}
	return out
}

func (c computation) runs(i int, known map[ir.Reg]int64) (runs, certain bool) {
	return c.Runs(i, func(r ir.Reg) (int64, bool) { v, is := known[r]; return v, is })
}

// forget is for what is written between two statements.
func (c computation) forget(first, last int, known map[ir.Reg]int64) {
	for i := first; i < last; i++ {
		for _, a := range c.Accesses(i) {
			if a.Write {
				delete(known, a.Reg)
			}
		}
	}
}

// known is an operand's value on a way.
func (c computation) known(known map[ir.Reg]int64, o ir.Operand) (int64, bool) {
	if o.Reg == ir.None {
		return c.value(o)
	}
	v, certain := known[o.Reg]
	return v, certain
}
