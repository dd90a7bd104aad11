package compile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/driver/toolcmd"
	"gnvcc/rewrite/fold"
	"gnvcc/rewrite/fold/same"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/source"
)

// What a source variant could fold. cicc computes sin(1.7) by itself, with other bits than the GPU,
// and a launch on which the factor is 0 does not show it. So before a kernel is compiled for known
// values, or with its loops unrolled, rewrite/fold looks at all mathematical functions that it
// calls: in the PTX of the untouched text at -O1, where they are still calls. That is one more run
// of cicc for a text, of which the PTX is kept, and none where no kernel in question has such
// functions.

// sameBits is an error where a variant could have other bits than the kernel, by what is known
// before it is compiled.
func (b *Workbench) sameBits(ctx context.Context, t *record.Translation, call *toolcmd.Cicc,
	unit *source.Unit, module *ptx.Module, signature []string, v variantOf) error {
	if v.approximate() {
		return nil // other bits are what the user allowed
	}
	fixed, err := v.fixed(unit, signature)
	if err != nil {
		return err
	}
	if same.Rereads(module, v.entry) {
		return errors.New("it loads as constant what it stores itself: a variant may find another number")
	}
	if err := fold.Undefined(module, v.entry, fixed); err != nil {
		return undefined{err}
	}
	if err := fold.Unlike(module, v.entry); err != nil {
		return undefined{err}
	}
	if fold.Suspect(module, v.entry) {
		early, err := b.early(ctx, t, call)
		if err != nil {
			return fmt.Errorf("compile %s at -O1, to see what constants would change: %w", v.entry, err)
		}
		if err := fold.Check(early, v.entry, fixed, unit.DefinesC); err != nil {
			return err
		}
	}
	_, err = fold.Contracts(module, v.entry, fixed)
	return err
}

// undefined is an error that no proof takes back: the variant has no number where the kernel has
// one.
type undefined struct{ error }

// isUndefined tells of such an error.
func isUndefined(err error) bool {
	var u undefined
	return errors.As(err, &u)
}

// fixed is what the variant knows that the kernel does not.
func (v variantOf) fixed(unit *source.Unit, signature []string) (fold.Fixed, error) {
	fixed := fold.Fixed{Params: map[int]bool{}, Dims: map[string]bool{}, Integers: map[string]int64{}}
	k, err := unit.Kernel(v.entry)
	if err != nil {
		return fixed, err
	}
	for _, term := range v.terms {
		if term.Lever != recipe.Second {
			continue
		}
		c, err := k.Conditions(term, source.Options{Signature: signature, Alone: v.alone})
		if err != nil {
			return fixed, err
		}
		for _, a := range c.Arguments {
			if a.Align == 0 {
				fixed.Params[a.Index] = true
				var b [8]byte
				copy(b[:], a.Bytes)
				place := fmt.Sprintf("%d+%d", a.Index, a.Offset)
				fixed.Integers[place] = int64(binary.LittleEndian.Uint64(b[:]))
			}
		}
		for i, axis := range []string{"x", "y", "z"} {
			if c.Block[i] != 0 {
				fixed.Dims["ntid."+axis] = true
				fixed.Integers["ntid."+axis] = int64(c.Block[i])
			}
			if c.Grid[i] != 0 {
				fixed.Dims["nctaid."+axis] = true
				fixed.Integers["nctaid."+axis] = int64(c.Grid[i])
			}
		}
	}
	return fixed, nil
}

// approximate tells of a variant that is to have other bits.
func (v variantOf) approximate() bool {
	return slices.ContainsFunc(v.terms, func(t recipe.Term) bool { return t.Lever == "fastmath" })
}

const memoEarly cache.Memos[keptVariant] = "early"

// early is the PTX of the untouched text at -O1.
func (b *Workbench) early(ctx context.Context, t *record.Translation,
	call *toolcmd.Cicc) (*ptx.Module, error) {
	return b.compiled(ctx, t, call.And("-O1"), memoEarly, nil, func() ([]byte, error) {
		return b.Store.Object(t.Input)
	})
}

// compiled is the PTX of a text by a call of cicc, kept by the call, the untouched text and what
// the text is a variant of (of).
func (b *Workbench) compiled(ctx context.Context, t *record.Translation, call *toolcmd.Cicc,
	memo cache.Memos[keptVariant], of []string, text func() ([]byte, error)) (*ptx.Module, error) {
	id, err := cache.FileKey(t.Cicc)
	if err != nil {
		return nil, fmt.Errorf("look at cicc: %w", err)
	}
	key := cache.HashOf(append([]string{string(memo) + " 2", t.Input, id,
		strings.Join(call.Template(), "\x00"), t.Module}, of...)...)
	return once(ctx, b.flights, string(memo)+" "+key, func() (*ptx.Module, bool, error) {
		kept, ok := memo.Get(b.Store, key)
		switch {
		case !ok:
			return nil, false, nil
		case kept.Error != "":
			return nil, true, errors.New(kept.Error)
		}
		content, err := b.Store.Object(kept.PTX)
		if err != nil {
			return nil, false, nil
		}
		m, err := ptx.Parse(content)
		return m, true, err
	}, func() (*ptx.Module, error) {
		input, err := text()
		if err != nil {
			return nil, err
		}
		content, err := b.cicc(ctx, t, call, input,
			string(memo)+strconv.FormatInt(b.count.Load(), 10))
		if err != nil && (ctx.Err() != nil || transient(err)) {
			return nil, err
		}
		var module *ptx.Module
		if err == nil {
			module, err = ptx.Parse(content)
		}
		b.keepMemo(memo, key, compiledVariant{module: module}, err)
		return module, err
	})
}
