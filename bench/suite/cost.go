// What tuning cost, configuration by configuration, and what the search missed. It comes from the
// store that gnvcc left, not from the clock: seconds for which the program stood still, and runs of
// cicc and ptxas.

package main

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"gnvcc/cache"
)

// A Search is one configuration's.
type Search struct {
	Kernel      string
	Grid, Block [3]int
	Dynamic     int
	cache.Cost
	Exhaustive *cache.Exhaustive `json:",omitempty"` // with -tune -exhaustive
}

// searches takes over what a decision tells of its searches.
func (r *Result) searches(d cache.Decision) {
	for _, l := range d.Evidence.Launches {
		if l.Cost != nil {
			r.Searches = append(r.Searches, Search{d.Kernel, l.Grid, l.Block, l.Dynamic, *l.Cost,
				l.Exhaustive})
		}
	}
}

// spent adds up the searches of some results.
func spent(results []Result) (n int, c cache.Cost, seconds []float64) {
	for _, r := range results {
		for _, s := range r.Searches {
			n++
			c.Seconds += s.Seconds
			c.Candidates += s.Candidates
			c.Cicc += s.Cicc
			c.Ptxas += s.Ptxas
			c.Compiling += s.Compiling
			seconds = append(seconds, s.Seconds)
		}
	}
	sort.Float64s(seconds)
	return n, c, seconds
}

// costs tells what the searches cost; "" where nothing is known of it.
func costs(results []Result) string {
	n, c, seconds := spent(results)
	if n == 0 {
		return ""
	}
	each := func(x float64) float64 { return x / float64(n) }
	return fmt.Sprintf(
		"  %d searches: %.2f s each (median %.2f, longest %.1f), %.1f candidates, %.1f runs of cicc, %.1f of ptxas, %.1f s of compiling\n",
		n, each(c.Seconds), seconds[n/2], seconds[n-1], each(float64(c.Candidates)),
		each(float64(c.Cicc)), each(float64(c.Ptxas)), each(c.Compiling))
}

// exhaustives is the table of the benchmark mode: the search's best beside the best of all that was
// measured, and the cost of both; "" where there is none. Ratios are times over the default's.
func exhaustives(results []Result) string {
	var b strings.Builder
	var logs, found, all float64
	var n, cut, cicc, ciccs, candidates, more int
	for _, r := range results {
		for _, s := range r.Searches {
			e := s.Exhaustive
			if e == nil {
				continue
			}
			if n == 0 {
				fmt.Fprintf(&b, "\n%-16s %-24s | %6s %6s %5s %8s | %6s %6s %5s %8s | %6s\n", "program",
					"kernel", "search", "cands", "cicc", "s", "best", "cands", "cicc", "s", "missed")
			}
			mark := ""
			if e.Cut {
				mark = " (cut by the budget)"
				cut++
			}
			gap := e.Search.Ratio / e.Best.Ratio
			fmt.Fprintf(&b, "%-16s %-24.24s | %6.3f %6d %5d %8.1f | %6.3f %6d %5d %8.1f | %6.3f%s\n",
				r.Program, s.Kernel, e.Search.Ratio, e.Search.Cost.Candidates,
				e.Search.Cost.Cicc, e.Search.Cost.Seconds, e.Best.Ratio, e.Best.Cost.Candidates,
				e.Best.Cost.Cicc, e.Best.Cost.Seconds, gap, mark)
			if gap > 1 {
				fmt.Fprintf(&b, "%41s | search: %s\n%41s | best:   %s\n", "", orDefault(e.Search.Recipe), "",
					orDefault(e.Best.Recipe))
			}
			n++
			logs += math.Log(gap)
			found, all = found+e.Search.Cost.Seconds, all+e.Best.Cost.Seconds
			cicc, ciccs = cicc+e.Search.Cost.Cicc, ciccs+e.Best.Cost.Cicc
			candidates, more = candidates+e.Search.Cost.Candidates, more+e.Best.Cost.Candidates
		}
	}
	if n == 0 {
		return ""
	}
	fmt.Fprintf(&b,
		"%d configurations, %d of them cut by the budget: the search's best takes %.3f times the time of the best of all, in geometric mean;\n  it cost %d candidates, %d runs of cicc and %.0f s, all of it %d, %d and %.0f s\n",
		n, cut, math.Exp(logs/float64(n)), candidates, cicc, found, more, ciccs, all)
	return b.String()
}

func orDefault(recipe string) string {
	if recipe == "" {
		return "as nvcc builds it"
	}
	return recipe
}
