package dataflow

import (
	"bytes"
	"fmt"
	"strings"

	"gnvcc/rewrite/ptx"
)

// Does a kernel see its launch shape? Many kernels use thread and block numbers only as one index
// over the whole grid,
//
//	i = ctaid.x * ntid.x + tid.x        and        step = ntid.x * nctaid.x
//
// The same number of threads in blocks of another size computes the same i and step for the same
// set of threads. Here that is shown by forward data flow: every register gets a kind, and a thread
// or block number that is used in any other way ends it.
//
// What is not known to be harmless is refused: an instruction that is not in the list below, a form
// of a listed one that is not expected, a name that nothing has written. So a new instruction of
// PTX costs a kernel, never a wrong proof.

// An IndexUse says in which dimensions a kernel uses the index over the whole grid.
type IndexUse struct {
	Dims [3]bool
}

// kind of a register's value. Of the launch's shape only whole kinds may act.
type shapeKind uint8

const (
	unset     shapeKind = iota
	whole               // the same for any shape with as many threads in each dimension
	tid                 // %tid.D
	tidPlus             // that and whole values
	ctaid               // %ctaid.D
	ntid                // %ntid.D
	nctaid              // %nctaid.D
	first               // %ctaid.D * %ntid.D: the index of the block's first thread
	firstPlus           // that and whole values
	mixed               // anything else that the shape acts on
)

type shaped struct {
	kind shapeKind
	dim  uint8
}

// IndexOnly tells how an entry uses the launch's shape, or why it may see more of it than the index
// over the grid. It holds for launches of fewer than 2^31 threads in each dimension: beyond that
// products wrap.
//
// Integers may be added up in memory by atomics whose results nobody reads: they come out the same
// in any order. All else by which threads see each other is refused, but for plain loads and
// stores, whose races are the kernel's own.
func IndexOnly(m *ptx.Module, entry string) (IndexUse, error) {
	reach, err := m.Reach(entry)
	if err != nil {
		return IndexUse{}, err
	}
	for _, g := range reach.Globals {
		if g.Space == "shared" {
			return IndexUse{}, fmt.Errorf("it uses shared memory (%s)", g.Name)
		}
	}
	var use IndexUse
	for i, f := range reach.Funcs {
		if ptx.OfDriver(f.Name) && !f.Body { // it knows no shape but in the message of a failed assert
			continue
		}
		one, err := indexOnly(f)
		switch {
		case err != nil && i > 0:
			return IndexUse{}, fmt.Errorf("it calls %s: %w", f.Name, err)
		case err != nil:
			return IndexUse{}, err
		}
		for d := range use.Dims {
			use.Dims[d] = use.Dims[d] || one.Dims[d]
		}
	}
	return use, nil
}

// indexOnly looks at one function. What it is given and what it gives back goes through memory of
// its own (.param), which holds whole values only, since nothing else may be stored; so that
// functions need not be looked at together.
func indexOnly(f *ptx.Func) (IndexUse, error) {
	if !f.Body {
		return IndexUse{}, fmt.Errorf("its code stands elsewhere")
	}
	for _, vars := range [][]ptx.Variable{f.Params, f.Returns} {
		for _, v := range vars {
			if v.Space != "param" {
				return IndexUse{}, fmt.Errorf("%s is handed over in a register", v.Name)
			}
		}
	}
	s := &shapes{f: f, of: map[string]shaped{}, written: map[string]bool{}, read: map[string]bool{}}
	if err := s.look(); err != nil {
		return IndexUse{}, err
	}
	Forward(f, s.of, shaped.join, func(i int) shaped {
		if s.follows(i) {
			return s.value(i)
		}
		return shaped{kind: whole} // what memory holds is nobody's shape; addresses act by themselves
	})
	// A second look at what the kinds came to: nothing but whole values may act.
	for i := range f.Stmts {
		if f.Stmts[i].Kind == ptx.Inst {
			if err := s.acts(i); err != nil {
				return IndexUse{}, err
			}
		}
	}
	return s.use, nil
}

type shapes struct {
	f *ptx.Func
	// by register; registers of one name in several scopes are taken together
	of            map[string]shaped
	written, read map[string]bool
	declared      map[string]bool // registers, where they are declared one by one
	use           IndexUse
}

// look refuses what no data flow could allow, and notes which names are written and read.
func (s *shapes) look() error {
	registers, err := s.f.Registers()
	if err != nil {
		return err
	}
	s.declared = map[string]bool{}
	for _, r := range registers {
		s.declared[r.Name] = true
	}
	for i, st := range s.f.Stmts {
		switch st.Kind {
		case ptx.Decl:
			if string(s.f.Opcode(i)) == ".shared" {
				return fmt.Errorf("it uses shared memory")
			}
		case ptx.Inst:
			s.f.Effects(i, func(n ptx.Span, read, write bool) {
				name := string(s.f.Bytes(n))
				s.read[name] = s.read[name] || read
				s.written[name] = s.written[name] || write
			})
		}
	}
	for i, st := range s.f.Stmts {
		if st.Kind != ptx.Inst {
			continue
		}
		if why := s.refused(i); why != "" {
			return fmt.Errorf("it has %s (%s)", why, s.f.Opcode(i))
		}
	}
	return nil
}

// Computes tells of the instructions whose results are a function of their operands alone, the same
// in every thread, at any time.
func Computes(word string) bool {
	switch word {
	case "mov", "cvt", "cvta", "add", "sub", "mul", "mad", "fma", "div", "rem", "abs", "neg",
		"min", "max", "and", "or", "xor", "not", "cnot", "shl", "shr", "shf", "lop3", "prmt",
		"bfe", "bfi", "bfind", "brev", "clz", "popc", "fns", "sad", "mul24", "mad24", "dp4a",
		"dp2a", "setp", "set", "selp", "slct", "testp", "copysign", "rcp", "sqrt", "rsqrt", "sin",
		"cos", "lg2", "ex2", "tanh", "isspacep", "szext", "bmsk":
		return true
	}
	return false
}

// crossing names, for people, the instructions by which threads see each other or where they run;
// "" for all others.
func crossing(base string) string {
	switch base {
	case "bar", "barrier":
		return "a barrier"
	case "vote":
		return "a vote"
	case "shfl":
		return "a shuffle"
	case "match":
		return "a match"
	case "activemask":
		return "the active mask"
	case "redux":
		return "a warp's reduction"
	case "elect":
		return "an election"
	case "atom", "red":
		return "an atomic"
	case "mbarrier":
		return "an mbarrier"
	case "wmma", "mma", "ldmatrix", "stmatrix", "movmatrix", "wgmma":
		return "a warp's matrix"
	case "cp":
		return "an asynchronous copy"
	case "griddepcontrol":
		return "an overlapping grid"
	case "mapa", "getctarank":
		return "a cluster"
	case "setmaxnreg":
		return "registers traded by warps"
	case "membar", "fence":
		return "a fence"
	case "brx":
		return "a table of branches"
	case "nanosleep":
		return "a wait"
	}
	return ""
}

// Carries tells of instructions that leave or take a carry, in a register that has no name. They
// act on whole values only.
func Carries(op []byte, base string) bool {
	return ptx.HasModifier(op, "cc") || base == "addc" || base == "subc" || base == "madc"
}

// follows tells whether the kind of an instruction's result is that of its operands.
func (s *shapes) follows(i int) bool {
	base := string(s.f.Base(i))
	return Computes(base) && !Carries(s.f.Opcode(i), base)
}

// refused says why an instruction can't be followed, "" if it can.
func (s *shapes) refused(i int) string {
	op, base := s.f.Opcode(i), string(s.f.Base(i))
	for word := range bytes.SplitSeq(op, []byte(".")) {
		if bytes.HasPrefix(word, []byte("shared")) {
			return "shared memory"
		}
	}
	if Carries(op, base) {
		return ""
	}
	switch base {
	case "bra", "ret", "exit", "trap", "prefetch", "prefetchu":
		return ""
	case "call":
		if s.f.CallsByPointer(i) { // or hands over a register
			return "a call of a function that is not known, or with registers"
		}
		return ""
	case "ld", "ldu", "st":
		if ptx.Strong(op) || ptx.HasAny(op, "async", "bulk") {
			return "an access by which threads may tell each other something"
		}
		return ""
	case "red", "atom":
		if s.sums(i) {
			return ""
		}
	}
	switch {
	case Computes(base):
		return ""
	case crossing(base) != "":
		return crossing(base)
	}
	return "an instruction that is not followed"
}

// sums tells of an atomic that comes out the same in whatever order threads get to it: on integers,
// of an operation that commutes with itself, by all threads of the grid, and with a result that
// nobody reads. (One of scope cta is atomic among the threads of a block only, which would be
// others.)
func (s *shapes) sums(i int) bool {
	op := strings.Split(string(s.f.Opcode(i)), ".")
	if op[0] == "atom" {
		ops := s.f.Operands(i, nil)
		if len(ops) == 0 {
			return false
		}
		to := string(s.f.Bytes(ops[0]))
		if to != "_" && (s.read[to] || !s.written[to]) {
			return false
		}
	}
	does, typed := false, false
	for _, word := range op[1:] {
		switch word {
		case "relaxed", "gpu", "sys", "global":
		case "add", "and", "or", "xor", "min", "max":
			does = true
		case "u32", "s32", "b32", "u64", "s64", "b64":
			typed = true
		default:
			return false
		}
	}
	return does && typed
}

func (a shaped) join(b shaped) shaped {
	switch {
	case a.kind == unset:
		return b
	case b.kind == unset || a == b:
		return a
	}
	return shaped{kind: mixed}
}

// special is the kind of a special register that the shape is made of, unset for all others. PTX
// has them as vectors, too, which are refused.
func special(register string) shapeKind {
	switch register {
	case "%tid":
		return tid
	case "%ctaid":
		return ctaid
	case "%ntid":
		return ntid
	case "%nctaid":
		return nctaid
	}
	return unset
}

// numberOf is the kind of a number of the launch's shape in one dimension, unset for other names.
func numberOf(word string) shaped {
	register, axis, _ := strings.Cut(word, ".")
	if d := strings.Index("xyz", axis); len(axis) == 1 && d >= 0 {
		return shaped{special(register), uint8(d)}
	}
	return shaped{}
}

// OfShape tells whether a name is a number that the launch's shape is made of, in one dimension.
func OfShape(word string) bool { return numberOf(word).kind != unset }

// name is the kind of what a name holds; an error where nobody knows.
func (s *shapes) name(word string) (shaped, error) {
	if s.written[word] {
		return s.of[word], nil
	}
	if number := numberOf(word); number.kind != unset {
		return number, nil
	}
	if strings.HasPrefix(word, "%") || s.declared[word] {
		return shaped{kind: mixed}, fmt.Errorf("it reads %s", word)
	}
	return shaped{kind: whole}, nil // a variable's address, a parameter, a constant of PTX
}

// value is the kind of what an instruction computes.
func (s *shapes) value(i int) shaped {
	f := s.f
	var in []shaped
	exact := true // each operand is one name or a number
	for n, o := range f.Operands(i, nil) {
		names := 0
		var v shaped
		f.Names(o, func(name ptx.Span) bool {
			names++
			v, _ = s.name(string(f.Bytes(name)))
			exact = exact && name == o
			if n > 0 {
				in = append(in, v)
			}
			return true
		})
		if n > 0 && names == 0 {
			in = append(in, shaped{kind: whole})
		}
		exact = exact && names <= 1
	}
	all := shaped{kind: whole}
	for _, v := range in {
		switch {
		case v.kind == unset:
			return shaped{} // a loop's register, not written yet: seen again in the next round
		case v.kind != whole:
			all = shaped{kind: mixed}
		}
	}
	if all.kind == mixed && exact {
		return s.through(string(f.Opcode(i)), in)
	}
	return all
}

// through is the kind of what is computed of values that are not all whole. Numbers of threads and
// blocks may be carried on in 32 and 64 bits, without saturation, as no half of a product but the
// lower one.
func (s *shapes) through(op string, in []shaped) shaped {
	v, ok := shaped{}, false
	switch op {
	case "mov.u32", "mov.s32", "mov.b32", "mov.u64", "mov.s64", "mov.b64",
		"cvt.u64.u32", "cvt.s64.s32", "cvt.u64.s32", "cvt.s64.u32", "cvt.u32.u64", "cvt.s32.s64",
		"cvt.u32.s64", "cvt.s32.u64", "cvt.u32.u32", "cvt.s32.s32", "cvt.u64.u64", "cvt.s64.s64":
		// a sum may wrap in one shape and not in another: it stays in its width
		if k := in[0].kind; len(in) == 1 && (k != tidPlus && k != firstPlus || op[0] == 'm') {
			return in[0]
		}
	case "mul.lo.u32", "mul.lo.s32", "mul.lo.u64", "mul.lo.s64", "mul.wide.u32", "mul.wide.s32":
		if len(in) == 2 {
			v, ok = product(in[0], in[1])
		}
	case "mad.lo.u32", "mad.lo.s32", "mad.lo.u64", "mad.lo.s64", "mad.wide.u32", "mad.wide.s32":
		if len(in) == 3 {
			if v, ok = product(in[0], in[1]); ok {
				v, ok = s.sum(v, in[2])
			}
		}
	case "add.u32", "add.s32", "add.u64", "add.s64":
		if len(in) == 2 {
			v, ok = s.sum(in[0], in[1])
		}
	}
	if !ok {
		return shaped{kind: mixed}
	}
	return v
}

func product(a, b shaped) (shaped, bool) {
	if a.kind > b.kind {
		a, b = b, a
	}
	switch {
	case a.kind == ctaid && b.kind == ntid && a.dim == b.dim:
		return shaped{first, a.dim}, true
	case a.kind == ntid && b.kind == nctaid && a.dim == b.dim:
		return shaped{kind: whole}, true
	case a.kind == whole && b.kind == whole:
		return a, true
	}
	return shaped{}, false
}

func (s *shapes) sum(a, b shaped) (shaped, bool) {
	if a.kind > b.kind {
		a, b = b, a
	}
	switch {
	case (a.kind == tid || a.kind == tidPlus) && (b.kind == first || b.kind == firstPlus) &&
		a.dim == b.dim:
		s.use.Dims[a.dim] = true
		return shaped{kind: whole}, true
	case a.kind == whole:
		switch b.kind {
		case tid:
			b.kind = tidPlus
		case first:
			b.kind = firstPlus
		}
		return b, b.kind == whole || b.kind == tidPlus || b.kind == firstPlus
	}
	return shaped{}, false
}

// acts refuses statements on which anything but whole values act: guards, addresses, stored values;
// and those that compute what can't be followed.
func (s *shapes) acts(i int) error {
	f := s.f
	follows := s.follows(i)
	var guard []byte
	if g, _ := f.Guard(i); g != nil {
		guard = g
	}
	var bad error
	say := func(name string) {
		text := strings.TrimSpace(string(f.Bytes(ptx.Span{Start: f.Stmts[i].Start, End: f.Stmts[i].End})))
		bad = fmt.Errorf("%s acts on more than the index over the grid (%s)", name, text)
	}
	f.Effects(i, func(n ptx.Span, read, write bool) {
		name := string(f.Bytes(n))
		if bad != nil || name == "_" {
			return
		}
		v, err := s.name(name)
		switch {
		case err != nil && read:
			bad = err
		case write && (v.kind == mixed || v.kind == unset):
			say(name)
		case read && v.kind != whole && (!follows || string(guard) == name):
			say(name)
		}
	})
	return bad
}
