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

// forget drops what was decided, pinned and predicted for what a word means, with its notebooks; for
// "" and all that of every kernel, and the bans.
func forget(ctx context.Context, name string, all, dry bool) error {
	b, err := openDecisions(ctx)
	if err != nil {
		return err
	}
	store := b.Store()
	buckets := []string{cache.Decisions, cache.Pins, cache.Predictions}
	var list []selection.Kernel
	every := all && name == ""
	if every {
		buckets = append(buckets, cache.Bans)
	} else if list, err = meant(store, buckets, name, all); err != nil {
		return err
	}
	known := identities(list)
	keys, err := recordsOf(store, buckets, known, every)
	if err != nil {
		return err
	}
	if !dry && len(keys) > 0 {
		err = b.Change(func(owner *cache.Owner) (err error) {
			for _, bucket := range buckets {
				err = errors.Join(err, owner.Delete(bucket, keys[bucket]...))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	notebooks, err := store.RemoveMemos(policy.Notebooks, func(text []byte) bool {
		identity := decide.NotebookOf(text)
		return identity != "" && (every || known[identity])
	}, dry)
	var parts []string
	add := func(n int, what string) int {
		if n > 0 {
			parts = append(parts, policy.Count(n, what))
		}
		return n
	}
	built := add(len(keys[cache.Decisions]), "decision") + add(len(keys[cache.Pins]), "pinned recipe") +
		add(len(keys[cache.Predictions]), "prediction")
	add(len(keys[cache.Bans]), "ban")
	add(notebooks, "notebook")
	if len(parts) == 0 {
		fmt.Fprintln(console, "nothing to forget: only its builds are known")
		return err
	}
	text := "forgotten"
	if dry {
		text = "would be forgotten"
	}
	var names []string
	for _, k := range list {
		names = append(names, policy.ShortName(k.Name))
	}
	if len(names) > 0 {
		slices.Sort(names)
		text += " of " + strings.Join(slices.Compact(names), ", ")
	}
	text += ": " + strings.Join(parts, ", ")
	if !dry && built > 0 {
		text += "; gnvcc apply restores nvcc's own code"
	}
	fmt.Fprintln(console, text)
	return err
}

// meant are the kernels that a name stands for: of those that something was decided for, and of
// those that were built.
func meant(store *cache.Store, buckets []string, name string, all bool) ([]selection.Kernel, error) {
	var decided []cache.Decision
	for _, bucket := range buckets {
		err := records(store, bucket, func(d cache.Decision) { decided = append(decided, d) })
		if err != nil {
			return nil, err
		}
	}
	return selection.One(name, all, known(store, decided), itself)
}

// recordsOf lists the keys of the records of kernels in each bucket; with all of everything.
func recordsOf(store *cache.Store, buckets []string, known map[string]bool, all bool) (map[string][]string, error) {
	keys := map[string][]string{}
	sn, err := store.Snapshot()
	if errors.Is(err, cache.ErrNone) {
		return keys, nil
	}
	if err != nil {
		return nil, err
	}
	defer sn.Close()
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
	}
	return keys, nil
}
