package capture

import (
	"math"
	"testing"
)

// TestCourse: where what a launch takes changes along the run, launches are captured anew, and each
// stands for those up to the next one; where it does not, two are enough, and nothing is said.
func TestCourse(t *testing.T) {
	for _, c := range []struct {
		what        string
		took        func(i int) float64 // us
		least, most int                 // captures
		parts       bool
	}{
		{"rises", func(i int) float64 { return 17 + 25*math.Min(float64(i)/3000, 1) }, 3, mostAlong, true},
		{"falls", func(i int) float64 { return math.Max(100-float64(i)/20, 20) }, 3, mostAlong, true},
		{"steady", func(i int) float64 { return 20 + float64(i%3) }, 2, 2, false},
		{"a first launch takes longer", func(i int) float64 {
			if i == 0 {
				return 300
			}
			return 20
		}, 2, 3, true},
	} {
		p := newProgram(t, nil)
		const n = 5000
		var all, later float64
		for i := range n {
			if i >= 2048 {
				later += c.took(i)
			}
			all += c.took(i)
			p.launch(1, c.took(i)*1e-6)
		}
		x := p.end().Seen[0]
		if got := len(x.Captures); got < c.least || got > c.most {
			t.Errorf("%s: captured at %v", c.what, p.nth)
		}
		var sum, last float64
		for i, m := range x.Captures {
			sum += m.Part
			if m.Part > 0 != c.parts {
				t.Errorf("%s: launch %d stands for %v", c.what, p.nth[i], m.Part)
			}
			if p.nth[i] >= 2048 {
				last += m.Part
			}
		}
		if c.parts && (math.Abs(sum-1) > 0.01 || p.nth[len(p.nth)-1] == 2048 &&
			math.Abs(last-later/all) > 0.05) {
			t.Errorf("%s: %v stand for %v, the last for %v, not %v", c.what, p.nth, sum, last, later/all)
		}
	}
}
