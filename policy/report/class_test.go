package report

import (
	"fmt"
	"strings"
	"testing"

	"gnvcc/cache"
)

// TestClasses: the thesis' curves (Figs. 5.39 to 5.43), and what was seen on an H200.
func TestClasses(t *testing.T) {
	for _, c := range []struct {
		class      string
		past       float64
		thresholds []float64
	}{
		{"bypass-favorite", 0.7, []float64{0.75, 0.8, 0.86, 0.9, 0.95, 0.99}},
		{"bypass-favorite", 0.7, []float64{0.72, 0.71, 0.73}},
		{"cache-favorite", 1.6, []float64{1.5, 1.4, 1.3, 1.2, 1.1, 1.05}},
		{"cache-favorite", 1.1, []float64{1.1, 1.11, 1.1}},
		{"cache-congested", 0.95, []float64{0.85, 0.7, 0.6, 0.75, 0.9, 1.02}},
		{"cache-congested", 0.95, []float64{0.6, 0.75, 0.9}},
		{"cache-congested", 1.4, []float64{1.2, 1.0, 0.8}},
		{"cache-insensitive", 1.01, []float64{1.0, 1.01, 0.99, 1.0}},
		{"cache-insensitive", 0.99, []float64{1.15, 1.16, 1.15, 1.14}}, // the two loads only cost
		{"cache-insensitive", 0.995, []float64{1.021, 1.066, 1.067, 1.066}},
		{"irregular", 1.1, []float64{0.9, 1.2, 0.8, 1.3, 0.85}},
		{"irregular", 0.8, []float64{0.9, 0.85, 1.0, 0.85}},
		{"irregular", 1.0, []float64{1.2, 1.3, 1.1}},
		{"irregular", 1.3, []float64{1.0, 1.25, 1.1}},
	} {
		d := cache.Decision{Kernel: "_Z1aPfi", Target: "sm_90"}
		add := func(recipe string, ratio float64) {
			d.Evidence.Tried = append(d.Evidence.Tried, cache.Trial{Recipe: recipe, Ratio: ratio})
		}
		add("maxnreg=40", 0.2)          // says nothing of L1
		add("bypass=3 maxnreg=40", 0.1) // neither does a combination
		add("bypass=9", 0)              // it was refused
		for i, x := range c.thresholds {
			add(fmt.Sprintf("bypass=%d", i+1), x)
		}
		if NewEntry(d).L1 != nil {
			t.Errorf("%+v: a class without all warps past L1", c)
		}
		add("hint@ld=L1::no_allocate", c.past)
		e := NewEntry(d)
		if e.L1 == nil || e.L1.Class != c.class || e.L1.Past != c.past {
			t.Errorf("%+v: %+v", c, e.L1)
			continue
		}
		var out strings.Builder
		if err := Write(&out, []cache.Decision{d}, Options{}); err != nil || !strings.Contains(out.String(), "  "+c.class+": a") {
			t.Errorf("%s\n%v", out.String(), err)
		}
	}
}
