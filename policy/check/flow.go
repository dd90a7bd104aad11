package check

import (
	"slices"
	"strconv"
	"strings"

	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// sources is what a value depends on: which arguments, by their numbers, and what else. memory is
// all that is not the same in each launch with the same arguments.
type sources struct {
	arguments      uint64
	thread, memory bool
}

func (a sources) join(b sources) sources {
	return sources{a.arguments | b.arguments, a.thread || b.thread, a.memory || b.memory}
}

// A flow is what each register of a function depends on. The arguments of a function that is no
// kernel count as memory.
type flow struct {
	*ir.Func
	all      []argument
	known    []sources
	deciders [][]int // by block: the branches that decide whether it runs; nil: these do not count
	in       []bool  // by block: what stands in others does not count; nil: all do
}

// flowOf works it out, of some blocks. With ways, a value of which there are several depends on what decided which of
// them it is: a counter, on the number of turns.
func flowOf(w *ir.Func, ways bool, in []bool) *flow {
	f := &flow{Func: w, known: make([]sources, w.Registers()), in: in}
	if ways {
		f.deciders = make([][]int, len(w.Blocks))
		for b := range w.Blocks {
			if i := w.Branch(b); i >= 0 {
				for _, x := range w.Apart(b) {
					f.deciders[x] = append(f.deciders[x], i)
				}
			}
		}
	}
	ir.Forward(w, f.known, sources.join, f.of)
	return f
}

// reads is what the registers that a statement reads depend on.
func (f *flow) reads(i int) (s sources) {
	for _, r := range f.Accesses(i) {
		if r.Read {
			s = s.join(f.known[r.Reg])
		}
	}
	return s
}

// of is what the results of a statement depend on.
func (f *flow) of(i int) (s sources) {
	if f.in != nil && !f.in[f.Block(i)] {
		return s
	}
	x, s := f.Inst(i), f.reads(i)
	argument := false
	f.Symbols(i, func(at ptx.Span) bool {
		name := string(f.Bytes(at))
		switch base, _, _ := strings.Cut(name, "."); {
		case base == "%ntid":
			s.arguments |= f.number(blockSize)
		case base == "%nctaid":
			s.arguments |= f.number(gridSize)
		case ir.OfThread(name):
			s.thread = true
		default:
			s.memory = s.memory || name[0] == '%'
		}
		if n := slices.IndexFunc(f.Params, func(v ptx.Variable) bool { return v.Name == name }); n >= 0 && f.Entry {
			argument = true
			s.arguments |= f.number(f.part(i, n))
		}
		return true
	})
	s.memory = s.memory || !ir.Computes(x.Op) && !argument
	if f.deciders != nil && slices.ContainsFunc(f.Accesses(i), func(a ir.Access) bool {
		return a.Write && len(f.Defs(a.Reg)) > 1
	}) {
		s = s.join(f.decided(f.Block(i)))
	}
	return s
}

// decided is what it depends on whether, and how often, a block runs.
func (f *flow) decided(block int) (s sources) {
	for _, i := range f.deciders[block] {
		s = s.join(f.reads(i))
	}
	return s
}

// chooses is what a choice depends on: a branch, selp, a statement under a guard.
func (f *flow) chooses(i int) sources {
	switch x := f.Inst(i); {
	case x.Guard != ir.None:
		return f.known[x.Guard]
	case x.Op == "selp":
		return f.known[x.Args[3].Reg]
	}
	return f.reads(i)
}

// part is what of parameter n a statement reads: all of it where its address is taken.
func (f *flow) part(i, n int) argument {
	x := f.Inst(i)
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

// number adds an argument to all, and returns it as a set. There are numbers for 64: the others share
// the last one.
func (f *flow) number(p argument) uint64 {
	n := slices.Index(f.all, p)
	if n < 0 {
		n = len(f.all)
		f.all = append(f.all, p)
	}
	return 1 << min(n, 63)
}

// arguments lists those of a set.
func (f *flow) arguments(s sources) (out []argument) {
	for n, p := range f.all {
		if s.arguments>>min(n, 63)&1 != 0 {
			out = append(out, p)
		}
	}
	return out
}
