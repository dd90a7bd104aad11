package compile

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/driver/toolcmd"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/source"
)

// Drafts: a source variant for a search, from the kernel's slice (rewrite/source, Slice) instead of
// the whole text; cicc takes a fifth of the time (bench/candidates). A search makes dozens and
// adopts one.
//
// A draft is never what a build takes, and is kept apart from variants of the whole text:
//
//   - Drafts are made of a kernel only where the slice of the untouched text gives the kernel that
//     the whole text gives, in normal form.
//   - What is adopted is compiled from the whole text first (policy/search, whole), and measured
//     again if that is other code. Then no more drafts are made of that kernel.
//   - A build compiles the whole text, as ever, and compares normal forms.
//
// Where there is something of the kernel that proofs look at, its drafts are compiled with line
// information, which goes again: that adds little to a run of cicc, and a proof needs no other.
//
// Whatever fails here is compiled from the whole text.

const (
	memoDraft cache.Memos[keptVariant] = "draft"
	// whether a kernel's drafts have line information, or why it has none
	memoSlice cache.Memos[keptOf[bool]] = "slice"
)

// A slice says what variants are compiled from.
type slice uint8

const (
	noSlice    slice = iota // the whole text
	plainSlice              // the kernel's slice
	linedSlice              // the same, with line information
)

// A draft is a variant to be made from a slice.
type draft struct {
	t         *record.Translation
	module    *ptx.Module // of the untouched text
	call      *toolcmd.Cicc
	signature []string
	v         variantOf
	key       string // of the variant
}

// draftless says why a draft can't be had: the whole text may give a variant. Other errors are
// refusals that the whole text would give, too.
type draftless struct{ error }

func (e draftless) Unwrap() error { return e.error }

func draftKey(key string) string { return cache.HashOf("draft 1", key) }

// sliceKey is what the test of a kernel's slice depends on.
func (d draft) sliceKey() (string, error) {
	id, err := cache.FileKey(d.t.Cicc)
	if err != nil {
		return "", fmt.Errorf("look at cicc: %w", err)
	}
	return cache.HashOf("slice 2", d.t.Input, id, strings.Join(d.call.Template(), "\x00"),
		d.t.Module, d.v.entry, cache.OwnKey()), nil
}

// drafted gives the variant, made from the kernel's slice.
func (b *Workbench) drafted(ctx context.Context, d draft) (compiledVariant, error) {
	key := draftKey(d.key)
	return once(ctx, b.flights, key, func() (compiledVariant, bool, error) {
		m, ok, err := b.recallMemo(memoDraft, key)
		m.draft = ok
		return m, ok, err
	}, func() (compiledVariant, error) {
		from, err := b.trusted(ctx, d)
		if err != nil {
			return compiledVariant{}, draftless{err}
		}
		m, err := b.compileVariant(ctx, d, from)
		if err != nil && (ctx.Err() != nil || transient(err) || errors.As(err, new(draftless))) {
			return compiledVariant{}, err
		}
		if err == nil {
			b.remember(key, m)
		}
		b.keepMemo(memoDraft, key, m, err)
		return m, err
	})
}

// trusted says how drafts are made of a kernel. An error: its slice does not give what the whole
// text gives.
func (b *Workbench) trusted(ctx context.Context, d draft) (slice, error) {
	key, err := d.sliceKey()
	if err != nil {
		return noSlice, err
	}
	lined, err := recall(ctx, b.Store, b.flights, memoSlice, key, nil, func() (bool, error) {
		lined, err := b.compareSlice(ctx, d)
		if err != nil && ctx.Err() == nil && !transient(err) {
			b.Log.Debug().Str("kernel", d.v.entry).Err(err).Msg(
				"its candidates are compiled from the whole text")
		}
		return lined, err
	})
	switch {
	case err != nil:
		return noSlice, err
	case lined:
		return linedSlice, nil
	}
	return plainSlice, nil
}

// compareSlice compiles the slice of the untouched text: with lines where that gives the same.
func (b *Workbench) compareSlice(ctx context.Context, d draft) (lined bool, err error) {
	if left(d.module, d.v.entry) {
		_, err := b.linedOwn(ctx, lines{t: d.t, call: d.call, module: d.module}, d.v.entry, true)
		if err == nil || ctx.Err() != nil || transient(err) {
			return err == nil, err
		}
	}
	text, err := b.Store.Object(d.t.Input)
	if err != nil {
		return false, err
	}
	if text, err = source.Slice(text, d.v.entry); err != nil {
		return false, err
	}
	content, err := b.cicc(ctx, d.t, d.call, text, "slice")
	if err != nil {
		return false, err
	}
	read, err := ptx.Parse(content)
	if err != nil {
		return false, fmt.Errorf("read the slice's PTX: %w", err)
	}
	want := normalOf(d.module, d.v.entry)
	if got := normalOf(read, d.v.entry); got != want || want == "" {
		return false, fmt.Errorf("the slice of %s gives other code (%.8s) than the whole text (%.8s)", d.v.entry,
			got, want)
	}
	return false, nil
}

// distrust ends the drafts of a kernel of which one was other code than what the whole text gives.
func (b *Workbench) distrust(d draft, m compiledVariant) {
	kept, ok := memoDraft.Get(b.Store, draftKey(d.key))
	if !ok || kept.Error != "" || kept.Normal == m.normal {
		return
	}
	b.Log.Warn().Str("kernel", d.v.entry).Str("variant", d.v.String()).Msg(
		"its candidates were other code than builds make: they are compiled from the whole text from now on")
	if key, err := d.sliceKey(); err == nil {
		memoSlice.Put(b.Store, key, keptOf[bool]{Error: "a draft was other code than the whole text gives"})
	}
}
