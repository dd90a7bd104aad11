package ptx

import (
	"fmt"
	"strings"
)

// Does a kernel see its launch shape? Many kernels use thread and block numbers only as one index over the whole grid,
//
//	i = ctaid.x * ntid.x + tid.x        and        step = ntid.x * nctaid.x
//
// The same number of threads in blocks of another size computes the same i and step for the same set of threads. Here that is
// shown by forward data flow: every register gets a kind, and a thread or block number that is used in any other way ends it.

// An IndexUse says in which dimensions a kernel uses the index over the whole grid.
type IndexUse struct {
	Dims [3]bool
}

// kind of a register's value. Of the launch's shape only whole kinds may act.
type shapeKind uint8

const (
	unset  shapeKind = iota
	whole            // the same for any shape with as many threads in each dimension
	tid              // %tid.D
	ctaid            // %ctaid.D
	ntid             // %ntid.D
	nctaid           // %nctaid.D
	first            // %ctaid.D * %ntid.D: the index of the block's first thread
	mixed            // anything else that the shape acts on
)

type shaped struct {
	kind shapeKind
	dim  uint8
}

// IndexOnly tells how an entry uses the launch's shape, or why it may see more of it than the index over the grid. It holds
// for launches of fewer than 2^31 threads in each dimension: beyond that products wrap.
func (m *Module) IndexOnly(entry string) (IndexUse, error) {
	reach, err := m.Reach(entry)
	if err != nil {
		return IndexUse{}, err
	}
	if len(reach.Funcs) != 1 {
		return IndexUse{}, fmt.Errorf("it calls %s", reach.Funcs[1].Name)
	}
	for _, g := range reach.Globals {
		if g.Space == "shared" {
			return IndexUse{}, fmt.Errorf("it uses shared memory (%s)", g.Name)
		}
	}
	s := &shapes{f: reach.Funcs[0], of: map[string]shaped{}}
	for changed := true; changed; {
		changed = false
		for i := range s.f.Stmts {
			c, err := s.statement(i)
			if err != nil {
				return IndexUse{}, err
			}
			changed = changed || c
		}
	}
	// A second look at what the kinds came to: nothing but whole values may act.
	for i := range s.f.Stmts {
		if err := s.acts(i); err != nil {
			return IndexUse{}, err
		}
	}
	return s.use, nil
}

type shapes struct {
	f   *Func
	of  map[string]shaped
	use IndexUse
}

// refused are instructions by which threads see each other or where they run.
var refused = map[string]string{
	"bar": "a barrier", "barrier": "a barrier", "vote": "a vote", "shfl": "a shuffle", "match": "a match",
	"activemask": "the active mask", "redux": "a warp's reduction", "elect": "an election", "atom": "an atomic",
	"red": "an atomic", "call": "a call", "mbarrier": "an mbarrier", "wmma": "a warp's matrix", "mma": "a warp's matrix",
	"ldmatrix": "a warp's matrix", "stmatrix": "a warp's matrix", "movmatrix": "a warp's matrix", "wgmma": "a warp's matrix",
	"cp": "an asynchronous copy", "griddepcontrol": "an overlapping grid", "mapa": "a cluster", "getctarank": "a cluster",
	"setmaxnreg": "registers traded by warps", "membar": "a fence", "fence": "a fence", "brx": "a table of branches",
}

func (s *shapes) statement(i int) (changed bool, err error) {
	f := s.f
	st := f.Stmts[i]
	switch st.Kind {
	case Decl:
		if string(f.Opcode(i)) == ".shared" {
			return false, fmt.Errorf("it uses shared memory")
		}
		return false, nil
	case Inst:
	default:
		return false, nil
	}
	if what := refused[string(f.Base(i))]; what != "" {
		return false, fmt.Errorf("it has %s (%s)", what, f.Opcode(i))
	}
	var out []string
	f.Effects(i, func(n Span, _, write bool) {
		if write {
			out = append(out, string(f.Bytes(n)))
		}
	})
	v, err := s.value(i)
	if err != nil {
		return false, err
	}
	for _, name := range out {
		if name == "_" {
			continue
		}
		old := s.of[name]
		now := join(old, v)
		if now != old {
			s.of[name] = now
			changed = true
		}
	}
	return changed, nil
}

func join(a, b shaped) shaped {
	switch {
	case a.kind == unset:
		return b
	case b.kind == unset || a == b:
		return a
	}
	return shaped{kind: mixed}
}

// operand is the kind of what an operand (or a name in it) holds.
func (s *shapes) operand(word string) (shaped, error) {
	if word == "" || word[0] != '%' {
		return shaped{kind: whole}, nil
	}
	if v, ok := s.of[word]; ok {
		return v, nil
	}
	name, axis, dotted := strings.Cut(word, ".")
	if dotted {
		d := strings.IndexByte("xyz", axis[0])
		if d < 0 {
			return shaped{}, fmt.Errorf("it reads %s", word)
		}
		switch name {
		case "%tid":
			return shaped{tid, uint8(d)}, nil
		case "%ctaid":
			return shaped{ctaid, uint8(d)}, nil
		case "%ntid":
			return shaped{ntid, uint8(d)}, nil
		case "%nctaid":
			return shaped{nctaid, uint8(d)}, nil
		}
		return shaped{}, fmt.Errorf("it reads %s", word)
	}
	switch name {
	case "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid", "%clock", "%clock_hi", "%clock64", "%globaltimer",
		"%globaltimer_lo", "%globaltimer_hi", "%dynamic_smem_size", "%total_smem_size", "%aggr_smem_size",
		"%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt", "%is_explicit_cluster":
		return shaped{}, fmt.Errorf("it reads %s", word)
	}
	return shaped{}, nil // a register not written yet: a loop's, seen again in the next round
}

// value is the kind of what an instruction gives.
func (s *shapes) value(i int) (shaped, error) {
	f := s.f
	ops := f.Operands(i, nil)
	var in []shaped
	for n, o := range ops {
		if n == 0 && !strings.HasPrefix(string(f.Base(i)), "st") {
			continue
		}
		word := string(f.Bytes(o))
		if !simple(word) { // an address or a vector: its names act by themselves (acts)
			in = append(in, shaped{kind: whole})
			continue
		}
		v, err := s.operand(word)
		if err != nil {
			return shaped{}, err
		}
		in = append(in, v)
	}
	for _, v := range in {
		if v.kind == unset {
			return shaped{}, nil
		}
	}
	op := string(f.Opcode(i))
	base := string(f.Base(i))
	integer := !strings.Contains(op, ".f")
	switch {
	case base == "mov" && len(in) == 1, base == "cvt" && len(in) == 1 && integer && !strings.Contains(op, "8") && !strings.Contains(op, "16"):
		return in[0], nil
	case base == "mul" && len(in) == 2 && integer && !strings.Contains(op, ".hi"):
		if v, ok := s.product(in[0], in[1]); ok {
			return v, nil
		}
	case base == "mad" && len(in) == 3 && integer && !strings.Contains(op, ".hi"):
		if v, ok := s.product(in[0], in[1]); ok {
			if v, ok := s.sum(v, in[2]); ok {
				return v, nil
			}
		}
	case base == "add" && len(in) == 2 && integer:
		if v, ok := s.sum(in[0], in[1]); ok {
			return v, nil
		}
	}
	for _, v := range in {
		if v.kind != whole {
			return shaped{kind: mixed}, nil
		}
	}
	return shaped{kind: whole}, nil
}

func (s *shapes) product(a, b shaped) (shaped, bool) {
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
	case a.kind == tid && b.kind == first && a.dim == b.dim:
		s.use.Dims[a.dim] = true
		return shaped{kind: whole}, true
	case a.kind == whole && b.kind == whole:
		return a, true
	}
	return shaped{}, false
}

// acts refuses statements on which anything but whole values act: guards, addresses, stored values, branches.
func (s *shapes) acts(i int) error {
	f := s.f
	if f.Stmts[i].Kind != Inst {
		return nil
	}
	var bad string
	check := func(name string) error {
		v, err := s.operand(name)
		if err == nil && v.kind > whole && bad == "" {
			bad = name
		}
		return err
	}
	if g, _ := f.Guard(i); g != nil {
		if err := check(string(g)); err != nil {
			return err
		}
	}
	ops := f.Operands(i, nil)
	computes := len(ops) > 1 && simple(string(f.Bytes(ops[0])))
	var failed error
	for n, o := range ops {
		word := string(f.Bytes(o))
		if computes && n > 0 && simple(word) {
			continue // it acts through the result alone, whose kind tells
		}
		if computes && n == 0 && s.of[word].kind <= first {
			continue
		}
		f.Names(o, func(name Span) bool {
			failed = check(string(f.Bytes(name)))
			return failed == nil
		})
	}
	if failed == nil && bad != "" {
		text := strings.TrimSpace(string(f.Bytes(Span{f.Stmts[i].Start, f.Stmts[i].End})))
		failed = fmt.Errorf("%s acts on more than the index over the grid (%s)", bad, text)
	}
	return failed
}

// simple tells an operand that is one word from an address, a vector, and a list.
func simple(word string) bool {
	return word != "" && word[0] != '[' && word[0] != '{' && word[0] != '('
}
