package rewrite

import (
	"slices"

	"gnvcc/graph"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// harmless reports whether what a load gives only scales, or selects: no address depends on it, and
// no loop's end, and it is not stored, where it could be read again as an index.
//
//	ld.global.u8 %rs1, [%rd4];  cvt.rn.f32.u16 %f2, %rs1;  fma.rn.f32 %f3, %f1, %f2, %f3;
//	ld.global.u32 %r1, [%rd4];  setp.eq.s32 %p1, %r1, 7;   selp.f32 %f3, %f1, %f2, %p1;
func (r *reader) harmless(i int) bool {
	return r.free(i, map[ir.Reg]bool{})
}

// free reports it of all that a statement writes.
func (r *reader) free(i int, on map[ir.Reg]bool) bool {
	for _, a := range r.Accesses(i) {
		if !a.Write || on[a.Reg] {
			continue
		}
		on[a.Reg] = true
		for _, u := range r.uses[a.Reg] {
			if !r.scales(u, a.Reg, on) {
				return false
			}
		}
	}
	return true
}

// scales reports it of one statement that reads such a value.
func (r *reader) scales(i int, reg ir.Reg, on map[ir.Reg]bool) bool {
	x := r.Inst(i)
	if o := x.Address(); o != nil {
		return false
	}
	switch {
	case x.Guard == reg && r.Leaves(i):
		return !r.ends(i)
	case x.Op == "cvt" && len(x.Words) > 1 && formats[x.Words[len(x.Words)-2]] != 0:
		return r.results(i, map[ir.Reg]bool{})&(integer|cut) == 0
	case plain[x.Op] || x.Guard == reg:
		return r.free(i, on)
	}
	switch x.Op {
	case "mov", "selp", "shfl", "cvt", "mul", "mad", "bfind", "popc", "clz", "slct":
		return r.free(i, on)
	}
	return false
}

// ends reports a branch that may end a loop.
func (r *reader) ends(i int) bool {
	b := r.Block(i)
	return slices.ContainsFunc(r.Loops(), func(l graph.Loop) bool {
		return slices.Contains(l.Body, b) && (len(r.Blocks[b].Succs) < 2 ||
			slices.ContainsFunc(r.Blocks[b].Succs, func(to int) bool { return !slices.Contains(l.Body, to) }))
	})
}

// Variables tells by the rule of Reads what a kernel, with all that it calls, reads of variables of
// its module: tables in constant memory, mostly.
func Variables(m *ptx.Module, entry string) map[string]Numbers {
	reach, err := m.Reach(entry)
	if err != nil {
		return nil
	}
	seen := map[string]evidence{}
	for _, f := range reach.Funcs {
		if !f.Body {
			continue
		}
		r, err := readerOf(f)
		if err != nil {
			return nil
		}
		for i := range f.Stmts {
			r.variable(i, seen)
		}
	}
	out := map[string]Numbers{}
	for name, e := range seen {
		if m.Global(name) != nil {
			out[name] = e.verdict()
		}
	}
	return out
}

// variable enters what a statement says of a variable: what it reads of it; that it takes its address
// for something else than reading and writing here.
func (r *reader) variable(i int, seen map[string]evidence) {
	x := r.Inst(i)
	if o := x.Address(); o != nil {
		name := r.Origin(*o).Root
		switch {
		case name == "" || name[0] == '#':
		case x.Op == "ld" || x.Op == "ldu":
			seen[name] |= r.loaded(i)
		case x.Op != "st":
			seen[name] |= integer
		}
	}
	if x.Op == "call" || x.Op == "st" { // it goes where it is not seen
		r.Symbols(i, func(at ptx.Span) bool {
			if o := x.Address(); o == nil || string(r.Bytes(at)) != o.Text {
				seen[string(r.Bytes(at))] |= integer
			}
			return true
		})
		for n := range x.Args {
			if o := x.Args[n]; !o.Address && o.Reg != ir.None {
				if name := r.Origin(o).Root; name != "" {
					seen[name] |= integer
				}
			}
		}
	}
}

// Texels reports whether all that a kernel, with all that it calls, reads of textures is floating
// point that only scales, and it writes to no surface.
func Texels(m *ptx.Module, entry string) bool {
	reach, err := m.Reach(entry)
	if err != nil {
		return false
	}
	found := false
	for _, f := range reach.Funcs {
		if !f.Body {
			continue
		}
		r, err := readerOf(f)
		if err != nil {
			return false
		}
		for i := range f.Stmts {
			switch x := r.Inst(i); x.Op {
			case "tex", "tld4":
				found = true
				if e := r.results(i, map[ir.Reg]bool{}); !x.Has("f32") && !x.Has("f16x2") || e&(integer|cut) != 0 {
					return false
				}
			case "sust", "sured", "suld":
				return false
			}
		}
	}
	return found
}
