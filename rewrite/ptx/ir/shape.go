package ir

import (
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

// A shapeKind is the kind of a register's value. Of the launch's shape only whole kinds may act.
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

// IndexOnly says why an entry may see more of the launch's shape than the index over the grid, nil
// if it doesn't. It holds for launches of fewer than 2^31 threads in each dimension: beyond that
// products wrap.
//
// Integers may be added up in memory by atomics whose results nothing reads: they come out the same
// in any order. All else by which threads see each other is refused, but for plain loads and
// stores, whose races are the kernel's own.
func IndexOnly(m *ptx.Module, entry string) error {
	reach, err := m.Reach(entry)
	if err != nil {
		return err
	}
	for _, g := range reach.Globals {
		if g.Space == "shared" {
			return fmt.Errorf("it uses shared memory (%s)", g.Name)
		}
	}
	for i, f := range reach.Funcs {
		if ptx.OfDriver(f.Name) && !f.Body { // it knows no shape but in the message of a failed assert
			continue
		}
		switch err := indexOnly(f); {
		case err != nil && i > 0:
			return fmt.Errorf("it calls %s: %w", f.Name, err)
		case err != nil:
			return err
		}
	}
	return nil
}

// indexOnly looks at one function. What it is given and what it gives back goes through memory of
// its own (.param), which holds whole values only, since nothing else may be stored; so that
// functions need not be looked at together.
func indexOnly(f *ptx.Func) error {
	if !f.Body {
		return fmt.Errorf("its code stands elsewhere")
	}
	for _, vars := range [][]ptx.Variable{f.Params, f.Returns} {
		for _, v := range vars {
			if v.Space != "param" {
				return fmt.Errorf("%s is handed over in a register", v.Name)
			}
		}
	}
	w, err := Of(f)
	if err != nil {
		return err
	}
	s := &shapes{Func: w, of: make([]shaped, w.Registers())}
	for i, st := range f.Stmts {
		switch {
		case st.Kind == ptx.Decl && string(f.Opcode(i)) == ".shared":
			return fmt.Errorf("it uses shared memory")
		case st.Kind == ptx.Inst:
			if why := s.refused(i); why != "" {
				return fmt.Errorf("it has %s (%s)", why, f.Opcode(i))
			}
		}
	}
	Forward(w, s.of, shaped.join, s.value)
	// A second look at what the kinds came to: nothing but whole values may act.
	for i := range f.Stmts {
		if err := s.acts(i); err != nil {
			return err
		}
	}
	return nil
}

// shapes are the kinds of a function's registers.
type shapes struct {
	*Func
	of []shaped
}

// crossing names, for people, the instructions by which threads see each other or where they run.
var crossing = map[string]string{"bar": "a barrier", "barrier": "a barrier", "vote": "a vote",
	"shfl": "a shuffle", "match": "a match", "activemask": "the active mask",
	"redux": "a warp's reduction", "elect": "an election", "atom": "an atomic", "red": "an atomic",
	"mbarrier": "an mbarrier", "wmma": "a warp's matrix", "mma": "a warp's matrix",
	"ldmatrix": "a warp's matrix", "stmatrix": "a warp's matrix", "movmatrix": "a warp's matrix",
	"wgmma": "a warp's matrix", "cp": "an asynchronous copy", "griddepcontrol": "an overlapping grid",
	"mapa": "a cluster", "getctarank": "a cluster", "setmaxnreg": "registers traded by warps",
	"membar": "a fence", "fence": "a fence", "brx": "a table of branches", "nanosleep": "a wait"}

// follows reports whether the kind of an instruction's result is that of its operands. Carries act
// on whole values only.
func (s *shapes) follows(x *Inst) bool { return Computes(x.Op) && !x.Carries() }

// refused says why an instruction can't be followed, "" if it can.
func (s *shapes) refused(i int) string {
	op, x := s.Opcode(i), s.Inst(i)
	for _, word := range x.Words {
		if strings.HasPrefix(word, "shared") {
			return "shared memory"
		}
	}
	if x.Carries() {
		return ""
	}
	switch x.Op {
	case "bra", "ret", "exit", "trap", "prefetch", "prefetchu":
		return ""
	case "call":
		if s.CallsByPointer(i) { // or hands over a register
			return "a call of a function that is not known, or with registers"
		}
		return ""
	case "ld", "ldu", "st":
		if ptx.Strong(op) || x.Has("async", "bulk") {
			return "an access by which threads may tell each other something"
		}
		return ""
	case "red", "atom":
		if s.Sums(x) {
			return ""
		}
	}
	switch {
	case Computes(x.Op):
		return ""
	case crossing[x.Op] != "":
		return crossing[x.Op]
	}
	return "an instruction that is not followed"
}

// Sums reports whether an atomic comes out the same in whatever order threads get to it: on
// integers, of an operation that commutes with itself, by all threads of the grid, and with a
// result that nothing reads. (One of scope cta is atomic among the threads of a block only, which
// would be others.)
func (w *Func) Sums(x *Inst) bool {
	if x.Op == "atom" {
		if len(x.Args) == 0 {
			return false
		}
		if to := x.Args[0]; to.Text != "_" && (to.Reg == None || w.IsRead(to.Reg)) {
			return false
		}
	}
	does, typed := false, false
	for _, word := range x.Words {
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

// numberOf is the kind of a number of the launch's shape in one dimension, unset for other names.
// PTX has them as vectors, too, which are refused.
func numberOf(word string) shaped {
	register, axis, _ := strings.Cut(word, ".")
	kind := map[string]shapeKind{"%tid": tid, "%ctaid": ctaid, "%ntid": ntid, "%nctaid": nctaid}[register]
	if d := strings.Index("xyz", axis); len(axis) == 1 && d >= 0 {
		return shaped{kind, uint8(d)}
	}
	return shaped{}
}

// name is the kind of what a name that is no register's holds; an error where that is not known.
func (s *shapes) name(word string) (shaped, error) {
	if number := numberOf(word); number.kind != unset {
		return number, nil
	}
	if strings.HasPrefix(word, "%") {
		return shaped{kind: mixed}, fmt.Errorf("it reads %s", word)
	}
	return shaped{kind: whole}, nil // a variable's address, a parameter, a constant of PTX
}

// value is the kind of what an instruction computes. What memory holds is of no shape; addresses
// act by themselves.
func (s *shapes) value(i int) shaped {
	x := s.Inst(i)
	if !s.follows(x) {
		return shaped{kind: whole}
	}
	in := make([]shaped, len(x.Args))
	exact := true // each operand is one name or a number
	for n, o := range x.Args {
		in[n] = shaped{kind: whole}
		s.Names(o.At, func(name ptx.Span) bool {
			exact = exact && name == o.At
			if in[n].kind != whole {
				return true
			}
			if a := s.At(i, name); a != nil {
				in[n] = s.of[a.Reg]
				if len(s.Defs(a.Reg)) == 0 {
					in[n] = shaped{kind: mixed}
				}
			} else {
				in[n], _ = s.name(string(s.Bytes(name)))
			}
			return true
		})
	}
	all := shaped{kind: whole}
	for _, v := range in[min(1, len(in)):] {
		switch {
		case v.kind == unset:
			return shaped{} // a loop's register, not written yet: seen again in the next round
		case v.kind != whole:
			all = shaped{kind: mixed}
		}
	}
	if all.kind == mixed && exact {
		return through(string(s.Opcode(i)), in[1:])
	}
	return all
}

// through is the kind of what is computed of values that are not all whole. Numbers of threads and
// blocks may be carried on in 32 and 64 bits, without saturation, as no half of a product but the
// lower one.
func through(op string, in []shaped) shaped {
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
			return product(in[0], in[1])
		}
	case "mad.lo.u32", "mad.lo.s32", "mad.lo.u64", "mad.lo.s64", "mad.wide.u32", "mad.wide.s32":
		if len(in) == 3 {
			return sum(product(in[0], in[1]), in[2])
		}
	case "add.u32", "add.s32", "add.u64", "add.s64":
		if len(in) == 2 {
			return sum(in[0], in[1])
		}
	}
	return shaped{kind: mixed}
}

func product(a, b shaped) shaped {
	if a.kind > b.kind {
		a, b = b, a
	}
	switch {
	case a.kind == ctaid && b.kind == ntid && a.dim == b.dim:
		return shaped{first, a.dim}
	case a.kind == ntid && b.kind == nctaid && a.dim == b.dim, a.kind == whole && b.kind == whole:
		return shaped{kind: whole}
	}
	return shaped{kind: mixed}
}

func sum(a, b shaped) shaped {
	if a.kind > b.kind {
		a, b = b, a
	}
	of := b.kind
	switch {
	case (a.kind == tid || a.kind == tidPlus) && (of == first || of == firstPlus) && a.dim == b.dim:
		return shaped{kind: whole}
	case a.kind != whole:
	case of == tid:
		return shaped{tidPlus, b.dim}
	case of == first:
		return shaped{firstPlus, b.dim}
	case of == whole || of == tidPlus || of == firstPlus:
		return b
	}
	return shaped{kind: mixed}
}

// acts refuses statements on which anything but whole values act: guards, addresses, stored values;
// and those that compute what can't be followed.
func (s *shapes) acts(i int) error {
	x := s.Inst(i)
	if x.Op == "" {
		return nil
	}
	text := strings.TrimSpace(s.text[s.Stmts[i].Start:s.Stmts[i].End])
	if s.Stmts[i].Guarded && x.Guard == None {
		return fmt.Errorf("its guard is not declared (%s)", text)
	}
	bad := func(name string) error {
		return fmt.Errorf("%s acts on more than the index over the grid (%s)", name, text)
	}
	for _, a := range s.Accesses(i) {
		switch v := s.of[a.Reg]; {
		case a.Read && len(s.Defs(a.Reg)) == 0:
			return fmt.Errorf("it reads %s", s.Name(a.Reg))
		case a.Write && (v.kind == mixed || v.kind == unset),
			a.Read && v.kind != whole && (!s.follows(x) || a.Reg == x.Guard):
			return bad(s.Name(a.Reg))
		}
	}
	var err error
	s.Symbols(i, func(n ptx.Span) bool {
		name := string(s.Bytes(n))
		v, unknown := s.name(name)
		switch {
		case x.Op == "bra" || name == "_":
		case unknown != nil:
			err = unknown
		case v.kind != whole && !s.follows(x):
			err = bad(name)
		}
		return err == nil
	})
	return err
}
