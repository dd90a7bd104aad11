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

// TestOwnOf: of what launches took in the program the page shows what was their own, where all of
// them were looked at.
func TestOwnOf(t *testing.T) {
	l := capture.Line{Kernel: "k", Grid: [3]int{4, 1, 1}, Count: 10, Seconds: 8}
	d := cache.Decision{Kernel: "k"}
	for _, c := range []struct {
		launches []cache.Launch
		want     float64
	}{
		{nil, 8},
		{[]cache.Launch{{Grid: l.Grid, Count: 10, Seconds: 2}}, 2},
		{[]cache.Launch{{Grid: l.Grid, Count: 6, Seconds: 1}, {Grid: l.Grid, Count: 4, Seconds: 2}}, 3},
		{[]cache.Launch{{Grid: l.Grid, Count: 6, Seconds: 1}}, 8},                     // of a shorter run
		{[]cache.Launch{{Grid: l.Grid, Count: 10, Seconds: 9}}, 8},                    // of a longer one
		{[]cache.Launch{{Grid: [3]int{5, 1, 1}, Count: 10, Seconds: 2}}, 8},           // of another size
		{[]cache.Launch{{Grid: l.Grid, Count: 10, Before: cache.Time{Median: 2}}}, 8}, // not known
	} {
		d.Evidence.Launches = c.launches
		if got := ownOf(l, []cache.Decision{d}); got != c.want {
			t.Errorf("%+v: %g", c, got)
		}
	}
}
