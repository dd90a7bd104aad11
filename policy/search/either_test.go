package search

import (
	"context"
	"math"
	"testing"
	"time"

	"gnvcc/profile"
	"gnvcc/rewrite/recipe"
)

// TestEither: where it is not known in which state the program's launches find the L2 cache, the
// smaller gain is claimed; what is slower in one state is not adopted.
func TestEither(t *testing.T) {
	for _, c := range []struct {
		either, adopted bool
		other, claimed  float64
	}{
		{false, true, 1.2, 0.7}, // it is known
		{true, true, 0.85, 0.85},
		{true, true, 0.6, 0.7},
		{true, false, 1.2, 1},
	} {
		k := streaming(0.7)
		k.other = func(r recipe.Recipe) float64 {
			if get(r, "ld") == "cs" {
				return c.other
			}
			return 1
		}
		g := newSim(t, k)
		g.either = c.either
		o := simOptions()
		o.Levers = []string{"ld"}
		tuner := NewTuner(context.Background(), o, g, g, g, nil)
		tuner.SetBudget(10*time.Second, 0)
		p, _, _ := g.replays(tuner, 1)
		tuner.End(p.Process, profile.Summary{Whole: true, Kernels: []profile.Seen{{Launch: p}}})
		results, err := tuner.Finish()
		if err != nil || len(results) != 1 || results[0].Decision == nil {
			t.Fatalf("%+v, %v", results, err)
		}
		d := results[0].Decision
		l := d.Evidence.Launches[0]
		if got := l.After.Median / l.Before.Median; (d.Recipe == "ld=cs") != c.adopted ||
			math.Abs(got-c.claimed) > 0.01 {
			t.Errorf("%+v: decided %q, claimed %.3f", c, d.Recipe, got)
		}
	}
}
