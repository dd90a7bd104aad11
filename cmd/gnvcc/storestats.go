package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/tuner"
	"gnvcc/profile/capture"
)

// What gnvcc doctor shows of the store: captured launches, and how its results were used.

// showCaptures lists the launches that gnvcc tune has captured.
func showCaptures(store *cache.Store) error {
	s, err := tuner.Captures(store)
	if err != nil {
		return err
	}
	return printCaptures(stdout(), s)
}

func printCaptures(w io.Writer, s *capture.Store) error {
	list, skipped := s.List()
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for i, m := range list {
		if i == 0 {
			fmt.Fprintln(t, "id\tkernel\tgrid x block\tlaunch\tof\ttime\tmemory\tdevice\tmade")
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%.3g s\t%.1f MiB\t%s\t%s\n", m.ID, policy.ShortName(m.Kernel),
			policy.Shape{Grid: m.Grid, Block: m.Block, Dynamic: m.Dynamic, Set: m.Use.Set},
			m.Nth, m.Use.Count, m.Weight(), float64(m.Filled)/(1<<20), m.Device,
			m.Made.Local().Format(time.DateTime))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintln(w, "no launches captured yet: gnvcc tune -- ./app captures some")
	}
	if skipped > 0 {
		fmt.Fprintf(w, "%d more can't be read (another version, or damaged); gnvcc tune removes them\n",
			skipped)
	}
	return nil
}

// dropCaptures removes them.
func dropCaptures(store *cache.Store) error {
	s, err := tuner.Captures(store)
	if err != nil {
		return err
	}
	return s.Trim(capture.Limits{})
}

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
	fmt.Fprintf(w, "         results of compiles: %s in %s, %s (GNVCC_MAXSIZE)\n",
		cache.BytesText(sizes.Objects+sizes.Memos), policy.Count(sizes.ObjectCount+sizes.MemoCount, "file"), limit)
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
