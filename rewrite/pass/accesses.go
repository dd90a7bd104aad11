package pass

import (
	"bytes"
	"gnvcc/rewrite/ptx"
)

// Accesses to memory, as far as passes change them.

// An Access is a load or store that may be given a hint.
type Access struct {
	Stmt  int
	At    uint32 // offset in the function's text where the hint goes: behind .global or .global.nc
	sized bool   // has an L2 prefetch size
}

// Accesses lists the plain, unguarded accesses to global memory that have no policy, in the order
// of the text. base is "ld" or "st".
func Accesses(f *ptx.Func, base string) []Access {
	var out []Access
	for i := range f.Stmts {
		if a, ok := PlainAccess(f, i, base); ok && !a.sized {
			out = append(out, a)
		}
	}
	return out
}

// PlainAccess looks at one statement: a plain, unguarded access to global memory with no policy
// but, perhaps, an L2 prefetch size.
func PlainAccess(f *ptx.Func, i int, base string) (Access, bool) {
	s := f.Stmts[i]
	var a Access
	if s.Kind != ptx.Inst || s.Guarded {
		return a, false
	}
	op := f.Opcode(i)
	if len(op) < 3 || string(op[:2]) != base || op[2] != '.' {
		return a, false
	}
	a.Stmt = i
	at := uint32(2)
	for rest := op[2:]; len(rest) > 0; {
		n := bytes.IndexByte(rest[1:], '.') + 1
		if n == 0 {
			n = len(rest)
		}
		word := string(rest[1:n])
		at += uint32(n)
		rest = rest[n:]
		switch ptx.KindOf(word) {
		case ptx.WeakWord, ptx.VectorWord, ptx.TypeWord:
		case ptx.SpaceWord:
			if word != "global" {
				return a, false
			}
			a.At = s.Op + at
		case ptx.ReadOnlyWord:
			a.At = s.Op + at
		case ptx.PrefetchWord:
			a.sized = true
		default: // a policy, an ordering
			return a, false
		}
	}
	if a.At == 0 {
		return a, false
	}
	var room [4]ptx.Span
	ops := f.Operands(i, room[:0])
	if len(ops) != 2 { // a cache-policy operand
		return a, false
	}
	address := ops[1]
	if base == "st" {
		address = ops[0]
	}
	if _, _, ok := f.Address(address); !ok { // [a].unified
		return a, false
	}
	return a, true
}

// AccessSize is the number of bytes that an opcode of ld, st, atom or red is about; 0: not known.
func AccessSize(op []byte) int {
	size, lanes := 0, 1
	for _, word := range bytes.Split(op, []byte(".")) {
		switch w := string(word); w {
		case "v2", "v4", "v8":
			lanes = int(w[1] - '0')
		default:
			if n := BitsOf(w); n > PredBits {
				size = n / 8
			}
		}
	}
	return size * lanes
}

// WeakLoad reports whether a statement is a weak load from global memory that may be made relaxed as
// it stands: by one address, of a type that relaxed loads have, with hints that they take.
func WeakLoad(f *ptx.Func, i int) bool {
	if f.Stmts[i].Kind != ptx.Inst || string(f.Base(i)) != "ld" {
		return false
	}
	global := false
	for n, word := range bytes.Split(f.Opcode(i), []byte(".")) {
		switch word := string(word); ptx.KindOf(word) {
		case ptx.SpaceWord:
			global = word == "global"
		case ptx.PriorityWord, ptx.PrefetchWord:
		case ptx.VectorWord, ptx.TypeWord:
			if word == "v8" || word == "b128" {
				return false
			}
		default:
			if n > 0 {
				return false
			}
		}
	}
	if !global {
		return false
	}
	var room [4]ptx.Span
	ops := f.Operands(i, room[:0])
	if len(ops) != 2 {
		return false
	}
	_, _, ok := f.Address(ops[1])
	return ok
}
