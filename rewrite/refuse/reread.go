package refuse

import (
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// Rereads reports whether a kernel loads through the read-only cache (ld.global.nc) from a parameter
// or variable to which it stores as well. Addresses whose origin is not known are not reported.
func Rereads(m *ptx.Module, entry string) bool {
	f := m.Entry(entry)
	if f == nil {
		return false
	}
	origins := dataflow.OriginsOf(f)
	loaded, stored := map[string]bool{}, map[string]bool{}
	for i, st := range f.Stmts {
		if st.Kind != ptx.Inst {
			continue
		}
		ops := f.Operands(i, nil)
		switch base := string(f.Base(i)); {
		case len(ops) < 2:
		case base == "ld" && ptx.HasModifier(f.Opcode(i), "nc"):
			loaded[root(f, origins, ops[1])] = true
		case base == "st" && ptx.Space(f.Opcode(i)) != "param":
			stored[root(f, origins, ops[0])] = true
		}
	}
	delete(loaded, "")
	for r := range loaded {
		if stored[r] {
			return true
		}
	}
	return false
}

// root is the parameter or variable that an address points into, "" if that is not known.
func root(f *ptx.Func, origins *dataflow.Origins, address ptx.Span) string {
	base, _, ok := f.Address(address)
	if !ok {
		return ""
	}
	return origins.Of(string(base)).Root
}
