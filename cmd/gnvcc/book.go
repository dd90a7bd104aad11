package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
)

// A book is the store as a verb uses it. Nobody owns the store for long: decisions go to the spool,
// which is safe at once, and are merged and published by whoever owns the store next, usually
// ourselves at the end. So two tuners may run side by side.
type book struct {
	ctx         context.Context
	store       *cache.Store
	approximate bool             // approximate decisions are asked for
	kept        []cache.Decision // by this book
}

// patience is how long another owner (a merge takes some 50 ms for 10,000 records) is waited for.
const patience = 10 * time.Second

// openStore opens the user's store.
func openStore() (*cache.Store, error) {
	dir, err := cache.Dir()
	if err != nil {
		return nil, err
	}
	return cache.Open(dir)
}

// newBook opens the store as openBook does, where the verb has nothing to do with it before.
func newBook(ctx context.Context) (*book, error) {
	store, err := openStore()
	if err != nil {
		return nil, err
	}
	return openBook(ctx, store)
}

// openBook brings a store up to date with what builds have noted.
func openBook(ctx context.Context, store *cache.Store) (*book, error) {
	b := &book{ctx: ctx, store: store}
	return b, b.Publish()
}

// Publish merges the spool and lets builds see the result.
func (b *book) Publish() error { return b.change(nil) }

// change does so with something done in between, nil: nothing.
func (b *book) change(fn func(*cache.Owner) error) error {
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		owner, err := b.store.Own(b.ctx)
		if err == nil {
			defer owner.Close()
			for _, note := range owner.Notes() {
				fmt.Fprintln(os.Stderr, "gnvcc:", note)
			}
			if _, err := owner.Merge(); err != nil {
				return err
			}
			if fn != nil {
				if err := fn(owner); err != nil {
					return err
				}
			}
			return owner.Publish()
		}
		if !errors.Is(err, cache.ErrOwned) || time.Since(begun) > patience || b.ctx.Err() != nil {
			return err
		}
	}
}

// Decide keeps a decision. An exact one that was measured is the last word for the builds that it
// was measured for: what had been approximated for them is taken back.
func (b *book) Decide(d cache.Decision) error {
	if !d.Approximate() && len(d.Evidence.Launches) > 0 {
		for _, old := range b.known(d.Identity) {
			if old.Approximate() && old.Recipe != "" && old.Evidence.Device == d.Evidence.Device &&
				forOne(old.For, d.For) {
				old.Recipe, old.Time = "", d.Time
				if err := b.keep(old); err != nil {
					return err
				}
			}
		}
	}
	return b.keep(d)
}

func (b *book) keep(d cache.Decision) error {
	b.kept = append(b.kept, d)
	return b.store.Spool(cache.Decisions, d.Key(), d)
}

// known are the decisions on a kernel, with those that this book has kept and nobody has published
// yet.
func (b *book) known(identity string) []cache.Decision {
	byKey := map[string]cache.Decision{}
	if sn, err := b.store.Snapshot(); err == nil {
		defer sn.Close()
		_ = sn.EachDecision(identity, func(raw []byte) error {
			var d cache.Decision
			if json.Unmarshal(raw, &d) == nil {
				d.Identity = identity
				byKey[d.Key()] = d
			}
			return nil
		})
	}
	for _, d := range b.kept {
		if d.Identity == identity {
			byKey[d.Key()] = d
		}
	}
	return slices.Collect(maps.Values(byKey))
}

// forOne tells whether two lists of builds (cache.Decision.For) have one in common.
func forOne(a, b []string) bool {
	covers := func(x, y string) bool {
		return x == y || strings.HasSuffix(x, "/") && strings.HasPrefix(y, x)
	}
	return slices.ContainsFunc(a, func(x string) bool {
		return slices.ContainsFunc(b, func(y string) bool { return covers(x, y) || covers(y, x) })
	})
}

// Past gives the decision that stands for a kernel's builds: where approximation is asked for, an
// approximate one of theirs, if there is one; on this GPU, if there is one; the newest of these.
// nil for none.
func (b *book) Past(k *policy.Kernel, device string) *cache.Decision {
	var best *cache.Decision
	rank := func(d *cache.Decision) int {
		n := 0
		if d.Evidence.Device == device {
			n += 2
		}
		if d.Approximate() {
			n++
		}
		return n
	}
	for _, d := range b.known(k.Identity) {
		if d.Approximate() && (!b.approximate || d.Recipe == "" || !forOne(d.For, k.For)) {
			continue
		}
		if best == nil || rank(&d) > rank(best) || rank(&d) == rank(best) && d.Time.After(best.Time) {
			best = &d
		}
	}
	return best
}

// complain prints what went wrong, and gives the exit code for it.
func complain(verb string, err error) int {
	fmt.Fprintf(os.Stderr, "gnvcc %s: %v\n", verb, err)
	var known *cache.Error
	if errors.As(err, &known) && known.Advice != "" && !strings.Contains(err.Error(), known.Advice) {
		fmt.Fprintln(os.Stderr, "  ", known.Advice)
	}
	return 2
}
