package report

import (
	"bytes"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"gnvcc/cache"
)

// measuredOver makes evidence of measured times: bypass-all, thresholds 1 ..., throttling levels 1
// ...; 0 was not measured.
func measuredOver(block int, all float64, thresholds, throttled []float64) cache.Decision {
	d := cache.Decision{Kernel: "_Z1aPfi", Target: "sm_90"}
	d.Evidence.Launches = []cache.Launch{{Grid: [3]int{100, 1, 1}, Block: [3]int{block, 1, 1},
		Count:  3,
		Before: cache.Time{Median: 1e5, Low: 1e5, High: 1e5, N: 9}, After: cache.Time{Median: 1e5,
			Low: 1e5, High: 1e5, N: 9}}}
	add := func(recipe string, ratio float64) {
		t := cache.Trial{Recipe: recipe, Ratio: ratio}
		if ratio == 0 {
			t.Refused = "other bits: 3 words differ"
		}
		d.Evidence.Tried = append(d.Evidence.Tried, t)
	}
	add("hint@ld=L1::no_allocate", all)
	add("maxnreg=40", 0.2)          // says nothing of the cache
	add("bypass=3 maxnreg=40", 0.1) // neither do combinations
	for i, r := range thresholds {
		add(fmt.Sprintf("bypass=%d", i+1), r)
	}
	for i, r := range throttled {
		add(fmt.Sprintf("spec{host(block)=%dx1x1,host(dynamic)=0} throttle=%d", block, i+1), r)
	}
	return d
}

func TestClasses(t *testing.T) {
	for _, c := range []struct {
		class      string
		all        float64
		thresholds []float64
		throttled  []float64
	}{
		// Thesis, Fig. 5.40: the more warps use the cache, the slower.
		{bypassFavourite, 0.7, []float64{0.75, 0.8, 0.86, 0.9, 0.95, 0.99}, nil},
		{bypassFavourite, 0.7, []float64{0.72, 0.71, 0.73}, []float64{1.5, 1.2}},
		// Fig. 5.39.
		{cacheFavourite, 1.6, []float64{1.5, 1.4, 1.3, 1.2, 1.1, 1.05}, nil},
		{cacheFavourite, 1.1, []float64{1.1, 1.11, 1.1}, nil},
		// Fig. 5.41: a bowl; at its rim a threshold may be the first or the last.
		{congested, 0.95, []float64{0.85, 0.7, 0.6, 0.75, 0.9, 1.02}, nil},
		{congested, 0.95, []float64{0.6, 0.75, 0.9}, nil},
		{congested, 1.4, []float64{1.2, 1.0, 0.8}, nil},
		// throttling alone relieves it
		{congested, 1.0, []float64{1.01, 1.0, 1.02}, []float64{1.4, 0.8, 0.7, 0.75, 0.9}},
		// Fig. 5.42: steady, and the thresholds only cost.
		{insensitive, 1.01, []float64{1.0, 1.01, 0.99, 1.0}, nil},
		{insensitive, 0.99, []float64{1.15, 1.16, 1.15, 1.14}, []float64{1.3, 1.1}},
		// seen on an H200
		{insensitive, 0.995, []float64{1.021, 1.066, 1.067, 1.066}, []float64{7.1, 3.6, 2.5}},
		// Fig. 5.43.
		{irregular, 1.1, []float64{0.9, 1.2, 0.8, 1.3, 0.85}, nil},
		{irregular, 0.8, []float64{0.9, 0.85, 1.0, 0.85}, nil},
		{irregular, 1.0, []float64{1.2, 1.3, 1.1}, nil},
		{irregular, 1.3, []float64{1.0, 1.25, 1.1}, nil},
	} {
		s := sensitive(measuredOver(256, c.all, c.thresholds, c.throttled))
		if s == nil || s.Class != c.class {
			t.Errorf("%v %v %v: %+v, want %s", c.all, c.thresholds, c.throttled, s, c.class)
			continue
		}
		if s.Warps != 8 || len(s.Thresholds) != len(c.thresholds) ||
			len(s.Throttled) != len(c.throttled) {
			t.Errorf("read as %+v", s)
		}
		// 1 % of noise changes nothing.
		rng := rand.New(rand.NewSource(1))
		for range 50 {
			noisy := func(x []float64) []float64 {
				out := make([]float64, len(x))
				for i := range x {
					out[i] = x[i] * (1 + 0.005*(2*rng.Float64()-1))
				}
				return out
			}
			all := noisy([]float64{c.all})
			if n := sensitive(measuredOver(256, all[0], noisy(c.thresholds),
				noisy(c.throttled))); n.Class != c.class {
				t.Errorf("%v %v %v with noise: %s, want %s", c.all, c.thresholds, c.throttled, n.Class, c.class)
				break
			}
		}
	}
}

func TestTurns(t *testing.T) {
	for want, x := range map[string][]float64{
		"":    {1, 1.02, 1, 0.99, 1.01},
		"+":   {1, 1.03, 1.06, 1.05, 1.09},
		"-":   {1, 0.97, 0.94, 0.96, 0.9},
		"-+":  {1, 0.8, 0.79, 0.82, 0.9},
		"+-":  {1, 1.2, 1.1},
		"+-+": {1, 1.2, 1.1, 1.2},
	} {
		var c []Point
		for i, r := range x {
			c = append(c, Point{i, r})
		}
		if got := turns(c); got != want {
			t.Errorf("%v goes %q, want %q", x, got, want)
		}
	}
}

func TestTooLittleForAClass(t *testing.T) {
	for name, d := range map[string]cache.Decision{
		"nothing":        {},
		"no bypass-all":  measuredOver(256, 0, []float64{0.9, 0.8}, nil),
		"no threshold":   measuredOver(256, 0.9, nil, []float64{0.9}),
		"all other bits": measuredOver(256, 0.9, []float64{0, 0}, nil),
		"a strange value": {Evidence: cache.Evidence{Tried: []cache.Trial{{Recipe: "bypass=x", Ratio: 1},
			{Recipe: "hint@ld=L1::no_allocate", Ratio: 1}, {Recipe: "{", Ratio: 1}}}},
	} {
		if s := sensitive(d); s != nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestClassInReports: a line in what explain prints.
func TestClassInReports(t *testing.T) {
	d := measuredOver(256, 0.95, []float64{0.85, 0.7, 0.6, 0.75, 0.9, 1.02}, []float64{6, 0.55, 0.8})
	var b bytes.Buffer
	Explain(&b, NewEntry(d))
	text := b.String()
	line :=
		"congested: without L1 0.95 times nvcc's time, with L1 for 3 of 8 warps 0.60, with 2 blocks resident 0.55 "
	if !strings.Contains(strings.Join(strings.Fields(text), " "), line) {
		t.Error(text)
	}
}
