package capture

import (
	"fmt"
	"slices"
	"testing"

	"gnvcc/profile"
)

// A kernel of which each launch has another grid: a few of them, spread over the sizes, are
// captured in the first run and in later ones, and know what the family weighs.
func TestFamily(t *testing.T) {
	for name, c := range map[string]struct{ first, step int }{"smaller": {500, -1}, "larger": {1, 1}} {
		t.Run(name, func(t *testing.T) { testFamily(t, c.first, c.step) })
	}
}

func testFamily(t *testing.T, first, step int) {
	want := []int{500, 499, 498, 352, 248, 175, 123, 86}
	if step > 0 {
		want = []int{1, 2, 3, 5, 8, 12, 17, 25, 36, 51, 73, 104, 148, 210, 297, 421}
	}
	var known *Profile
	for range 2 {
		c, cubin := collector(t)
		c.known = known.weights()
		questions := 0
		c.wanted = func(*profile.Launch) error { questions++; return nil }
		var taken []int
		var sum profile.Summary
		var total float64
		for n := first; n > 0 && n <= 500; n += step {
			l := launchOf(t, cubin, 1, 1)
			l.Grid = [3]int{n, n, 1}
			seconds := float64(n*n) * 1e-9
			if c.play(t, l, raw()); len(c.shape(l).captures) > 0 {
				taken = append(taken, n)
			}
			total += seconds
			sum.Kernels = append(sum.Kernels, profile.Seen{Launch: l, Seconds: seconds, Sampled: 1})
		}
		sum.Whole = true
		c.end(sum.Kernels[0].Launch.Process, sum)
		run := c.Finish()
		if !slices.Equal(taken, want) {
			t.Errorf("captured %v, want %v", taken, want)
		}
		captures := 0
		for _, s := range run.Seen {
			for _, m := range s.Captures {
				captures++
				if f := m.Use.Family; fmt.Sprintf("%.6g", f) != fmt.Sprintf("%.6g", total) || m.Use.Seconds > f/100 {
					t.Errorf("%v: %g s of %g", m.Grid, m.Use.Seconds, f)
				}
			}
		}
		if questions != 1 {
			t.Errorf("%d questions about one kernel", questions)
		}
		if captures != len(taken) {
			t.Errorf("%d captures", captures)
		}
		var err error
		if known, err = c.store.Observed("/bin/app", run); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFamilyBlocks: the same where blocks become larger with the grid, as in a front that moves
// through an array: sizes with twice as many of both.
func TestFamilyBlocks(t *testing.T) {
	c, cubin := collector(t)
	var taken []int
	var sum profile.Summary
	for n := 1; n <= 160; n++ {
		l := launchOf(t, cubin, 1, 1)
		l.Grid, l.Block = [3]int{n, 1, 1}, [3]int{n, 1, 1}
		if c.play(t, l, raw()); len(c.shape(l).captures) > 0 {
			taken = append(taken, n)
		}
		sum.Kernels = append(sum.Kernels, profile.Seen{Launch: l, Seconds: 0.01, Sampled: 1})
	}
	sum.Whole = true
	c.end(sum.Kernels[0].Launch.Process, sum)
	if want := []int{1, 2, 3, 6, 12, 24, 48, 96}; !slices.Equal(taken, want) {
		t.Errorf("captured %v, want %v", taken, want)
	}
	for _, s := range c.Finish().Seen {
		for _, m := range s.Captures {
			if fmt.Sprintf("%.3f", m.Use.Family) != "1.600" {
				t.Errorf("%v: a family of %g s", m.Grid, m.Use.Family)
			}
		}
	}
}
