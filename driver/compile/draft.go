package compile

import (
	"context"
	"fmt"

	"gnvcc/cache"
)

// Drafts: a source variant for a search, from the kernel's slice (rewrite/source, Slice) instead of
// the complete text; cicc takes a fifth of the time, or less. A search makes dozens and
// adopts one.
//
// A draft is never what a build takes, and is kept apart from variants of the complete text:
//
//   - Drafts are made of a kernel only where the slice of the untouched text gives the kernel that
//     the complete text gives, in normal form.
//   - What is adopted is compiled from the complete text first (policy/search, whole), and measured
//     again if that is other code. Then no more drafts are made of that kernel.
//   - A build compiles the complete text, as ever, and compares normal forms.
//
// Whatever fails here is compiled from the complete text.

// memoSlice says why a kernel can't have drafts; no error where it can.
const memoSlice cache.Memos[keptOf[struct{}]] = "slice"

const aSlice = "slice" // request.key of it

// trusted returns an error where a kernel's slice does not give what the complete text gives.
func (b *Workbench) trusted(ctx context.Context, r request) error {
	_, err := recall(ctx, b.Store, b.flights, memoSlice, r.key(aSlice), nil,
		func() (none struct{}, err error) {
			text, err := b.Store.Object(r.translation.Input)
			if err != nil {
				return none, err
			}
			read, err := b.ofText(ctx, r, text, true)
			if err != nil {
				return none, err
			}
			want := normalOf(r.module, r.v.entry)
			if got := normalOf(read, r.v.entry); got != want || want == "" {
				err = fmt.Errorf("the slice of %s gives other code (%.8s) than the complete text (%.8s)",
					r.v.entry, got, want)
			}
			return none, err
		})
	return err
}

// distrust ends the drafts of a kernel of which one was other code than what the complete text gives.
func (b *Workbench) distrust(r request, m compiledVariant) {
	kept, ok := memoDraft.Get(b.Store, r.variantKey())
	if !ok || kept.Error != "" || kept.Value.Normal == m.normal {
		return
	}
	b.Log.Warn().Str("kernel", r.v.entry).Str("variant", r.v.String()).Msg(
		"its candidates were other code than builds make: they are compiled from the complete text from now on")
	memoSlice.Put(b.Store, r.key(aSlice),
		keptOf[struct{}]{Error: "a draft was other code than the complete text gives"})
}
