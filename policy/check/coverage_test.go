package check

import (
	"testing"

	"gnvcc/cache"
)

// TestSentence: what any checked launch ran has run; nvcc's own code and the chosen build's both
// count, and what was judged by another rule was not counted.
func TestSentence(t *testing.T) {
	counts := func(code string, blocks ...uint64) *cache.Counts {
		return &cache.Counts{Rule: Rule, Code: code, Blocks: blocks, Wanted: []int{0, 2}}
	}
	ran := func(checked int, blocks ...uint64) cache.Launch {
		return cache.Launch{Checked: checked, Counts: counts("a", blocks...), Chosen: counts("b", 1, 1, 1)}
	}
	const one = "1 of 4 places in its code that compute, store or select did not run in the checked launches: used only for launches with n=3"
	const unknown = "code coverage was not measured: used only for launches with n=3"
	chosen := ran(1, 1, 1, 1)
	chosen.Chosen.Blocks = []uint64{1, 1, 0}
	for n, c := range []struct {
		launches []cache.Launch
		varied   int
		want     string
	}{
		{[]cache.Launch{ran(1, 5, 0, 1)}, 3, "used only for launches with n=3"},
		{[]cache.Launch{ran(1, 5, 9, 0), ran(2, 0, 0, 1)}, 3, "used only for launches with n=3"},
		{[]cache.Launch{ran(1, 5, 9, 0), ran(0, 0, 0, 1)}, 3, one},
		{[]cache.Launch{chosen}, 3, one},
		{[]cache.Launch{{Checked: 1}}, 3, unknown},
		{[]cache.Launch{{Checked: 1, Counts: counts("a", 1, 1, 1)}}, 3, unknown},
		{[]cache.Launch{{Checked: 1, Counts: &cache.Counts{Blocks: []uint64{1}}, Chosen: counts("b", 1, 1, 1)}}, 3, unknown},
		{[]cache.Launch{{Checked: 1, Arrays: [2]int{3, 5}}}, 3, "data was varied in 3 of 5 arrays; " + unknown},
		{[]cache.Launch{ran(1, 0, 9, 1)}, 0, "input data could not be varied; " + one},
	} {
		if got := Sentence(c.launches, c.varied, "n=3"); got != c.want {
			t.Errorf("%d: %q, want %q", n, got, c.want)
		}
	}
}

// TestCoverage: data that some other checked launch has run is of no concern; what another code ran is.
func TestCoverage(t *testing.T) {
	of := func(code string, data []int, blocks ...uint64) *cache.Counts {
		return &cache.Counts{Rule: Rule, Code: code, Blocks: blocks, Wanted: []int{0, 1}, Data: data}
	}
	own := []*cache.Counts{of("a", nil, 1, 1)}
	for n, c := range []struct {
		chosen []*cache.Counts
		data   int
	}{
		{[]*cache.Counts{of("b", []int{1}, 1, 0)}, 1},
		{[]*cache.Counts{of("b", []int{1}, 1, 0), of("b", nil, 0, 1)}, 0},
		{[]*cache.Counts{of("b", []int{1}, 1, 0), of("c", nil, 0, 1)}, 1},
		{[]*cache.Counts{of("b", nil, 1, 0)}, 0},
	} {
		if got := CoverageOf(own, c.chosen); got.Data != c.data || (got.Never() != "") != (c.data > 0) {
			t.Errorf("%d: %+v", n, got)
		}
	}
}
