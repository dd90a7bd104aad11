package compile

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/job"
	"gnvcc/driver/record"
	"gnvcc/rewrite"
	"gnvcc/rewrite/contract"
	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/fold/same"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/ptx/dataflow"
)

// Contraction as in nvcc's own build. Which products ptxas contracts with which sums, where cicc
// left that to it, may change with everything near them: two guarded loads in place of one made it
// take the other product of x*y - z*w (ptxas 13.0.88, sm_90). So what it did in the kernel is read
// in the machine code, once for a kernel, and written into the PTX of what a recipe makes of it
// (rewrite/contract). What PTX has no words for is compared afterwards.

// ownSums is what ptxas did with a kernel's sums that were left to it.
type ownSums struct {
	Sums []contract.Sum // Stmt is the place in statedIn's list
	// All is what it did with every sum of the kernel that was left to it, where that is one thing
	// and never a choice of two products; else unclear.
	All outcome
	// Scaled: it scaled a product with a power of two.
	Scaled bool
	// Odd is a sum with no product in the PTX that ptxas contracted, or may have; "": there is none.
	Odd string
}

const memoContracted cache.Memos[keptOf[ownSums]] = "contracted"

// asRewritten is the doubt of an entry whose PTX is rewritten, and of which something is left to
// ptxas that PTX has no words for.
const asRewritten = "which products are contracted with their sums is left to ptxas, and the " +
	"code near them is rewritten"

// contractedOf reads what ptxas did in nvcc's own build of an entry: with the sums that were left
// to it, or with all that name no rounding.
func (b *Workbench) contractedOf(ctx context.Context, j *job.Job, module *ptx.Module,
	entry string, all bool) (ownSums, error) {
	var none ownSums
	sums, err := leftIn(module, entry)
	if err != nil || len(sums) == 0 && !scales(module, entry) && !all {
		return none, err
	}
	id, err := cache.FileKey(j.Tool)
	if err != nil {
		return none, fmt.Errorf("look at ptxas: %w", err)
	}
	code, err := module.Identity(entry)
	if err != nil {
		return none, err
	}
	key := cache.HashOf("contracted 4", fmt.Sprint(all), code.String(), id,
		strings.Join(j.Call.Template(), "\x00"),
		cache.OwnKey())
	return recall(ctx, b.Store, b.flights, memoContracted, key, nil, func() (ownSums, error) {
		return b.readContracted(ctx, j, module, entry, sums, all)
	})
}

// readContracted is contractedOf where nothing is kept. sums are leftIn's.
func (b *Workbench) readContracted(ctx context.Context, j *job.Job, module *ptx.Module,
	entry string, sums map[same.Statement]bool, all bool) (out ownSums, err error) {
	list, err := statedIn(module, entry)
	if err != nil {
		return out, err
	}
	did, err := b.done(ctx, j, module, entry, module, entry, nil)
	if err != nil {
		return out, err
	}
	out.Scaled = did.scaledAny()
	first := true
	var open []int
	for n, s := range list {
		is := did.did[s]
		both, left := sums[s]
		if !left {
			if all && fold.FreeSum(s.Func, s.Index) {
				out.alone(n, s, is)
			}
			continue
		}
		if s.Func.Entry {
			if with, ok := did.madeWith(s, both); ok {
				out.Sums = append(out.Sums, contract.Sum{Stmt: n, With: with})
			} else if both && is == contracted {
				open = append(open, n)
			}
		}
		switch {
		case is != alone && is != contracted, is == contracted && both, !first && is != out.All:
			out.All, first = unclear, false
		case first:
			out.All, first = is, false
		}
	}
	if len(open) > 0 && len(open) <= mostOpen {
		more, err := b.tried(ctx, j, module, entry, open)
		if err != nil && (ctx.Err() != nil || transient(err)) {
			return out, err
		}
		out.Sums = append(out.Sums, more...)
	}
	return out, nil
}

// mostOpen bounds the sums that are tried.
const mostOpen = 16

// tried finds with which of its products each of some sums is contracted, where the machine code
// does not show it: written into nvcc's own PTX, the right one gives nvcc's own machine code, byte
// for byte. Sums of which none does are left out.
func (b *Workbench) tried(ctx context.Context, j *job.Job, module *ptx.Module, entry string,
	open []int) (found []contract.Sum, err error) {
	var flags []string
	if !j.Call.Reloc && len(module.Entries()) > 1 {
		flags = []string{"--entry", entry}
	}
	own, _, err := b.ptxas(ctx, j, module.Bytes(), flags)
	for n := 0; err == nil && n < 2*len(open); n++ {
		sum := contract.Sum{Stmt: open[n/2], With: n % 2}
		m := module.Clone()
		if err := writeSums(m, entry, []contract.Sum{sum}); err != nil {
			return nil, err
		}
		var code []byte
		if code, _, err = b.ptxas(ctx, j, m.Bytes(), flags); err == nil && !bytes.Equal(m.Bytes(),
			module.Bytes()) && sameCode(own, code) == nil {
			found = append(found, sum)
			n |= 1 // the other one need not be asked
		}
	}
	return found, err
}

// alone notes a sum that no product goes into: it is rounded by itself, also where a factor or a
// divisor becomes a number that makes a product of something.
func (o *ownSums) alone(n int, s same.Statement, is outcome) {
	if is != alone && is != gone || !s.Func.Entry {
		o.Odd = cmp.Or(o.Odd, text(s))
	} else {
		o.Sums = append(o.Sums, contract.Sum{Stmt: n, With: contract.Alone})
	}
}

// madeWith says what a sum is contracted with, as rewrite/contract has it.
func (d *outcomes) madeWith(sum same.Statement, both bool) (with int, ok bool) {
	switch is := d.did[sum]; {
	case is == alone:
		return contract.Alone, true
	case is != contracted:
		return 0, false
	case both:
		with = d.contractedWith(sum)
		return with, with >= 0
	}
	if of := d.factored(sum); len(of) > 0 {
		return of[0], true
	}
	return 0, false
}

// contract writes nvcc's own contraction into the entries that a plan changes.
func (b *Workbench) contract(ctx context.Context, j *job.Job, t *record.Translation, module,
	whole *ptx.Module, p *plan) (*ptx.Module, error) {
	doubts := map[string]doubted{}
	for _, d := range p.doubted {
		doubts[d.name] = d
	}
	sources := map[string]bool{}
	for _, v := range p.variants {
		sources[cmp.Or(v.Second, v.Entry)] = v.Module != module
	}
	out := whole
	for _, name := range slices.Sorted(maps.Keys(p.passes)) {
		exact := rewrite.ExactnessOf(p.passes[name])
		kernel, _ := kernelOf(name)
		changed := exact == rewrite.Checked
		d, doubtful := doubts[name]
		if sources[name] {
			changed = doubtful && !d.approximate()
		}
		if !changed || exact == rewrite.Approximate {
			continue
		}
		own, err := b.contractedOf(ctx, j, module, kernel, false)
		if err != nil && (ctx.Err() != nil || transient(err)) {
			return nil, err
		}
		if out == whole {
			out = whole.Clone()
		}
		switch {
		case !sources[name]:
			if err = writeSums(out, name, own.Sums); err == nil && (leaves(out, name) ||
				own.Odd != "") {
				p.doubted = append(p.doubted, doubted{variantOf{entry: kernel},
					compiledVariant{doubt: asRewritten}, kernel, name})
			}
		case d.doubt == leftToCompilers && own.All != unclear:
			err = writeAll(out, name, own.All)
		case len(own.Sums) > 0 && b.mode != forDraft && t != nil && leaves(out, name):
			// Where it can't be told, the proof says so.
			var sums []contract.Sum
			if sums, err = b.matchedSums(ctx, j, t, module, d); err == nil {
				err = writeSums(out, name, sums)
			} else if ctx.Err() == nil && !transient(err) {
				err = nil
			}
		}
		if err == nil && scales(out, name) {
			switch left := leaves(out, name); {
			case !own.Scaled && !left:
				err = writeProducts(out, name)
			case !sources[name] && !left:
				p.doubted = append(p.doubted, doubted{variantOf{entry: kernel},
					compiledVariant{doubt: asRewritten}, kernel, name})
			}
		}
		if err != nil {
			return nil, fmt.Errorf("write into %s what is contracted in it: %w", name, err)
		}
	}
	return out, nil
}

// matchedSums says of a source variant's sums what ptxas did in nvcc's own build with those of
// which they are copies.
func (b *Workbench) matchedSums(ctx context.Context, j *job.Job, t *record.Translation,
	module *ptx.Module, d doubted) ([]contract.Sum, error) {
	own, variant, fixed, err := b.sides(ctx, t, module, d)
	if err != nil {
		return nil, err
	}
	answer, err := b.ask(ctx, same.Built{Module: own, Entry: d.entry,
		Unfolded: d.doubt == leftToCompilers},
		same.Built{Module: variant, Entry: d.entry}, fixed)
	if err != nil {
		return nil, err
	}
	before, err := b.done(ctx, j, own, d.entry, module, d.entry, nil)
	if err != nil {
		return nil, err
	}
	list, err := statedIn(variant, d.entry)
	if err != nil {
		return nil, err
	}
	place := map[same.Statement]int{}
	for n, s := range list {
		place[s] = n
	}
	after := newOutcomes(map[same.Statement]outcome{}, map[*ptx.Func]*dataflow.Reaching{})
	var out []contract.Sum
	both := twoOf(answer)
	for _, s := range answer.Sums {
		if len(s.May) == 0 || !s.At.Func.Entry {
			continue
		}
		if err := after.follow(s.At.Func); err != nil {
			return nil, err
		}
		if with, ok := after.asIn(before, both, s); ok {
			out = append(out, contract.Sum{Stmt: place[s.At], With: with})
		}
	}
	return out, nil
}

// asIn says what a variant's sum is to be contracted with: what all those are that it may be a copy
// of.
func (d *outcomes) asIn(before *outcomes, both map[same.Statement]bool, s same.Sum) (with int,
	ok bool) {
	is, with, err := before.asOriginal(s, both)
	if err != nil || with >= 0 {
		return with, err == nil
	}
	d.did[s.At] = is
	return d.madeWith(s.At, false)
}

// writeSums writes what is known of a kernel's sums into an entry of the same code.
func writeSums(m *ptx.Module, name string, sums []contract.Sum) error {
	list, err := statedIn(m, name)
	if err != nil {
		return err
	}
	var of []contract.Sum
	for _, s := range sums {
		if s.Stmt >= len(list) || list[s.Stmt].Func != m.Entry(name) {
			return fmt.Errorf("its statement %d is not where it is in nvcc's own", s.Stmt)
		}
		of = append(of, contract.Sum{Stmt: list[s.Stmt].Index, With: s.With})
	}
	_, err = contract.Write(m.Entry(name), of)
	return err
}

// writeAll writes one thing for all sums that an entry leaves to ptxas and that have one product.
func writeAll(m *ptx.Module, name string, is outcome) error {
	if is != alone && is != contracted {
		return nil
	}
	sums, err := leftIn(m, name)
	if err != nil {
		return err
	}
	var of []contract.Sum
	did := newOutcomes(map[same.Statement]outcome{}, map[*ptx.Func]*dataflow.Reaching{})
	for s, both := range sums {
		if s.Func != m.Entry(name) {
			continue
		}
		if err := did.follow(s.Func); err != nil {
			return err
		}
		did.did[s] = is
		if with, ok := did.madeWith(s, false); ok && (!both || is == alone) {
			of = append(of, contract.Sum{Stmt: s.Index, With: with})
		}
	}
	slices.SortFunc(of, func(a, b contract.Sum) int { return cmp.Compare(a.Stmt, b.Stmt) })
	_, err = contract.Write(m.Entry(name), of)
	return err
}

// likeOwn is an error where ptxas contracts what a rewritten entry leaves to it in another way than
// in nvcc's own build of the kernel.
func (b *Workbench) likeOwn(ctx context.Context, j *job.Job, module *ptx.Module, kernel string,
	whole *ptx.Module, name string, flags []string) error {
	left, err := leftIn(whole, name)
	if err != nil {
		return err
	}
	was, err := statedIn(module, kernel)
	if err != nil {
		return err
	}
	now, err := statedIn(whole, name)
	if err != nil {
		return err
	}
	before, err := b.done(ctx, j, module, kernel, module, kernel, nil)
	if err != nil {
		return err
	}
	if len(was) != len(now) { // statements were copied: all has to be in the PTX
		for _, s := range was {
			if is := before.did[s]; fold.FreeSum(s.Func, s.Index) && is != alone && is != gone {
				if _, ok := before.madeWith(s, true); !ok {
					return fmt.Errorf("%s is, in nvcc's own build, %s, and with which product can't be told",
						text(s), is)
				}
			}
		}
		return fmt.Errorf("%s has %d floating-point statements, and %d before it is rewritten", name,
			len(now), len(was))
	}
	after, err := b.done(ctx, j, whole, name, whole, name, flags)
	if err != nil {
		return err
	}
	for n, at := range now {
		of := was[n]
		if is, own := after.did[at], before.did[of]; (is == scaled || is == partly || own == scaled ||
			own == partly) && (is != own || is == partly) {
			return fmt.Errorf("%s: in nvcc's own build %s, rewritten %s", text(at), own, is)
		}
		both, ok := left[at]
		if !ok {
			continue
		}
		with, known := before.madeWith(of, both)
		if is, clear := after.madeWith(at, both); !known || !clear || is != with {
			return fmt.Errorf("%s: in nvcc's own build %s, rewritten %s", text(at), before.did[of],
				after.did[at])
		}
	}
	return after.unknown(func(s same.Statement) bool {
		return len(after.factored(s)) > 0
	})
}
