// What tuning cost, configuration by configuration: from the store that gnvcc left, not from the
// clock.

package main

import (
	"fmt"
	"sort"

	"gnvcc/cache"
)

// A Search is one configuration's.
type Search struct {
	Kernel      string
	Grid, Block [3]int
	Dynamic     int
	cache.Cost
}

// searches reads what a decision's evidence says of its searches.
func (r *Result) searches(d cache.Decision) {
	for _, l := range d.Evidence.Launches {
		if l.Cost != nil {
			r.Searches = append(r.Searches, Search{d.Kernel, l.Grid, l.Block, l.Dynamic, *l.Cost})
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

// costs says what the searches cost; "" where nothing is known of it.
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
