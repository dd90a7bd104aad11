package search

import (
	"math"
	"testing"
	"time"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// TestEither: where it is not known in which state the program's launches find the L2 cache, the
// smaller gain is claimed; what is slower in one state is not adopted.
func TestEither(t *testing.T) {
	for _, c := range []struct {
		either, repeats, adopted bool
		other, claimed           float64
	}{
		{false, false, true, 1.2, 0.7}, // it is known
		{true, false, true, 0.85, 0.85},
		{true, false, true, 0.6, 0.7},
		{true, false, false, 1.2, 1},
		// in a row of launches, each finds what the one before has left
		{false, true, true, 0.8, 0.7},
		{false, true, false, 1.2, 1},
	} {
		k := streaming(0.7)
		k.other = func(r recipe.Recipe) float64 {
			return takes(map[string]float64{"hint@ld=cs": c.other})(r, policy.Shape{})
		}
		g := newSim(t, k)
		g.either, g.repeats = c.either, c.repeats
		d := g.decision(hinted(), 10*time.Second)
		l := d.Evidence.Launches[0]
		if got := l.After.Median / l.Before.Median; (d.Recipe == "hint@ld=cs") != c.adopted ||
			math.Abs(got-c.claimed) > 0.01 {
			t.Errorf("%+v: decided %q, claimed %.3f", c, d.Recipe, got)
		}
	}
}

// TestUnhinted: a hint that pays in one state of the cache, and costs more in the other, is left
// out of the recipe, and not the rest of it.
func TestUnhinted(t *testing.T) {
	k := loading(map[string]float64{"hint@ld=cs": 0.85, "hint@st=cs": 0.9})
	k.Stores = 2
	k.other = func(r recipe.Recipe) float64 {
		return takes(map[string]float64{"hint@ld=cs": 0.85, "hint@st=cs": 1.05})(r, policy.Shape{})
	}
	g := newSim(t, k)
	g.either = true
	o := simOptions()
	o.Levers = []string{"hint"}
	decision := g.decision(o, 10*time.Second)
	l := decision.Evidence.Launches[0]
	if got := decision.Recipe; got != "hint@ld=cs" ||
		math.Abs(l.After.Median/l.Before.Median-0.85) > 0.01 {
		t.Errorf("decided %q, claimed %.3f", got, l.After.Median/l.Before.Median)
	}
}
