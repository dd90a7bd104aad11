package main

import (
	"testing"

	"gnvcc/cache"
	"gnvcc/profile/capture"
)

// TestFoundFor: the page calls those sizes of a kernel's launches looked at that were measured, or
// lie between measured ones; what others gain is said of each.
func TestFoundFor(t *testing.T) {
	line := func(grid int) capture.Line {
		return capture.Line{Kernel: "k", Grid: [3]int{grid, 1, 1}, Block: [3]int{32, 1, 1}}
	}
	d := cache.Decision{Kernel: "k", Recipe: "maxnreg=32"}
	d.Evidence.Launches = []cache.Launch{{Grid: [3]int{4, 1, 1}, Block: [3]int{32, 1, 1}, Count: 1,
		Seconds: 2, Before: cache.Time{Median: 2e9}, After: cache.Time{Median: 1e9}}}
	between, mixed, without := d, d, d
	between.Evidence.Rest = &cache.Rest{Between: 4, After: 3}
	mixed.Evidence.Rest = &cache.Rest{Between: 4, After: 3, Others: 4}
	without.Recipe = ""
	const unmeasured = "launches of this size were not measured"
	for _, c := range []struct {
		grid      int
		decisions []cache.Decision
		ratio     float64
		why       string
	}{
		{4, []cache.Decision{d}, 0.5, ""}, {8, []cache.Decision{d}, 1, unmeasured},
		{8, []cache.Decision{between}, 0.75, ""}, {8, []cache.Decision{mixed}, 0.875, unmeasured},
		{4, []cache.Decision{without}, 1, ""}, {4, nil, 1, "nothing was decided"},
		{4, []cache.Decision{{Kernel: "k"}}, 1, "nothing was measured"},
		{4, []cache.Decision{{Kernel: "k"}, d}, 0.5, ""},
	} {
		if ratio, why := foundFor(line(c.grid), c.decisions); ratio != c.ratio || why != c.why {
			t.Errorf("%+v: %g, %q", c, ratio, why)
		}
	}
}
