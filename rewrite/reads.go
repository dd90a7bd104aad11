package rewrite

import (
	"strconv"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// Numbers tells what a kernel reads through a pointer argument.
type Numbers int

const (
	notKnown Numbers = iota // it only copies, or reads both widths
	Floats                  // 32-bit floating point, and nothing else
	Doubles                 // 64-bit
	Integers                // also, or only, what is no floating-point number
)

// A Pointer is an argument, or a field of one, that holds an address.
type Pointer struct {
	Index  int // of the parameter
	Offset int // bytes
}

// Reads tells what a kernel reads through each of its pointer arguments, as far as that can be seen
// in its own text. A check on other data than the program's fills memory that is read as floating
// point alone; it is a check, so that a mistake here costs time, or a recipe, but no bits.
//
//	ld.global.b32 %r1, [%rd4];   add.f32 %r3, %r1, %r2;      floats: registers have no type of their own in newer PTX
//	ld.global.u32 %r1, [%rd4];   mul.wide.s32 %rd6, %r1, 4;  integers
//
// What a loaded value is, its uses tell, through moves and selections. Bit operations on a value
// that floating-point instructions use, too, are those of math functions. A value that is converted
// to an integer may be an index: it counts as one, and so does what atomics change.
func Reads(f *ptx.Func) map[Pointer]Numbers {
	r := reader{f: f, origins: dataflow.OriginsOf(f), uses: map[string][]int{}}
	for i := range f.Stmts {
		f.Effects(i, func(name ptx.Span, read, _ bool) {
			if reg := string(f.Bytes(name)); read && (reg[0] == '%' || len(r.origins.Defs(reg)) > 0) {
				r.uses[reg] = append(r.uses[reg], i)
			}
		})
	}
	out := map[Pointer]Numbers{}
	seen := map[Pointer]evidence{}
	for i := range f.Stmts {
		if p, e, ok := r.access(i); ok {
			seen[p] |= e
		}
	}
	for p, e := range seen {
		out[p] = e.verdict()
	}
	return out
}

// Touched are the pointer arguments that a kernel reads and writes through. whole: these are all
// that it reads, as far as its own text tells; what others are, is for a check alone, as in Reads.
func Touched(f *ptx.Func) (read, written [][2]int, whole bool) {
	origins := dataflow.OriginsOf(f)
	for i := range f.Stmts {
		op := f.Opcode(i)
		if string(f.Base(i)) == "call" || string(f.Base(i)) == "cp" {
			return nil, nil, false
		}
		if space := ptx.Space(op); space != "" && space != "global" {
			continue
		}
		for _, o := range f.Operands(i, nil) {
			base, _, ok := f.Address(o)
			if !ok {
				continue
			}
			index, offset, ok := origins.Parameter(string(base))
			n, _ := strconv.Atoi(index)
			at, _ := strconv.Atoi(offset)
			switch {
			case !ok && string(f.Base(i)) != "st":
				return nil, nil, false
			case ok && string(f.Base(i)) == "st":
				written = append(written, [2]int{n, at})
			case ok:
				read = append(read, [2]int{n, at})
			}
		}
	}
	return read, written, true
}

// evidence is what uses of a value say about it.
type evidence uint8

const (
	single  evidence = 1 << iota // an instruction on 32-bit floating point
	double                       // on 64-bit
	bits                         // a bit operation, addition or comparison of integers
	integer                      // what no floating-point number is used for
)

func (e evidence) verdict() Numbers {
	switch {
	case e&integer != 0 || e == bits:
		return Integers
	case e&(single|double) == single:
		return Floats
	case e&(single|double) == double:
		return Doubles
	}
	return notKnown
}

// A reader looks at one kernel's accesses.
type reader struct {
	f       *ptx.Func
	origins *dataflow.Origins
	uses    map[string][]int // by register: the statements that read it
}

// access tells which pointer a statement reads through, and what the value is.
func (r *reader) access(i int) (p Pointer, e evidence, ok bool) {
	f, op := r.f, r.f.Opcode(i)
	at := 1 // operand that is the address
	switch string(f.Base(i)) {
	case "ld", "ldu":
		if space := ptx.Space(op); space != "" && space != "global" {
			return p, 0, false
		}
	case "atom":
		e = integer
	case "red":
		e, at = integer, 0
	default:
		return p, 0, false
	}
	ops := f.Operands(i, nil)
	if len(ops) <= at {
		return p, 0, false
	}
	base, _, _ := f.Address(ops[at])
	index, offset, ok := r.origins.Parameter(string(base))
	if !ok {
		return p, 0, false
	}
	p.Index, _ = strconv.Atoi(index)
	p.Offset, _ = strconv.Atoi(offset)
	if e == integer {
		return p, e, true
	}
	e |= typed(op)
	f.Names(ops[0], func(n ptx.Span) bool {
		e |= r.used(string(f.Bytes(n)), map[string]bool{})
		return true
	})
	if e&double != 0 && (ptx.HasModifier(op, "f64") || ptx.HasModifier(op, "b64") ||
		ptx.HasModifier(op, "u64")) {
		e &^= single // math functions look at a double's upper half
	}
	return p, e, true
}

// typed is what an instruction's own type says.
func typed(op []byte) evidence {
	switch {
	case ptx.HasModifier(op, "f32"):
		return single
	case ptx.HasModifier(op, "f64"):
		return double
	}
	return 0
}

// used gathers what the uses of a register's value say.
func (r *reader) used(reg string, on map[string]bool) (e evidence) {
	if on[reg] {
		return 0
	}
	on[reg] = true
	for _, i := range r.uses[reg] {
		e |= r.use(i, reg, on)
	}
	return e
}

// plain are instructions on integers that math functions use on the bits of floating-point numbers,
// too.
var plain = map[string]bool{"and": true, "or": true, "xor": true, "not": true, "lop3": true,
	"shl": true, "shr": true, "add": true, "sub": true, "setp": true,
	"set": true, "min": true, "max": true, "neg": true, "abs": true, "bfe": true, "bfi": true,
	"prmt": true, "shf": true}

// use is what one statement says of a value that it reads.
func (r *reader) use(i int, reg string, on map[string]bool) (e evidence) {
	f, op := r.f, r.f.Opcode(i)
	ops := f.Operands(i, nil)
	base := string(f.Base(i))
	for _, o := range ops {
		if f.Bytes(o)[0] == '[' && r.names(o, reg) {
			return integer // an address
		}
	}
	through := func() (e evidence) {
		f.Names(ops[0], func(n ptx.Span) bool {
			e |= r.used(string(f.Bytes(n)), on)
			return true
		})
		return e
	}
	switch {
	case base == "st" || len(ops) == 0:
		return 0 // a copy
	case base == "mov" || base == "selp" || base == "shfl" && len(ops) > 1 &&
		string(f.Bytes(ops[1])) == reg:
		return through()
	case base == "cvt":
		return converted(op)
	case ptx.HasModifier(op, "f16") || ptx.HasModifier(op, "f16x2") || ptx.HasModifier(op, "bf16") ||
		ptx.HasModifier(op, "bf16x2"):
		return integer // packed: not words
	case typed(op) != 0:
		return typed(op)
	case plain[base]:
		return bits
	}
	return integer
}

// names tells whether an operand names a register.
func (r *reader) names(o ptx.Span, reg string) (found bool) {
	r.f.Names(o, func(n ptx.Span) bool {
		found = string(r.f.Bytes(n)) == reg
		return !found
	})
	return found
}

// converted is what a conversion says of its source, whose type stands last.
func converted(op []byte) evidence {
	parts := strings.Split(string(op), ".")
	from := parts[len(parts)-1]
	to := ""
	if len(parts) > 1 {
		to = parts[len(parts)-2]
	}
	if from != "f32" && from != "f64" || to == "" || to[0] == 's' || to[0] == 'u' {
		return integer
	}
	if from == "f32" {
		return single
	}
	return double
}
