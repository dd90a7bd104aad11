package main

import (
	"testing"

	"gnvcc/cache"
	"gnvcc/profile"
	"gnvcc/profile/capture"
)

// TestFoundFor: the page calls those sizes of a kernel's launches looked at that were measured, or
// lie between measured ones; what others gain is said of each.
func TestFoundFor(t *testing.T) {
	line := func(grid int) capture.Line {
		return capture.Line{Kernel: "k", Shape: profile.Shape{Grid: [3]int{grid, 1, 1}, Block: [3]int{32, 1, 1}}}
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

// TestOwnOf: what a recipe gains is gained of what launches take by themselves, however many runs
// the profile has.
func TestOwnOf(t *testing.T) {
	grid := [3]int{4, 1, 1}
	measured := func(grid [3]int, count int, seconds float64) cache.Launch {
		return cache.Launch{Grid: grid, Count: count, Before: cache.Time{Median: seconds * 1e9}}
	}
	for _, c := range []struct {
		runs     int
		launches []cache.Launch
		want     float64
	}{
		{1, nil, 1}, {1, []cache.Launch{measured(grid, 10, 0.2)}, 0.25},
		{2, []cache.Launch{measured(grid, 10, 0.2)}, 0.25},
		{1, []cache.Launch{measured(grid, 5, 0.1), measured(grid, 5, 0.3)}, 0.25},
		{1, []cache.Launch{measured(grid, 10, 0.5)}, 1}, // near enough
		{1, []cache.Launch{measured([3]int{5, 1, 1}, 10, 0.2)}, 1},
		{1, []cache.Launch{measured(grid, 10, 0)}, 1},
	} {
		l := capture.Line{Kernel: "k", Shape: profile.Shape{Grid: grid}, Count: 10 * c.runs, Seconds: 8 * float64(c.runs)}
		d := cache.Decision{Kernel: "k"}
		d.Evidence.Launches = c.launches
		if got := ownOf(l, []cache.Decision{d}); got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("%+v: %g", c, got)
		}
	}
}
