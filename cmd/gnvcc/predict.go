package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/report"
)

// foresee prints what can be said, without a GPU, of all kernels that were built.
func foresee(o report.Options) int {
	ctx := context.Background()
	book, err := newBook(ctx)
	if err != nil {
		return complain("report", err)
	}
	store := book.store
	c, err := newCompiler(store)
	if err != nil {
		return complain("report", err)
	}
	defer c.Close()
	assemblies, err := built(store)
	if err != nil {
		return complain("report", err)
	}
	var prospects []report.Prospect
	seen := map[string]bool{}
	for _, a := range assemblies {
		for _, k := range a.Kernels {
			if k.Identity == "" || seen[k.Identity] || o.Kernel != nil && !o.Kernel.MatchString(k.Name) {
				continue
			}
			seen[k.Identity] = true
			known, err := c.Kernel(a.Cubin, k.Name)
			if err != nil {
				prospects = append(prospects, report.Prospect{Kernel: &policy.Kernel{Name: k.Name,
					Short: policy.ShortName(k.Name), Target: a.Target, Alone: err.Error()}})
				continue
			}
			if isTerminal(os.Stderr) {
				fmt.Fprintf(os.Stderr, "\r\x1b[Kgnvcc: %s", known.Short)
			}
			if known.Alone != "" {
				prospects = append(prospects, report.Prospect{Kernel: known})
				continue
			}
			prospects = append(prospects, report.Foresee(ctx, c, known))
		}
	}
	if isTerminal(os.Stderr) {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
	if len(prospects) == 0 {
		fmt.Println("no kernel is known yet: build a program with gnvcc")
		return 0
	}
	if err := report.Predict(stdout(), prospects); err != nil {
		return complain("report", err)
	}
	return 0
}

// built are the recorded assemblies, in the order of their first kernel's name.
func built(store *cache.Store) ([]cache.Assembly, error) {
	sn, err := store.Snapshot()
	if err != nil {
		return nil, err
	}
	defer sn.Close()
	var all []cache.Assembly
	err = sn.Each(cache.Assemblies, "", func(key string, raw []byte) error {
		var a cache.Assembly
		if json.Unmarshal(raw, &a) == nil && len(a.Kernels) > 0 {
			all = append(all, a)
		}
		return nil
	})
	sort.SliceStable(all, func(i, j int) bool {
		return all[i].Kernels[0].Name < all[j].Kernels[0].Name
	})
	return all, err
}
