package rewrite

import (
	"cmp"
	"slices"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// Numbers tells what a kernel reads through a pointer argument. Captures hold these words.
type Numbers string

const (
	notKnown  Numbers = ""         // it only copies, or reads several formats
	Floats    Numbers = "float"    // and nothing else
	Doubles   Numbers = "double"   //
	Halves    Numbers = "half"     // single or in pairs
	Bfloat16s Numbers = "bfloat16" //
	Integers  Numbers = "integer"  // also, or only, what is no floating-point number
	// floating point that is also cut to integers, which may be indices: other low bits are safe
	NearFloats  Numbers = "near float"
	NearDoubles Numbers = "near double"
	// integers that only scale or select: no address, and no loop's end, depends on them
	Words Numbers = "word"
	Bytes Numbers = "byte"
)

// Free reports whether others may stand in its place.
func (n Numbers) Free() bool { return n != notKnown && n != Integers }

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
// that floating-point instructions use, too, are those of math functions. What
// atomics change counts as integers.
func Reads(f *ptx.Func) map[Pointer]Numbers {
	return gathered(f, (*reader).access)
}

// Scalars tells by the same rule what a kernel's arguments of 32 and 64 bits are themselves, and
// such fields of arguments: Floats and Doubles, or not known. One whose address is taken is left out.
func Scalars(f *ptx.Func) map[Pointer]Numbers {
	return gathered(f, (*reader).scalar)
}

func gathered(f *ptx.Func, access func(*reader, int) (Pointer, evidence, bool)) map[Pointer]Numbers {
	out := map[Pointer]Numbers{}
	r, err := readerOf(f)
	if err != nil {
		return out
	}
	seen := map[Pointer]evidence{}
	for i := range f.Stmts {
		if p, e, ok := access(r, i); ok {
			seen[p] |= e
		}
	}
	for p, e := range seen {
		if n := e.verdict(); !r.addressed[p.Index] {
			out[p] = n
		}
	}
	return out
}

func readerOf(f *ptx.Func) (*reader, error) {
	w, err := ir.Of(f)
	if err != nil {
		return nil, err
	}
	r := &reader{Func: w, uses: make([][]int, w.Registers()), addressed: map[int]bool{}}
	for i := range f.Stmts {
		for _, a := range w.Accesses(i) {
			if a.Read {
				r.uses[a.Reg] = append(r.uses[a.Reg], i)
			}
		}
	}
	return r, nil
}

// Touched are the pointer arguments that a kernel reads and writes through. whole: these are all
// that it reads, as far as its own text tells; what others are, is for a check alone, as in Reads.
func Touched(f *ptx.Func) (read, written [][2]int, whole bool) {
	w, err := ir.Of(f)
	if err != nil {
		return nil, nil, false
	}
	for i := range f.Stmts {
		x := w.Inst(i)
		if x.Op == "call" || x.Op == "cp" {
			return nil, nil, false
		}
		if space := ptx.Space(w.Opcode(i)); space != "" && space != "global" {
			continue
		}
		for _, o := range x.Args {
			if !o.Address {
				continue
			}
			index, offset, ok := w.Parameter(o)
			switch {
			case !ok && x.Op != "st":
				return nil, nil, false
			case ok && x.Op == "st":
				written = append(written, [2]int{index, offset})
			case ok:
				read = append(read, [2]int{index, offset})
			}
		}
	}
	return read, written, true
}

// evidence is what uses of a value say about it.
type evidence uint16

const (
	single  evidence = 1 << iota // an instruction on 32-bit floating point
	double                       // on 64-bit
	half                         // on f16, or two of them
	brain                        // on bf16
	bits                         // a bit operation, addition or comparison of integers
	integer                      // what no floating-point number is used for
	cut                          // a conversion of a floating-point number to an integer
	word                         // an integer that only scales or selects, of 32 bits
	octet                        // of 8
)

func (e evidence) verdict() Numbers {
	switch {
	case e&integer != 0 || e == bits || e&cut != 0 && e&(half|brain) != 0:
		return Integers
	}
	return map[evidence]Numbers{single: Floats, double: Doubles, half: Halves, brain: Bfloat16s,
		single | cut: NearFloats, double | cut: NearDoubles, word: Words, octet: Bytes}[e&^bits]
}

// A reader looks at one kernel's accesses.
type reader struct {
	*ir.Func
	uses [][]int // by register: the statements that read it
	// parameters that are read in other ways than scalar sees
	addressed map[int]bool
}

// scalar says which argument a statement reads, and what the value is.
func (r *reader) scalar(i int) (p Pointer, e evidence, ok bool) {
	x := r.Inst(i)
	for _, o := range x.Args {
		p.Index = slices.IndexFunc(r.Params, func(v ptx.Variable) bool { return v.Name == o.Text })
		if p.Index < 0 {
			continue
		}
		narrow, wide := x.Has("f32", "b32"), x.Has("f64", "b64")
		if x.Op != "ld" || len(x.Args) != 2 || x.Has("v2", "v4") {
			r.addressed[p.Index] = true
			return p, 0, false
		}
		if p.Offset = o.Offset; !narrow && !wide {
			return p, integer, true
		}
		if e = typed(x) | r.results(i, map[ir.Reg]bool{}); e&cut != 0 {
			e = integer
		} else if wide && e&double != 0 {
			e &^= single // as in access
		} else if wide && e&single != 0 || narrow && e&double != 0 {
			e = integer
		}
		return p, e, true
	}
	return p, 0, false
}

// access says which pointer a statement reads through, and what the value is.
func (r *reader) access(i int) (p Pointer, e evidence, ok bool) {
	x, at := r.Inst(i), 1 // operand that is the address
	switch x.Op {
	case "ld", "ldu":
		if space := ptx.Space(r.Opcode(i)); space != "" && space != "global" {
			return p, 0, false
		}
	case "atom":
		e = integer
	case "red":
		e, at = integer, 0
	default:
		return p, 0, false
	}
	if len(x.Args) <= at {
		return p, 0, false
	}
	if p.Index, p.Offset, ok = r.Parameter(x.Args[at]); !ok || e == integer {
		return p, e, ok
	}
	return p, r.loaded(i), true
}

// loaded is what the uses of what a statement loads say of it.
func (r *reader) loaded(i int) (e evidence) {
	x := r.Inst(i)
	e |= typed(x) | r.results(i, map[ir.Reg]bool{})
	if e&double != 0 && x.Has("f64", "b64", "u64") {
		e &^= single // math functions look at a double's upper half
	}
	if e&single != 0 && x.Has("b16", "u16") {
		e ^= single | brain // 16 bits that are a float's upper half
	}
	if e.verdict() == Integers && r.harmless(i) {
		switch {
		case x.Has("b32", "u32", "s32"):
			e = word
		case x.Has("b8", "u8", "s8"):
			e = octet
		}
	}
	return e
}

// results gathers what the uses of what a statement writes say.
func (r *reader) results(i int, on map[ir.Reg]bool) (e evidence) {
	for _, a := range r.Accesses(i) {
		if a.Write {
			e |= r.used(a.Reg, on)
		}
	}
	return e
}

// formats are the types of instructions on floating-point numbers.
var formats = map[string]evidence{"f32": single, "tf32": single, "f64": double, "f16": half, "f16x2": half,
	"bf16": brain, "bf16x2": brain}

// typed is what an instruction's own type says.
func typed(x *ir.Inst) (e evidence) {
	for _, word := range x.Words {
		e |= formats[word]
	}
	return e
}

// used gathers what the uses of a register's value say.
func (r *reader) used(reg ir.Reg, on map[ir.Reg]bool) (e evidence) {
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
func (r *reader) use(i int, reg ir.Reg, on map[ir.Reg]bool) (e evidence) {
	x := r.Inst(i)
	for _, a := range r.Accesses(i) {
		if a.Reg == reg && slices.ContainsFunc(x.Args, func(o ir.Operand) bool {
			return r.Bytes(o.At)[0] == '[' && o.At.Start < a.At.Start && a.At.End < o.At.End
		}) {
			return integer // an address
		}
	}
	switch {
	case x.Op == "st" || len(x.Args) == 0:
		return 0 // a copy
	case x.Op == "mov" || x.Op == "selp" || x.Op == "shfl" && len(x.Args) > 1 && x.Args[1].Reg == reg:
		return r.results(i, on)
	case x.Op == "cvt":
		if e := converted(x); e&cut != 0 {
			return e
		}
		return converted(x) | r.results(i, on)&(integer|cut) // a half becomes an index by way of float
	case x.Op == "mma" && len(x.Words) > 4: // its last types are those of d, a, b, c
		for _, a := range r.Accesses(i) {
			k := slices.IndexFunc(x.Args, func(o ir.Operand) bool { return o.At.Start <= a.At.Start && a.At.End <= o.At.End })
			if a.Reg == reg && a.Read && k >= 0 && k < 4 {
				e |= cmp.Or(formats[x.Words[len(x.Words)-4+k]], integer)
			}
		}
		return e
	case typed(x) != 0:
		return typed(x)
	case plain[x.Op]:
		return bits
	}
	return integer
}

// converted is what a conversion says of its source, whose type stands last.
func converted(x *ir.Inst) evidence {
	if n := len(x.Words); n > 1 && formats[x.Words[n-1]] != 0 {
		if is := formats[x.Words[n-1]]; x.Words[n-2][0] != 's' && x.Words[n-2][0] != 'u' {
			return is
		} else if is == single || is == double {
			return is | cut
		}
	}
	return integer
}
