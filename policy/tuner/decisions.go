package tuner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/standing"
	"gnvcc/policy"
)

// Decisions are those of the store. The store has no owner for long: decisions go to the spool,
// which is safe at once, and are merged and published by whoever owns the store next, usually
// ourselves at the end. So two tuners may run side by side.
type Decisions struct {
	ctx         context.Context
	store       *cache.Store
	approximate bool             // approximate decisions are asked for
	kept        []cache.Decision // by this one
}

// patience is how long another owner (a merge takes some 50 ms for 10,000 records) is waited for.
const patience = 10 * time.Second

// OpenDecisions brings a store up to date with what builds have noted.
func OpenDecisions(ctx context.Context, store *cache.Store) (*Decisions, error) {
	b := &Decisions{ctx: ctx, store: store}
	return b, b.Publish()
}

// ReadDecisions does so where it can be done: a store on a network's file system is read as it was published
// last. A change of it fails.
func ReadDecisions(ctx context.Context, store *cache.Store) (*Decisions, error) {
	b, err := OpenDecisions(ctx, store)
	if cache.Readable(err) {
		err = nil
	}
	return b, err
}

// Store is where they are.
func (b *Decisions) Store() *cache.Store { return b.store }

// Publish merges the spool and lets builds see the result.
func (b *Decisions) Publish() error { return b.Change(nil) }

// Change does so with something done in between, nil: nothing.
func (b *Decisions) Change(fn func(*cache.Owner) error) error {
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
func (b *Decisions) Decide(d cache.Decision) error {
	if !d.Approximate() && len(d.Evidence.Launches) > 0 {
		for _, old := range b.Known(d.Identity) {
			if old.Approximate() && old.Recipe != "" && old.Evidence.Device == d.Evidence.Device &&
				standing.Meet(old.For, d.For) {
				old.Recipe, old.Time = "", d.Time
				if err := b.keep(old); err != nil {
					return err
				}
			}
		}
	}
	return b.keep(d)
}

func (b *Decisions) keep(d cache.Decision) error {
	b.kept = append(b.kept, d)
	return b.store.Spool(cache.Decisions, d.Key(), d)
}

// Known are the decisions on a kernel, with those that this one has kept and were not published
// yet.
func (b *Decisions) Known(identity string) []cache.Decision {
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

// At is what is known under a decision's key.
func (b *Decisions) At(d cache.Decision) (cache.Decision, bool) {
	for _, old := range b.Known(d.Identity) {
		if old.Key() == d.Key() {
			return old, true
		}
	}
	return cache.Decision{}, false
}

// Past gives the decision that stands for a kernel's builds: where approximation is asked for, an
// approximate one of theirs, if there is one; on this GPU, if there is one; the newest of these.
// nil for none.
func (b *Decisions) Past(k *policy.Kernel, device string) *cache.Decision {
	by := standing.Asker{Here: func() []string { return []string{device} }}
	if b.approximate {
		by.Files = func() []string { return k.For }
	}
	if d, ok := standing.Of(b.Known(k.Identity), by); ok {
		return &d
	}
	return nil
}
