package refuse

import (
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/ir"
)

// Rereads reports whether a kernel loads through the read-only cache (ld.global.nc) from a parameter
// or variable to which it stores as well. Addresses whose origin is not known are not reported.
func Rereads(m *ptx.Module, entry string) bool {
	f := m.Entry(entry)
	if f == nil {
		return false
	}
	w, err := ir.Of(f)
	if err != nil {
		return false
	}
	loaded, stored := map[string]bool{}, map[string]bool{}
	for i := range f.Stmts {
		x := w.Inst(i)
		if o := x.Address(); o == nil {
		} else if root := w.Origin(*o).Root; x.Op == "ld" && x.Has("nc") {
			loaded[root] = true
		} else if x.Op == "st" && !x.Has("param", "param::func") {
			stored[root] = true
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
