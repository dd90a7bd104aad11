package compile

import (
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/fold/same"
	"gnvcc/rewrite/ptx"
)

// A product of single precision that is multiplied with a power of two next is one instruction,
// which rounds once (rewrite/fold/same/scaled.go). Whether ptxas makes it of the two depends on
// what stands near them. So where it did so nowhere in nvcc's own build, products in what a recipe
// makes of it get their rounding named, and it can't; where it did, the machine code is compared.

// scales tells whether ptxas may scale anything of what an entry reaches, also where it can't be
// told.
func scales(m *ptx.Module, entry string) bool {
	list, err := statedIn(m, entry)
	if err != nil {
		return true
	}
	return slices.ContainsFunc(list, func(s same.Statement) bool {
		return fold.FreeFactor(s.Func, s.Index)
	}) && slices.ContainsFunc(list, func(s same.Statement) bool {
		return inTypes(s.Func.Opcode(s.Index), "f32") && holdsPower(s.Func)
	})
}

// holdsPower tells of a function in whose text such a power of two stands.
func holdsPower(f *ptx.Func) bool {
	return slices.ContainsFunc(anyNumber().FindAll(f.Text(), -1), func(w []byte) bool {
		return fold.PowerOfTwo(string(w))
	})
}

// scaledAny tells whether ptxas scaled any product.
func (d *doings) scaledAny() bool {
	for _, did := range d.did {
		if did == scaled || did == partly {
			return true
		}
	}
	return false
}

// writeProducts names the rounding of an entry's products, so that none is scaled. Its sums must
// have been written before.
func writeProducts(m *ptx.Module, name string) error {
	f := m.Entry(name)
	for i, st := range f.Stmts {
		if st.Kind == ptx.Inst && fold.FreeFactor(f, i) {
			f.ReplaceSpan(ptx.Span{Start: st.Op, End: st.Op + uint32(len("mul"))}, "mul.rn")
		}
	}
	return f.Commit()
}

// productNamed tells of two opcodes that the one is writeProducts' of the other.
func productNamed(was, is []byte) bool {
	of, ok := strings.CutPrefix(string(was), "mul.")
	return ok && string(is) == "mul.rn."+of
}

// scaledAlike is an error where ptxas scaled other products of the variant than of the kernel.
func scaledAlike(answer *same.Answer, before, after *doings) error {
	if !before.scaledAny() && !after.scaledAny() {
		return nil
	}
	for _, d := range []*doings{before, after} {
		for s, did := range d.did {
			if did == partly {
				return fmt.Errorf("ptxas scales %s with a power of two in some places", text(s))
			}
		}
	}
	listed := map[same.Statement]bool{}
	for _, p := range answer.Products {
		listed[p.At] = true
		for _, m := range p.May {
			if is, was := after.did[p.At] == scaled, before.did[m] == scaled; is != was {
				return fmt.Errorf("%s: in the variant %s, in the kernel (%s) %s", text(p.At), after.did[p.At],
					text(m), before.did[m])
			}
		}
	}
	for s, did := range after.did {
		if did == scaled && !listed[s] {
			return fmt.Errorf("ptxas scales %s in the variant, and it is not known where in the kernel it does",
				text(s))
		}
	}
	return nil
}
