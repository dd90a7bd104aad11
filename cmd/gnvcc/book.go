package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"gnvcc/cache"
)

// A book is the store as a verb uses it. Nobody owns the store for long: decisions go to the spool, which is safe
// at once, and are merged and published by whoever owns the store next, usually ourselves at the end. So two tuners may
// run side by side.
type book struct {
	ctx   context.Context
	store *cache.Store
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

// openBook opens the store and brings it up to date with what builds have noted.
func openBook(ctx context.Context, store *cache.Store) (*book, error) {
	b := &book{ctx, store}
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

// Decide keeps a decision.
func (b *book) Decide(d cache.Decision) error {
	return b.store.Spool(cache.Decisions, d.Identity, d)
}

// Past gives the decision that stands for a kernel, nil for none.
func (b *book) Past(identity string) *cache.Decision {
	sn, err := b.store.Snapshot()
	if err != nil {
		return nil
	}
	defer sn.Close()
	var d cache.Decision
	if ok, err := sn.Get(cache.Decisions, identity, &d); err != nil || !ok {
		return nil
	}
	return &d
}

// complain prints what went wrong, and gives the exit code for it.
func complain(verb string, err error) int {
	fmt.Fprintf(os.Stderr, "gnvcc %s: %v\n", verb, err)
	var known *cache.Error
	if errors.As(err, &known) && known.Advice != "" {
		fmt.Fprintln(os.Stderr, "  ", known.Advice)
	}
	return 2
}
