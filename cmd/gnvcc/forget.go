package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/selection"
)

// Forgetting what was measured, so that the next tune begins anew.

// A forgotten is what goes: the keys in each bucket, and how many notebooks.
type forgotten struct {
	keys      map[string][]string
	notebooks int
}

// forget does it, and tells of it.
func forget(ctx context.Context, name string, all, dry bool) error {
	b, err := openDecisions(ctx)
	if err != nil {
		return err
	}
	store := b.Store()
	list, err := meant(store, name, all)
	if err != nil {
		return err
	}
	known := identities(list)
	all = all && name == ""
	var gone forgotten
	if gone.keys, err = recordsOf(store, known, all); err != nil {
		return err
	}
	n := 0
	for _, keys := range gone.keys {
		n += len(keys)
	}
	if !dry && n > 0 {
		if err := b.Change(func(owner *cache.Owner) error {
			for bucket, keys := range gone.keys {
				if err := owner.Delete(bucket, keys...); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	gone.notebooks, err = store.RemoveMemos(policy.Notebooks, func(text []byte) bool {
		identity := decide.NotebookOf(text)
		return identity != "" && (all || known[identity])
	}, dry)
	gone.tell(names(list), dry)
	return err
}

// names are those of kernels, each once; "" for none.
func names(list []selection.Kernel) string {
	var out []string
	for _, k := range list {
		if n := policy.ShortName(k.Name); !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return strings.Join(out, ", ")
}

func (g forgotten) tell(names string, dry bool) {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, policy.Count(n, what))
		}
	}
	add(len(g.keys[cache.Decisions]), "decision")
	add(len(g.keys[cache.Pins]), "pinned recipe")
	add(len(g.keys[cache.Predictions]), "prediction")
	add(len(g.keys[cache.Bans]), "ban")
	add(g.notebooks, "notebook")
	verb := "forgotten"
	if dry {
		verb = "would be forgotten"
	}
	if names != "" {
		verb += " of " + names
	}
	if len(parts) == 0 {
		fmt.Fprintln(console, "nothing to forget: only its builds are known")
		return
	}
	fmt.Fprintf(console, "%s: %s", verb, strings.Join(parts, ", "))
	if !dry && len(g.keys[cache.Decisions])+len(g.keys[cache.Pins])+
		len(g.keys[cache.Predictions]) > 0 {
		fmt.Fprint(console, "; gnvcc apply restores nvcc's own code")
	}
	fmt.Fprintln(console)
}

// meant are the kernels that a name stands for: of those that something was decided for, and of
// those that were built. None stand for all.
func meant(store *cache.Store, name string, all bool) ([]selection.Kernel, error) {
	if name == "" {
		return nil, nil
	}
	var decided []cache.Decision
	for _, bucket := range []string{cache.Decisions, cache.Pins, cache.Predictions} {
		if err := records(store, bucket, func(d cache.Decision) {
			decided = append(decided, d)
		}); err != nil {
			return nil, err
		}
	}
	return selection.One(name, all, known(store, decided), itself)
}

// recordsOf lists the keys of what was decided, pinned and predicted for kernels; with all
// everybody's, and the bans.
func recordsOf(store *cache.Store, known map[string]bool, all bool) (map[string][]string, error) {
	keys := map[string][]string{}
	sn, err := store.Snapshot()
	if errors.Is(err, cache.ErrNone) {
		return keys, nil
	}
	if err != nil {
		return nil, err
	}
	defer sn.Close()
	buckets := []string{cache.Decisions, cache.Pins, cache.Predictions}
	if all {
		buckets = append(buckets, cache.Bans)
	}
	for _, bucket := range buckets {
		err := sn.Each(bucket, "", func(key string, raw []byte) error {
			var d cache.Decision
			// as a record by hand has it; a damaged one goes by its key too
			own, _, _ := strings.Cut(key, ".")
			if all || known[own] || json.Unmarshal(raw, &d) == nil && known[d.Identity] {
				keys[bucket] = append(keys[bucket], key)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		slices.Sort(keys[bucket])
	}
	return keys, nil
}
