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
		took := []float64{0} // by the first launches
		for i := range n {
			took = append(took, took[i]+c.took(i))
			p.launch(1, c.took(i)*1e-6)
		}
		x := p.end().Seen[0]
		if got := len(x.Captures); got < c.least || got > c.most {
			t.Errorf("%s: captured at %v", c.what, p.nth)
		}
		for i, m := range x.Captures {
			from, to := 0, n
			if i > 0 {
				from = p.nth[i] - 1
			}
			if i+1 < len(p.nth) {
				to = p.nth[i+1] - 1
			}
			want := (took[to] - took[from]) / took[n]
			if !c.parts {
				want = 0
			}
			if math.Abs(m.Part-want) > 0.02 {
				t.Errorf("%s: launch %d of %v stands for %.3f, not %.3f", c.what, p.nth[i], p.nth, m.Part, want)
			}
		}
	}
}
