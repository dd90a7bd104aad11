package rewrite

import (
	"errors"
	"fmt"

	"gnvcc/rewrite/ptx"
)

// Fixed says why nothing may be changed in how a kernel is compiled, nil if it may: it calls code
// that was compiled for the registers of nvcc's own kernel.
//
// A function whose address is taken is compiled once for each register count of its callers, and a
// pointer leads to one of these copies: from a kernel with another count "invalid program counter",
// and nothing that compiles shows it. With -rdc=true (relocatable) nvlink compares a kernel's count
// with that of every function that it calls, in whatever object that stands, and ends the link
// ("calls function ... with regcount"); a .weak function may be taken from another object, too.
//
// Any lever may change the count, so that all are refused.
func Fixed(m *ptx.Module, kernel string, relocatable bool) error {
	r, err := m.Reach(kernel)
	if err != nil {
		return err
	}
	for _, f := range r.Funcs {
		if f.Entry && f.Name != kernel {
			continue // launched, not called
		}
		for i, s := range f.Stmts {
			if s.Kind == ptx.Inst && string(f.Base(i)) == "call" && f.CallsByPointer(i) {
				return errors.New(
					"it calls by pointer a function that was compiled for the registers of nvcc's own code")
			}
		}
		if relocatable && !f.Entry && (!f.Body || f.Linkage == "weak") && !ptx.OfRuntime(f.Name) {
			return fmt.Errorf(
				"with -rdc=true it calls %s, which may be another object's, compiled for the registers of nvcc's own code", f.Name)
		}
	}
	return nil
}
