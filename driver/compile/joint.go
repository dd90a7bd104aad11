package compile

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"gnvcc/rewrite"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/source"
)

// One run of cicc for several kernels. A machine that did not tune has the decisions and none of
// the variants: k kernels with source recipes would cost k runs of cicc at the first build. So
// those that don't stand in each other's way (rewrite/source, Together) are rewritten in one text.
// What comes out is taken for a kernel only where its normal form is the one that the tuner
// measured, which the decision holds (lulesh of HeCBench on nvcc 13.0: 15 kernels with source
// recipes by one run instead of 15, all of them the same); a kernel whose code is another one there
// (LLVM inlines by how many callers there are), or of which that is not known, is compiled alone.

// together makes the variants that recipes ask for and that are not there yet, as far as they can
// be made in one text, and keeps them. Whatever fails here is left to be made alone.
func (b *Workbench) together(ctx context.Context, in input, recipes map[string]recipe.Recipe) {
	if in.translation == nil || len(b.Normals) == 0 {
		return
	}
	unit, err := b.unit(in.translation.Input)
	if err != nil {
		return
	}
	var wanted []request
	var requests []source.Request
	for _, name := range slices.Sorted(maps.Keys(recipes)) {
		for _, v := range askedOf(name, recipes[name]) {
			r, err := requestOf(in, v)
			if err != nil || b.Normals[name][v.String()] == "" {
				continue
			}
			if _, known := memoVariant.Get(b.Store, r.key()); known {
				continue
			}
			if v.refused(unit, in.module, r.signature) != nil {
				continue // the reason is given where it is made alone
			}
			wanted = append(wanted, r)
			requests = append(requests, source.Request{Entry: v.entry, Terms: v.terms,
				Signature: r.signature})
		}
	}
	if len(requests) < 2 {
		return
	}
	for n, j := range unit.Together(requests) {
		if len(j.Requests) < 2 {
			continue
		}
		content, err := b.cicc(ctx, in.translation, wanted[0].call, j.Text, fmt.Sprintf("together%d", n))
		if err != nil {
			b.Log.Debug().Err(err).Msg("kernels are not compiled together")
			continue
		}
		read, err := ptx.Parse(content)
		if err != nil {
			b.Log.Debug().Err(err).Msg("kernels are not compiled together")
			continue
		}
		for _, i := range j.Requests {
			v, key := wanted[i].v, wanted[i].key()
			m := compiledVariant{module: read, normal: normalOf(read, v.entry)}
			if m.normal != b.Normals[v.entry][v.String()] {
				b.Log.Debug().Str("kernel", v.entry).Msg("compiled alone: beside others its code is not what was measured")
				continue
			}
			b.remember(key, m)
			if hash, err := b.Store.PutObject(m.module.Bytes()); err == nil {
				memoVariant.Put(b.Store, key, keptOf[keptVariant]{Value: keptVariant{hash, m.normal}})
			}
		}
	}
}

// Asked are the texts of the variants that a recipe asks of the source: what evidence of it is kept
// by (Evidence.Normals).
func Asked(name string, r recipe.Recipe) []string {
	var out []string
	for _, v := range askedOf(name, r) {
		out = append(out, v.String())
	}
	return out
}

// askedOf are these variants.
func askedOf(name string, r recipe.Recipe) []variantOf {
	seconds, err := secondsOf(name, r)
	if err != nil {
		return nil
	}
	var out []variantOf
	for _, s := range seconds {
		if !s.plain() {
			out = append(out, s.variant())
		}
	}
	if terms := rewrite.At(r, rewrite.Source).Terms; len(seconds) == 0 && len(terms) > 0 {
		out = append(out, variantOf{entry: name, terms: terms})
	}
	return out
}
