package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"gnvcc/cache"
	"gnvcc/policy"
)

// showStore says how often builds took results from the store, which calls were left to nvcc and why, and
// how large it is.
func showStore(store *cache.Store) error {
	counted := store.Stats()
	sizes, err := store.Sizes()
	if err != nil {
		return err
	}
	w, limit := stdout(), "no limit"
	if sizes.Cap < math.MaxInt64 {
		limit = "at most " + cache.BytesText(sizes.Cap)
	}
	fmt.Fprintf(w, "store    %s\n", store.Path())
	fmt.Fprintf(w, "         objects %s (%d), memos %s (%d), %s (GNVCC_MAXSIZE)\n",
		cache.BytesText(sizes.Objects), sizes.ObjectCount,
		cache.BytesText(sizes.Memos), sizes.MemoCount, limit)
	if len(counted.Counts) == 0 {
		_, err := fmt.Fprintln(w, "nothing counted yet: build something")
		return err
	}
	fmt.Fprintf(w, "since    %s\n", counted.Since.Local().Format("2006-01-02 15:04"))
	printCounts(w, counted)
	return nil
}

// printCounts prints stages in the order of a build, the outcomes of each by their counts, and their
// reasons below them.
func printCounts(w io.Writer, counted cache.Stats) {
	calls, outcomes := map[string]int{}, map[[2]string]int{}
	for e, n := range counted.Counts {
		calls[e.Stage] += n
		outcomes[[2]string{e.Stage, e.Outcome}] += n
	}
	order := map[string]int{"cudafe": 1, "cicc": 2, "ptxas": 3, "nvlink": 4, "host": 5}
	all := slices.SortedFunc(maps.Keys(counted.Counts), func(a, b cache.Event) int {
		x, y := [2]string{a.Stage, a.Outcome}, [2]string{b.Stage, b.Outcome}
		return cmp.Or(cmp.Compare(order[a.Stage], order[b.Stage]), cmp.Compare(a.Stage, b.Stage),
			cmp.Compare(outcomes[y], outcomes[x]), cmp.Compare(a.Outcome, b.Outcome),
			cmp.Compare(counted.Counts[b], counted.Counts[a]), cmp.Compare(a.Why, b.Why))
	})
	var last [2]string
	for _, e := range all {
		if e.Stage != last[0] {
			fmt.Fprintf(w, "%-8s %s\n", e.Stage, policy.Count(calls[e.Stage], "call"))
		}
		if now := [2]string{e.Stage, e.Outcome}; now != last {
			last = now
			fmt.Fprintf(w, "%16d %s\n", outcomes[now], e.Outcome)
		}
		if e.Why != "" {
			fmt.Fprintf(w, "%20d %s\n", counted.Counts[e], e.Why)
		}
	}
}
