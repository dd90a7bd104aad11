package compile

import (
	"slices"
	"strings"

	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/fold/same"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// What is left to the compilers. rewrite/fold vouches that they compute nothing by themselves which
// the GPU computes with other bits. Which products they contract with their sums it can't foretell:
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

// contracts tells whether cicc may have contracted anything of what an entry reaches, also where it
// can't be told.
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
	sums, seen := map[same.Statement]bool{}, newDoings(nil, map[*ptx.Func]*dataflow.Reaching{})
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
func (d *doings) factored(sum same.Statement) (operands []int) {
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

// leaves tells whether anything of an entry is left to ptxas, also where it can't be told.
func leaves(m *ptx.Module, entry string) bool {
	sums, err := leftIn(m, entry)
	return err != nil || len(sums) > 0
}
