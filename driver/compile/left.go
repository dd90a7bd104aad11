package compile

import (
	"context"
	"fmt"
	"strings"

	"gnvcc/driver/job"
	"gnvcc/rewrite/ptx"
)

// What cicc leaves to ptxas. rewrite/fold reads PTX, and vouches for what cicc contracts. Sums and
// products that it leaves apart ptxas may contract, too, by rules that PTX does not show: not where
// a product is used a second time, say, nor over the slow path of a square root that stands between
// the two. So where it may, in the kernel or in the variant, it is looked what it did: a variant
// passes where it contracted all such sums of both, or none of them. Others are proved (proof.go).

// leftToPtxas is the doubt of a variant for which rewrite/fold vouches.
const leftToPtxas = "which products are contracted with their sums is left to ptxas"

// A leftSum is a sum that ptxas may contract.
type leftSum struct {
	n    int  // in statedIn's list
	both bool // with one product or with another
}

// leftIn lists the statements that an entry reaches, and those of them that ptxas may contract.
func leftIn(m *ptx.Module, entry string) (list []stated, sums []leftSum, err error) {
	if list, err = statedIn(m, entry); err != nil {
		return nil, nil, err
	}
	reach := map[*ptx.Func]*ptx.Reaching{}
	for n, s := range list {
		if !freeSum(s.f, s.index) {
			continue
		}
		if reach[s.f] == nil {
			if reach[s.f], err = s.f.Reaching(); err != nil {
				return nil, nil, err
			}
		}
		products := 0
		for _, o := range s.f.Operands(s.index, nil)[1:] {
			if mayBeProduct(s.f, reach[s.f], s.index, string(s.f.Bytes(o)), map[int]bool{}) {
				products++
			}
		}
		if products > 0 {
			sums = append(sums, leftSum{n, products > 1})
		}
	}
	return list, sums, nil
}

// freeSum tells of an addition whose rounding is not named.
func freeSum(f *ptx.Func, i int) bool {
	base := string(f.Base(i))
	return (base == "add" || base == "sub") && !ptx.NamesRounding(f.Opcode(i))
}

// mayBeProduct tells whether an operand of statement i may hold a product that ptxas may contract:
// of an approximate division it makes one, too.
func mayBeProduct(f *ptx.Func, reach *ptx.Reaching, i int, operand string, seen map[int]bool) bool {
	for _, d := range reach.Of(i, strings.TrimSpace(operand)) {
		if seen[d] {
			continue
		}
		seen[d] = true
		switch op := f.Opcode(d); string(f.Base(d)) {
		case "mul":
			if !ptx.NamesRounding(op) {
				return true
			}
		case "div", "sqrt":
			if inTypes(op, "approx", "full") {
				return true
			}
		case "mov", "neg", "abs", "selp", "min", "max":
			for _, o := range f.Operands(d, nil)[1:] {
				if mayBeProduct(f, reach, d, string(f.Bytes(o)), seen) {
					return true
				}
			}
		}
	}
	return false
}

// leaves tells whether anything of an entry is left to ptxas, also where it can't be told.
func leaves(m *ptx.Module, entry string) bool {
	_, sums, err := leftIn(m, entry)
	return err != nil || len(sums) > 0
}

// uniform is an error unless ptxas contracts all sums of a kernel and of its variant that it may,
// or none of them.
func (b *Workbench) uniform(ctx context.Context, j *job.Job, module *ptx.Module, entry string,
	whole *ptx.Module, name string, flags []string) error {
	var common *deed
	for _, side := range []struct {
		m     *ptx.Module
		entry string
		flags []string
	}{{module, entry, nil}, {whole, name, flags}} {
		list, sums, err := leftIn(side.m, side.entry)
		if err != nil {
			return err
		}
		deeds, err := b.deeds(ctx, j, side.m, side.entry, side.flags)
		if err != nil {
			return err
		}
		left := map[int]bool{}
		for _, s := range sums {
			left[s.n] = true
			did := deeds[s.n]
			switch {
			case did != alone && did != contracted:
				return fmt.Errorf("ptxas makes of a sum of %s: %s", side.entry, did)
			case did == contracted && s.both:
				return fmt.Errorf("ptxas contracts a sum of %s with one of two products", side.entry)
			case common != nil && did != *common:
				return fmt.Errorf("ptxas contracts some sums of %s and not others", side.entry)
			}
			common = &did
		}
		for n, s := range list {
			if deeds[n] == contracted && !left[n] && freeSum(s.f, s.index) {
				return fmt.Errorf("ptxas contracts a sum of %s, of which no operand is known to be a product",
					side.entry)
			}
		}
	}
	return nil
}
