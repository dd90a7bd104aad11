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
// Whatever fails here is compiled from the whole text.

const (
	memoDraft cache.Memos[keptVariant] = "draft"
	// why a kernel can't have drafts, no error where it can
	memoSlice cache.Memos[keptOf[struct{}]] = "slice"
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
	return cache.HashOf("slice 3", d.t.Input, id, strings.Join(d.call.Template(), "\x00"),
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
		if err := b.trusted(ctx, d); err != nil {
			return compiledVariant{}, draftless{err}
		}
		m, err := b.compileVariant(ctx, d, true)
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

// trusted returns an error where a kernel's slice does not give what the whole text gives.
func (b *Workbench) trusted(ctx context.Context, d draft) error {
	key, err := d.sliceKey()
	if err != nil {
		return err
	}
	_, err = recall(ctx, b.Store, b.flights, memoSlice, key, nil, func() (none struct{}, err error) {
		if err = b.compareSlice(ctx, d); err != nil && ctx.Err() == nil && !transient(err) {
			b.Log.Debug().Str("kernel", d.v.entry).Err(err).Msg(
				"its candidates are compiled from the whole text")
		}
		return none, err
	})
	return err
}

// compareSlice compiles the slice of the untouched text.
func (b *Workbench) compareSlice(ctx context.Context, d draft) error {
	text, err := b.Store.Object(d.t.Input)
	if err != nil {
		return err
	}
	if text, err = source.Slice(text, d.v.entry); err != nil {
		return err
	}
	content, err := b.cicc(ctx, d.t, d.call, text, "slice")
	if err != nil {
		return err
	}
	read, err := ptx.Parse(content)
	if err != nil {
		return fmt.Errorf("read the slice's PTX: %w", err)
	}
	want := normalOf(d.module, d.v.entry)
	if got := normalOf(read, d.v.entry); got != want || want == "" {
		return fmt.Errorf("the slice of %s gives other code (%.8s) than the whole text (%.8s)", d.v.entry,
			got, want)
	}
	return nil
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
		memoSlice.Put(b.Store, key, keptOf[struct{}]{Error: "a draft was other code than the whole text gives"})
	}
}
