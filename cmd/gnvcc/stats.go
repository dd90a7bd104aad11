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

// showStore says how often builds took results from the store, why stages stepped aside, and how
// large it is.
func showStore(store *cache.Store) error {
	counted, err := store.Stats()
	if err != nil {
		return err
	}
	sizes, err := store.Sizes()
	if err != nil {
		return err
	}
	return statsText(stdout(), store.Path(), counted, sizes)
}

// A tally is one row: what happened, and how often.
type tally struct {
	Stage, Outcome, Why string
	Count               int
}

// tallies are sorted by stage, in the order of a build, and by count.
func tallies(counted cache.Stats) []tally {
	var all []tally
	for e, n := range counted.Counts {
		all = append(all, tally{e.Stage, e.Outcome, e.Why, n})
	}
	order := map[string]int{"cudafe": 1, "cicc": 2, "ptxas": 3, "nvlink": 4, "host": 5}
	slices.SortFunc(all, func(a, b tally) int {
		return cmp.Or(cmp.Compare(order[a.Stage], order[b.Stage]), cmp.Compare(a.Stage, b.Stage),
			cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Why, b.Why))
	})
	return all
}

func statsText(w io.Writer, path string, counted cache.Stats, sizes cache.Sizes) error {
	limit := "no limit"
	if sizes.Cap < math.MaxInt64 {
		limit = "at most " + cache.BytesText(sizes.Cap)
	}
	fmt.Fprintf(w, "store    %s\n", path)
	fmt.Fprintf(w, "         objects %s (%d), memos %s (%d), %s (GNVCC_MAXSIZE)\n",
		cache.BytesText(sizes.Objects), sizes.ObjectCount,
		cache.BytesText(sizes.Memos), sizes.MemoCount, limit)
	if len(counted.Counts) == 0 {
		_, err := fmt.Fprintln(w, "nothing counted yet: build something")
		return err
	}
	fmt.Fprintf(w, "since    %s\n", counted.Since.Local().Format("2006-01-02 15:04"))
	all := tallies(counted)
	calls := map[string]int{}
	for _, t := range all {
		calls[t.Stage] += t.Count
	}
	// Reasons stand below their outcome.
	sums := map[[2]string]int{}
	for _, t := range all {
		sums[[2]string{t.Stage, t.Outcome}] += t.Count
	}
	stage := ""
	for _, t := range all {
		if t.Stage != stage {
			stage = t.Stage
			fmt.Fprintf(w, "%-8s %s\n", stage, policy.Count(calls[stage], "call"))
			outcomes := slices.SortedFunc(maps.Keys(sums), func(a, b [2]string) int {
				return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a[1], b[1]))
			})
			for _, o := range outcomes {
				if o[0] != stage {
					continue
				}
				fmt.Fprintf(w, "%16d %s\n", sums[o], o[1])
				for _, why := range all {
					if why.Stage == stage && why.Outcome == o[1] && why.Why != "" {
						fmt.Fprintf(w, "%20d %s\n", why.Count, why.Why)
					}
				}
			}
		}
	}
	return nil
}
