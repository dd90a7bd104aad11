package compile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/toolcmd"
	"gnvcc/rewrite/contract"
	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/fold/same"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/source"
)

// Source variants that round as nvcc's own build does. Which products cicc and ptxas contract with
// which sums depends on everything near them, and so may be other ones in a variant. So that choice
// is taken from them: the variant is compiled with -fmad=0, by which each product and each sum is
// rounded by itself, and what nvcc's own build does with a sum is written into it
// (rewrite/contract; docs/contraction.md has why that is sound). What that was is read once for a
// kernel: from the kernel by -fmad=0, from its PTX, and where that leaves it open from the machine
// code.
//
// A kernel or variant of which it can't be told is compiled as ever, and proved (proof.go).

// keptOwn is the memo of what nvcc's own build does with a kernel's sums.
type keptOwn struct {
	Sums  contract.Sums // of the kernel by -fmad=0
	Whole bool          // compiled from the whole text: the slice gives other code
	Error string        `json:",omitempty"`
}

const memoOwn cache.Memos[keptOwn] = "own"

// strict is for code in which nothing is contracted.
func (l lines) strict() lines {
	l.call = strictly(l.call)
	return l
}

// strictly is a call that contracts nothing and says where its code comes from.
func strictly(call *toolcmd.Cicc) *toolcmd.Cicc { return withLineInfo(call).With("-fmad", "0") }

// ownContraction gives the kernel by -fmad=0, and what nvcc's own build does with its sums.
func (b *Workbench) ownContraction(ctx context.Context, d draft) (strict *ptx.Module,
	sums contract.Sums, err error) {
	id, err := cache.FileKey(d.j.Tool)
	if err != nil {
		return nil, nil, fmt.Errorf("look at ptxas: %w", err)
	}
	key, err := d.sliceKey()
	if err != nil {
		return nil, nil, err
	}
	key = cache.HashOf("own 1", key, id, strings.Join(d.j.Call.Template(), "\x00"))
	kept, err := once(ctx, b.flights, string(memoOwn)+" "+key, func() (keptOwn, bool, error) {
		kept, ok := memoOwn.Get(b.Store, key)
		return kept, ok, nil
	}, func() (keptOwn, error) {
		kept, err := b.readOwn(ctx, d)
		if err != nil {
			if ctx.Err() != nil || transient(err) {
				return kept, err
			}
			kept.Error = err.Error()
		}
		memoOwn.Put(b.Store, key, kept)
		return kept, nil
	})
	if err != nil {
		return nil, nil, err
	}
	if kept.Error != "" {
		return nil, nil, errors.New(kept.Error)
	}
	strict, err = b.strictOwn(ctx, d, !kept.Whole)
	return strict, kept.Sums, err
}

// strictOwn is the kernel by -fmad=0, from its slice or the whole text.
func (b *Workbench) strictOwn(ctx context.Context, d draft, sliced bool) (*ptx.Module, error) {
	var of []string
	if sliced {
		of = []string{d.v.entry, cache.OwnKey()}
	}
	l := lines{t: d.t, call: d.call, module: d.module}.strict()
	return b.linesOf(ctx, l, of, d.v.entry, sliced, func() ([]byte, error) {
		return b.Store.Object(d.t.Input)
	})
}

// readOwn is ownContraction where nothing is kept.
func (b *Workbench) readOwn(ctx context.Context, d draft) (out keptOwn, err error) {
	entry := d.v.entry
	made, err := b.contractedOf(ctx, d.j, d.module, entry)
	switch {
	case err != nil:
		return out, err
	case made.Scaled:
		return out, errors.New("ptxas scales a product with a power of two in it")
	case made.Strange != "":
		return out, errors.New(made.Strange)
	}
	list, err := statedIn(d.module, entry)
	if err != nil {
		return out, err
	}
	open, err := leftIn(d.module, entry)
	if err != nil {
		return out, err
	}
	with := map[same.Statement]int{}
	for s := range open {
		with[s] = contract.Unclear
	}
	for _, s := range slices.Concat(made.Sums, made.Inner) {
		with[list[s.Stmt]] = s.With
	}
	// A build has the whole text of all its kernels in one run of cicc.
	for _, out.Whole = range []bool{!b.only, b.only} {
		var strict *ptx.Module
		if strict, err = b.strictOwn(ctx, d, !out.Whole); err != nil {
			if ctx.Err() != nil || transient(err) {
				return out, err
			}
			continue
		}
		out.Sums, err = contract.Own(strict, d.module, entry, func(f *ptx.Func, stmt int) int {
			if of, ok := with[same.Statement{Func: f, Index: stmt}]; ok {
				return of
			}
			return contract.Alone
		})
		if err == nil {
			break
		}
	}
	return out, err
}

// strict is a variant's PTX that rounds as nvcc's own build does. functions is why a compiler may
// have computed a function in it, nil where it can't have.
func (b *Workbench) strict(ctx context.Context, d draft, unit *source.Unit, text []byte, from slice,
	fixed fold.Fixed, functions error) (*ptx.Module, error) {
	own, sums, err := b.ownContraction(ctx, d)
	if err != nil {
		return nil, err
	}
	variant, err := b.strictLined(ctx, d, from != noSlice, func() ([]byte, error) { return text, nil })
	if err != nil {
		return nil, err
	}
	if err := b.writeOwn(ctx, d, unit, own, sums, variant, fixed, functions); err != nil {
		return nil, err
	}
	return withoutLines(d.call, variant)
}

// strictLined is a variant by -fmad=0, with line information.
func (b *Workbench) strictLined(ctx context.Context, d draft, sliced bool,
	text func() ([]byte, error)) (*ptx.Module, error) {
	l := lines{d.t, d.call, nil, d.module, d.signature}.strict()
	m, err := b.compiledLines(ctx, l, d.v, sliced, text)
	if err != nil {
		return nil, err
	}
	return m.Clone(), nil
}

// writeOwn writes into a variant what nvcc's own build does with the sums of its kernel.
func (b *Workbench) writeOwn(ctx context.Context, d draft, unit *source.Unit, own *ptx.Module,
	sums contract.Sums, variant *ptx.Module, fixed fold.Fixed, functions error) error {
	known, err := fold.Known(own, d.v.entry, fixed)
	if err != nil {
		return err
	}
	kernel := contract.Kernel{Module: own, Entry: d.v.entry, Sums: sums, Known: known}
	if functions != nil {
		if err := b.sameFolds(ctx, d, unit, kernel, variant, fixed); err != nil {
			return err
		}
	}
	of, err := contract.Match(kernel, variant)
	if err != nil {
		return err
	}
	for name, list := range of {
		left, err := contract.Write(variant.Func(name), list)
		switch {
		case err != nil:
			return err
		case len(left) > 0:
			return errors.New("a contracted sum can't be written")
		}
	}
	if leaves(variant, d.v.entry) {
		return errors.New("it leaves sums to ptxas also by -fmad=0")
	}
	return nil
}

// sameFolds is an error where a compiler may have computed a function in a variant: fewer of what
// may have been are there (contract.Present), or ptxas may compute an approximate instruction.
func (b *Workbench) sameFolds(ctx context.Context, d draft, unit *source.Unit,
	kernel contract.Kernel, variant *ptx.Module, fixed fold.Fixed) error {
	if same.Rereads(d.module, d.v.entry) {
		return errRereads
	}
	early, err := b.early(ctx, d.t, d.call)
	if err != nil {
		return err
	}
	doubts, err := fold.Doubts(early, d.v.entry, fixed, unit.DefinesC)
	if err != nil {
		return err
	}
	places, of := map[string]bool{}, map[*ptx.Func][]string{}
	for _, doubt := range doubts {
		if of[doubt.Func] == nil {
			if of[doubt.Func], err = contract.Places(early, doubt.Func); err != nil {
				return err
			}
		}
		at := of[doubt.Func][doubt.Stmt]
		if at == "" {
			return fmt.Errorf("%s (it is not known where)", doubt.Why)
		}
		places[at] = true
	}
	if err := contract.Present(kernel, variant, places); err != nil {
		return err
	}
	if err := contract.Begins(kernel, variant); err != nil {
		return err
	}
	return nil
}
