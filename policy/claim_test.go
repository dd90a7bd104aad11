package policy

import (
	"math"
	"testing"

	"gnvcc/policy/stats"
)

// TestCareful: what is claimed is the least that was seen; of launches that stand for a part of the
// time, what they give together, the rest being like the worst of them.
func TestCareful(t *testing.T) {
	here := Compared{Ratio: stats.Interval{Estimate: 0.8}, Bound: 0.82}
	for _, c := range []struct {
		other, later float64
		parts        []Part
		want         float64
	}{
		{0, 0, nil, 0.82}, {0.9, 0, nil, 0.9}, {0.9, 0.95, nil, 0.95},
		{0, 0, []Part{{Of: "a", Share: 0.25, Ratio: 1}, {Of: "b", Share: 0.75, Ratio: 0.8}}, 0.85},
		{0, 0, []Part{{Of: "b", Share: 0.75, Ratio: 0.8}}, 0.8},
		{0, 0, []Part{{Of: "a", Share: 0.1, Ratio: 1}, {Of: "b", Share: 0.5, Ratio: 0.8}}, 0.9},
		{0, 0.9, []Part{{Of: "b", Share: 1, Ratio: 0.8}}, 0.9},
	} {
		f := here
		f.Other, f.Later, f.Parts = c.other, c.later, c.parts
		if got := f.Careful(); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v: %v", c, got)
		}
	}
	f := here
	f.Stands(Part{Of: "a", Share: 0.5, Ratio: 0.8})
	before := f.Parts
	f.Stands(Part{Of: "b", Share: 0.5, Ratio: 0.9})
	f.Stands(Part{Of: "a", Share: 0.5, Ratio: 0.7})
	if got := f.Careful(); math.Abs(got-0.8) > 1e-12 || len(before) != 1 || before[0].Ratio != 0.8 {
		t.Errorf("%v, %+v, before %+v", got, f.Parts, before)
	}
}
