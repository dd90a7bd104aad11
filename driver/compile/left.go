package compile

import (
	"context"
	"fmt"
	"strings"

	"gnvcc/driver/job"
	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/fold/same"
	"gnvcc/rewrite/ptx"
)

// What cicc leaves to ptxas. rewrite/fold reads PTX, and vouches for what cicc contracts. Sums and
// products that it leaves apart ptxas may contract, too, by rules that PTX does not show: not where
// a product is used a second time, say, nor over the slow path of a square root that stands between
// the two. So where it may, in the kernel or in the variant, it is looked what it did: a variant
// passes where it contracted all such sums of both, or none of them. Others are proved (proof.go).

// leftToPtxas is the doubt of a variant for which rewrite/fold vouches.
const leftToPtxas = "which products are contracted with their sums is left to ptxas"

// leftIn lists the sums that an entry reaches and ptxas may contract: whether with one product or
// another.
func leftIn(m *ptx.Module, entry string) (map[same.Statement]bool, error) {
	list, err := statedIn(m, entry)
	if err != nil {
		return nil, err
	}
	sums, seen := map[same.Statement]bool{}, newDoings(nil, map[*ptx.Func]*ptx.Reaching{})
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
func holds(f *ptx.Func, reach *ptx.Reaching, i int, operand string, seen map[int]bool,
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

// uniform is an error unless ptxas contracts all sums of a kernel and of its variant that it may,
// or none of them.
func (b *Workbench) uniform(ctx context.Context, j *job.Job, module *ptx.Module, entry string,
	whole *ptx.Module, name string, flags []string) error {
	common := gone
	for _, side := range []struct {
		m     *ptx.Module
		entry string
		flags []string
	}{{module, entry, nil}, {whole, name, flags}} {
		sums, err := leftIn(side.m, side.entry)
		if err != nil {
			return err
		}
		did, err := b.done(ctx, j, side.m, side.entry, side.m, side.entry, side.flags)
		if err != nil {
			return err
		}
		for s, both := range sums {
			switch now := did.did[s]; {
			case now != alone && now != contracted:
				return fmt.Errorf("ptxas makes of a sum of %s: %s", side.entry, now)
			case now == contracted && both:
				return fmt.Errorf("ptxas contracts a sum of %s with one of two products", side.entry)
			case common != gone && now != common:
				return fmt.Errorf("ptxas contracts some sums of %s and not others", side.entry)
			default:
				common = now
			}
		}
		if err := did.unknown(func(s same.Statement) bool { _, ok := sums[s]; return ok }); err != nil {
			return err
		}
	}
	return nil
}
