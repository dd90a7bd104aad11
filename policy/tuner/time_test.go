package tuner

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gnvcc/policy"
)

// TestBudget: a run takes its budget and a tenth, with sixty captures, with some of gigabytes, on a machine
// on which all takes much longer than was thought; the heaviest are searched all the same.
func TestBudget(t *testing.T) {
	for name, c := range map[string]struct {
		n           int
		gb          float64
		begin, vary float64 // seconds beside a search
		check       float64
		least       float64 // speed-up
	}{
		"sixty":                       {60, 0.01, 0.5, 0.5, 1e-3, 1.05},
		"sixty of a gigabyte":         {60, 1, 2, 3, 1e-2, 1.02},
		"a busy machine":              {60, 0.01, 2, 6, 1e-1, 1},
		"what takes ten times longer": {8, 0.01, 5, 60, 1e-2, 1},
		"one of 20 GB":                {1, 20, 20, 30, 5e-2, 1},
	} {
		s := &simulation{t: t, ptxas: 50 * time.Millisecond, cicc: 500 * time.Millisecond}
		for i := range c.n {
			s.kernels = append(s.kernels, simulated{name: fmt.Sprintf("k%02d", i), gb: c.gb, check: c.check,
				shape:   policy.Shape{Grid: [3]int{500 + i, 1, 1}, Block: [3]int{256, 1, 1}},
				seconds: 1 / float64(i+1), launch: 1e-3, begin: c.begin, vary: c.vary,
				alone: map[string]float64{"hint@ld": 0.8}, best: 0.8})
		}
		for _, budget := range []time.Duration{20 * time.Second, time.Minute} {
			got := s.tune(budget, nil)
			if got.took > budget+budget/10 || got.speedup < c.least {
				t.Errorf("%s: %v of %v, %.3f\n%s", name, got.took, budget, got.speedup, strings.Join(got.said, "\n"))
			}
			if c.n == 60 && c.begin < 1 && got.results["k00"].Decision.Recipe == "" {
				t.Errorf("%s, %v: the heaviest has none", name, budget)
			}
		}
	}
}

// TestCutShort: what won on a launch, and was not checked on varied data before the budget was over, is not
// adopted unless it leaves the arithmetic alone.
func TestCutShort(t *testing.T) {
	for lever, adopted := range map[string]bool{"hint@ld": true, "unroll": false} {
		s := &simulation{t: t, ptxas: time.Millisecond, cicc: time.Millisecond}
		s.kernels = []simulated{{name: "a", seconds: 1, launch: 1e-3, begin: 0.4, vary: 300, numbers: true,
			shape: policy.Shape{Grid: [3]int{500, 1, 1}, Block: [3]int{256, 1, 1}},
			alone: map[string]float64{lever: 0.8}, best: 0.8}}
		name, _, _ := strings.Cut(lever, "@")
		got := s.tune(20*time.Second, func(o *policy.Options) { o.Levers = []string{name} })
		d := got.results["a"].Decision
		if d == nil || (d.Recipe != "") != adopted || got.took > 22*time.Second {
			t.Errorf("%s: %+v, %v\n%s", lever, d, got.took, strings.Join(got.said, "\n"))
		}
	}
}
