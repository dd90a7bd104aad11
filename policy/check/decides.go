package check

import (
	"slices"
	"strconv"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// Arguments tells what a kernel's arguments decide by their own values, with no number from memory.
type Arguments struct {
	// Selects: a floating-point result is computed, and one of the values that arguments alone choose
	// from (`flag ? s : q`). In a launch that chooses the other one, it is not compared.
	Selects  bool
	deciding []argument
	read     []argument // all that is read
	unread   bool       // it is not known: they may all decide
}

// An argument is one, or a part of one.
type argument struct{ index, offset, bytes int }

// Decides reports whether the argument at a place is part of a condition that does not depend on
// memory: a pointer that is compared with null, a factor that is compared with 0.
func (a Arguments) Decides(index, offset, bytes int) bool {
	return a.unread || slices.ContainsFunc(a.deciding, func(d argument) bool {
		return d.index == index && d.offset < offset+bytes && offset < d.offset+d.bytes
	})
}

// Hidden calls yield for each part of an argument that the kernel reads and of which known does not
// tell what it is: an array's element, a private field. bytes is 0 where it is not known which part.
func (a Arguments) Hidden(known func(index, byte int) bool, yield func(index, offset, bytes int)) {
	if a.unread {
		yield(0, 0, 0)
	}
	for _, p := range a.read {
		step := min(p.bytes, 8)
		if p.index >= 0 && (p.bytes > 64 || step == 0 || step&(step-1) != 0) {
			yield(p.index, p.offset, 0)
			continue
		}
		for from := p.offset; p.index >= 0 && from < p.offset+p.bytes; from += step {
			for n := range step {
				if !known(p.index, from+n) {
					yield(p.index, from, step)
					break
				}
			}
		}
	}
}

// sources is what a value depends on: which arguments, by their numbers, and what else.
type sources struct {
	arguments      uint64
	thread, memory bool
}

func (a sources) join(b sources) sources {
	return sources{a.arguments | b.arguments, a.thread || b.thread, a.memory || b.memory}
}

// ArgumentsOf reads it in a kernel's PTX. It follows values, and not which way control flow came.
func ArgumentsOf(f *ptx.Func) (a Arguments) {
	w, err := ir.Of(f)
	if err != nil {
		return Arguments{Selects: true, unread: true}
	}
	var all []argument
	known := make([]sources, w.Registers())
	value := func(i int) (s sources) {
		x := w.Inst(i)
		for _, r := range w.Accesses(i) {
			if r.Read {
				s = s.join(known[r.Reg])
			}
		}
		w.Symbols(i, func(at ptx.Span) bool {
			name := string(w.Bytes(at))
			switch base, _, _ := strings.Cut(name, "."); base {
			case "%ntid", "%nctaid": // an argument of the launch
				all, s.arguments = numbered(all, s.arguments, argument{index: -1})
			default:
				s.thread = s.thread || name[0] == '%'
			}
			if n := slices.IndexFunc(w.Params, func(v ptx.Variable) bool { return v.Name == name }); n >= 0 {
				all, s.arguments = numbered(all, s.arguments, part(w, i, n))
			}
			return true
		})
		s.memory = s.memory || !ir.Computes(x.Op) && !(x.Op == "ld" && ptx.Space(w.Opcode(i)) == "param")
		return s
	}
	ir.Forward(w, known, sources.join, value)
	a.read = all
	for i := range w.Stmts {
		x := w.Inst(i)
		if len(x.Args) == 0 || x.Op == "isspacep" {
			continue
		}
		if to := x.Args[0].Reg; to != ir.None && w.Type(to) == "pred" {
			if s := value(i); !s.memory {
				for n, p := range all {
					if s.arguments>>min(n, 63)&1 != 0 && !slices.Contains(a.deciding, p) {
						a.deciding = append(a.deciding, p)
					}
				}
			}
		}
		if x.Op == "selp" && len(x.Args) == 4 && x.Args[3].Reg != ir.None {
			s := known[x.Args[3].Reg]
			a.Selects = a.Selects || s.arguments != 0 && !s.thread && !s.memory &&
				(computed(w, x.Args[1]) || computed(w, x.Args[2]))
		}
	}
	return a
}

// part is what of parameter n a statement reads: all of it where its address is taken.
func part(w *ir.Func, i, n int) argument {
	x := w.Inst(i)
	o := x.Address()
	if o == nil || x.Op != "ld" {
		return argument{n, 0, 1 << 30}
	}
	bits, _ := strconv.Atoi(strings.TrimLeft(x.Type(), "bfsu"))
	for n, v := range []string{"v2", "v4"} {
		if x.Has(v) {
			bits *= 2 << n
		}
	}
	return argument{n, o.Offset, bits / 8}
}

// numbered adds an argument to a set, by its number among all. There are numbers for 64: the others
// share the last one.
func numbered(all []argument, set uint64, p argument) ([]argument, uint64) {
	n := slices.Index(all, p)
	if n < 0 {
		n = len(all)
		all = append(all, p)
	}
	return all, set | 1<<min(n, 63)
}

// computed reports whether floating-point arithmetic, and no mere constant or copy, gives a value.
func computed(w *ir.Func, o ir.Operand) bool {
	return o.Reg != ir.None && slices.ContainsFunc(w.Defs(o.Reg), func(i int) bool {
		return computes(w.Opcode(i), string(w.Base(i)))
	})
}
