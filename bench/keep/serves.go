package main

import (
	"context"
	"os"

	"gnvcc/cache"
	"gnvcc/policy/check"
	"gnvcc/rewrite/counters"
	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/recipe"
)

// Which launches a recipe serves, by the rule of policy/check: what of nvcc's own code and of the
// variant's runs is counted, in the launches of the first draw of each kind.

// serves counts, and says by which launches a variant may be used: "all", "pins" (some arguments are
// those of the check's launches), "same" (all integers, and the grid), "never".
// why is what stands against counting.
func (k *kernel) serves(ctx context.Context, p *pair) (c check.Coverage, word string, why error) {
	c = check.CoverageOf(nil, nil)
	decided := check.ArgumentsOf(p.source.Module.Entry(p.source.Kernel))
	own, variant, why := k.counted(ctx, p)
	if why == nil {
		c = check.CoverageOf([]*cache.Counts{own}, []*cache.Counts{variant})
	}
	switch {
	case c.Never() != "" || !c.Counted && decided.Data:
		return c, "never", why
	case c.Unchecked() != "":
		for _, v := range p.values {
			if v.Class == lowered.Pointer && decided.Decides(v.Argument, v.Offset, v.Bits/8) {
				return c, "never", why
			}
		}
		return c, "same", why
	case len(c.Pins) > 0:
		return c, "pins", why
	}
	return c, "all", why
}

// counted runs builds with counters.
func (k *kernel) counted(ctx context.Context, p *pair) (own, variant *cache.Counts, err error) {
	if own, err = k.count(ctx, p, recipe.Recipe{}); err == nil {
		variant, err = k.count(ctx, p, p.recipe)
	}
	return own, variant, err
}

func (k *kernel) count(ctx context.Context, p *pair, r recipe.Recipe) (*cache.Counts, error) {
	made, c, err := p.compiler.Counting(ctx, p.source, r)
	if err != nil {
		return nil, err
	}
	q := *p // two modules would have one table
	text, err := os.ReadFile(made.Path)
	if err != nil {
		return nil, err
	}
	if r.IsDefault() {
		q.own = text
	} else {
		q.other, q.entry = text, made.Entry
	}
	ran := make([]uint64, len(c))
	for _, d := range draws(k.seed)[:check.Kinds] {
		l, err := q.launch(k.shape, k.seed, d)
		if err != nil {
			return nil, err
		}
		program, launch := l.first, l.own
		if !r.IsDefault() {
			program, launch = l.second, l.instead
		}
		launch.Done, launch.Limit = ctx.Done(), 100*ownLimit
		if _, err := program.Run(l.memory, launch); err != nil {
			return nil, err
		}
		for _, b := range l.memory.Buffers() {
			if b.Name == counters.Table {
				sums, err := c.Sum(b.Bytes)
				if err != nil {
					return nil, err
				}
				for i := range sums {
					ran[i] += sums[i]
				}
			}
		}
	}
	return check.Counted(c, ran), nil
}

// pinned reports whether a launch that the recipe serves has the usual value at a place.
func (d *draw) pinned(p *pair, at recipe.Place) bool {
	if !d.others || d.served == nil {
		return !d.others
	}
	for _, v := range p.values {
		if v.Place() == at {
			return d.served.Pinned(v.Argument, v.Offset, v.Bits/8) && (v.Class == lowered.Integer ||
				v.Class == lowered.Float && check.ArgumentsOf(p.source.Module.Entry(p.source.Kernel)).Decides(v.Argument, v.Offset, v.Bits/8))
		}
	}
	return d.served.Unchecked() != ""
}
