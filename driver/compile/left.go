package compile

import (
	"fmt"
	"slices"
	"strings"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/fold/same"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// What is left to the compilers. rewrite/fold vouches that they compute nothing by themselves which
// the GPU computes with other bits. Which products they contract with their sums it can't predict:
// of p + q cicc takes the product with fewer uses, and a use may be gone where a branch is known.
// Sums that cicc leaves apart ptxas may contract, by rules that PTX does not show: not where a
// product is used a second time, say, nor over the slow path of a square root that stands between
// the two. So it is looked what they did (proof.go).

// leftToCompilers is the doubt of a variant for which rewrite/fold vouches.
const leftToCompilers = "which products are contracted with their sums is left to the compilers"

// left tells whether anything of what an entry reaches is left to the compilers.
func left(m *ptx.Module, entry string) bool {
	return contracts(m, entry) || leaves(m, entry) || scales(m, entry)
}

// contracts tells whether cicc may have contracted anything that an entry reaches, or if unknown.
func contracts(m *ptx.Module, entry string) bool {
	list, err := statedIn(m, entry)
	return err != nil || slices.ContainsFunc(list, func(s same.Statement) bool {
		base := string(s.Func.Base(s.Index))
		return base == "fma" || base == "mad"
	})
}

// leftIn lists the sums that an entry reaches and ptxas may contract: whether with one product or
// another.
func leftIn(m *ptx.Module, entry string) (map[same.Statement]bool, error) {
	list, err := statedIn(m, entry)
	if err != nil {
		return nil, err
	}
	sums, seen := map[same.Statement]bool{}, newOutcomes(nil, map[*ptx.Func]*dataflow.Reaching{})
	for _, s := range list {
		if !fold.FreeSum(s.Func, s.Index) {
			continue
		}
		if err := seen.follow(s.Func); err != nil {
			return nil, err
		}
		if n := len(seen.factored(s)); n > 0 {
			sums[s] = n > 1
		}
	}
	return sums, nil
}

// factored lists a sum's operands, from 0, that may hold a product which ptxas may contract.
func (d *outcomes) factored(sum same.Statement) (operands []int) {
	f := sum.Func
	for k, o := range f.Operands(sum.Index, nil)[1:] {
		if holds(f, d.reach[f], sum.Index, string(f.Bytes(o)), map[int]bool{}, func(i int) bool {
			return fold.FreeProduct(f, i)
		}) {
			operands = append(operands, k)
		}
	}
	return operands
}

// holds tells whether an operand of statement i may hold what one of some statements gave.
func holds(f *ptx.Func, reach *dataflow.Reaching, i int, operand string, seen map[int]bool,
	some func(d int) bool) bool {
	for _, d := range reach.Of(i, strings.TrimSpace(operand)) {
		if seen[d] {
			continue
		}
		if seen[d] = true; some(d) {
			return true
		}
		switch string(f.Base(d)) {
		case "mov", "neg", "abs", "selp", "min", "max":
			for _, o := range f.Operands(d, nil)[1:] {
				if holds(f, reach, d, string(f.Bytes(o)), seen, some) {
					return true
				}
			}
		}
	}
	return false
}

// leaves tells whether anything of an entry is left to ptxas, also where it isn't known.
func leaves(m *ptx.Module, entry string) bool {
	sums, err := leftIn(m, entry)
	return err != nil || len(sums) > 0
}

// A product of single precision that is multiplied with a power of two next is one instruction,
// which rounds once (rewrite/fold/same/scaled.go). Whether ptxas makes it of the two depends on
// what stands near them. So where it did so nowhere in nvcc's own build, products in what a recipe
// makes of it get their rounding named, and it can't; where it did, the machine code is compared.

// scales tells whether ptxas may scale anything that an entry reaches, or if unknown.
func scales(m *ptx.Module, entry string) bool {
	list, err := statedIn(m, entry)
	if err != nil {
		return true
	}
	if !slices.ContainsFunc(list, func(s same.Statement) bool {
		return fold.FreeFactor(s.Func, s.Index)
	}) {
		return false
	}
	var last *ptx.Func // a function's statements stand together
	return slices.ContainsFunc(list, func(s same.Statement) bool {
		if s.Func == last || !inTypes(s.Func.Opcode(s.Index), "f32") {
			return false
		}
		last = s.Func
		return holdsPower(s.Func.Text())
	})
}

// holdsPower tells of a text in which such a power of two stands as a word.
func holdsPower(text []byte) bool {
	const size = len("0f3f000000")
	for at := 0; at+size <= len(text); at++ {
		if text[at] == '0' && text[at+1]|0x20 == 'f' && (at == 0 || !inWord(text[at-1])) &&
			(at+size == len(text) || !inWord(text[at+size])) && fold.PowerOfTwo(string(text[at:at+size])) {
			return true
		}
	}
	return false
}

// inWord tells of what words of PTX are made of (anyNumber).
func inWord(c byte) bool {
	return c == '-' || c == '$' || c == '%' || c == '.' || c == '_' || '0' <= c && c <= '9' ||
		'a' <= c|0x20 && c|0x20 <= 'z'
}

// scaledAny tells whether ptxas scaled any product.
func (d *outcomes) scaledAny() bool {
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
func scaledAlike(answer *same.Answer, before, after *outcomes) error {
	if !before.scaledAny() && !after.scaledAny() {
		return nil
	}
	for _, d := range []*outcomes{before, after} {
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
