package search

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"gnvcc/policy"
	"gnvcc/profile"
	"gnvcc/rewrite/recipe"
)

// What is claimed of a recipe: no more than holds on every launch that it was compared on, and no
// more than the samples bear.

// gains lets launches behind the first take this part of their time with hint@ld=cs.
func (k *simKernel) gains(part float64) {
	k.later = func(r recipe.Recipe) float64 { return takes(map[string]float64{"hint@ld=cs": part})(r, policy.Shape{}) }
}

// loads is a tuner that tries hints of loads alone.
func (g *simGPU) loads() *Run { return NewRun(context.Background(), hinted(), g, g, g, nil) }

// TestClaimed: launches of one configuration may take other times, on other data. What a recipe
// gains on the first is not claimed of the others, and what is slower there is not adopted, nor a gain
// of which hardly anything is left, or one of a step of the events' clock.
func TestClaimed(t *testing.T) {
	for name, c := range map[string]struct {
		part, later float64
		time, noise float64 // 0: the usual
		claimed     float64
	}{
		"less is gained later": {part: 0.7, later: 0.9, claimed: 0.9},
		"more is gained later": {part: 0.7, later: 0.6, claimed: 0.7},
		"slower later":         {part: 0.7, later: 1.05, claimed: 1},
		"half of it is left":   {part: 0.95, later: 0.97, noise: 0.001, claimed: 0.97},
		"hardly any is left":   {part: 0.95, later: 0.99, noise: 0.001, claimed: 1},
		"a kernel of 1.3 us":   {part: 0.95, later: 0.95, time: 1300, noise: 0.001, claimed: 1},
		"a kernel of 3 us":     {part: 0.95, later: 0.95, time: 3000, noise: 0.001, claimed: 0.95},
	} {
		k := streaming(c.part)
		k.time, k.noise = c.time, c.noise
		k.gains(c.later)
		o := hinted()
		if c.time > 0 {
			o.Short = 0
		}
		results, _ := newSim(t, k).run(o, one("_Z1aPfi", shape(1000, 256)))
		d := results[0].Decision
		l := d.Evidence.Launches[0]
		if got := l.After.Median / l.Before.Median; math.Abs(got-c.claimed) > 0.02 ||
			(d.Recipe != "") != (c.claimed < 1) {
			t.Errorf("%s: claimed %.3f of %q", name, got, d.Recipe)
		}
		for _, tr := range d.Evidence.Tried {
			if c.later > 1 && tr.Recipe == "hint@ld=cs" && !strings.Contains(tr.Refused, "slower on 1000 x 256") {
				t.Errorf("refused: %q", tr.Refused)
			}
		}
	}
}

// TestAlong: where launches take other times along the run, each stands for its part of the time:
// an early one that gains little and stands for little does not count for more than that.
func TestAlong(t *testing.T) {
	k := streaming(0.8)
	k.gains(0.9)
	g := newSim(t, k)
	tuner := g.loads()
	var p *profile.Launch
	for nth, part := range []float64{0.75, 0.25} {
		g.part, g.capture = part, fmt.Sprint(nth)
		p, _, _ = g.replays(tuner, 1+nth)
	}
	l := g.finish(tuner, p).Evidence.Launches[0]
	if got := l.After.Median / l.Before.Median; math.Abs(got-0.825) > 0.01 {
		t.Errorf("claimed %.3f", got)
	}
}

// TestMissed: what wins on a later launch is compared on the earlier ones, too.
func TestMissed(t *testing.T) {
	k := loading(map[string]float64{"hint@ld=cs": 0.7, "hint@ld=L1::evict_first": 0.85})
	k.later = func(r recipe.Recipe) float64 {
		return takes(map[string]float64{"hint@ld=cs": 1.05, "hint@ld=L1::evict_first": 0.75})(r, policy.Shape{})
	}
	g := newSim(t, k)
	tuner := g.loads()
	var p *profile.Launch
	play := func(nth int) (tuned bool) {
		g.capture = fmt.Sprint(nth)
		p, _, tuned = g.replays(tuner, nth)
		return tuned
	}
	missed := func(capture string) bool { return tuner.Config(captured()).Missed(capture) }
	if missed("1") {
		t.Error("nothing has won")
	}
	play(1)
	if missed("1") {
		t.Error("it won on this one")
	}
	play(2)
	if !missed("1") || missed("2") {
		t.Error("another one has won")
	}
	if !play(1) || missed("1") {
		t.Error("it was compared there")
	}
	d := g.finish(tuner, p)
	l := d.Evidence.Launches[0]
	if got := l.After.Median / l.Before.Median; math.Abs(got-0.85) > 0.02 {
		t.Errorf("claimed %.3f of %q", got, d.Recipe)
	}
}

// TestBound: where a candidate's time jumps from launch to launch, no more is claimed than nearly
// all of its launches bear out.
func TestBound(t *testing.T) {
	k := streaming(0)
	calls := 0
	k.speed = func(r recipe.Recipe, s policy.Shape) float64 {
		if get(r, "hint@ld") != "cs" {
			return 1
		}
		if calls++; calls%3 == 0 {
			return 0.8
		}
		return 0.7
	}
	g := newSim(t, k)
	l := g.decision(hinted(), 10*time.Second).Evidence.Launches[0]
	if got := l.After.Median / l.Before.Median; math.Abs(got-0.8) > 0.02 {
		t.Errorf("claimed %.3f", got)
	}
}

// TestBetween: grids that nobody measured gain what those beside them do, in the report's figure,
// too; what lies beyond them stays as it is.
func TestBetween(t *testing.T) {
	k := streaming(0)
	k.speed = func(r recipe.Recipe, s policy.Shape) float64 {
		if get(r, "hint@ld") != "cs" {
			return 1
		}
		return map[int]float64{1000: 0.7, 500: 0.8, 100: 0.9}[s.Grid[0]]
	}
	g := newSim(t, k)
	o := hinted()
	o.Full, o.Verify = 1, 2
	a := app{launches: on(60, 1000, 256)} // 2000, beyond the others, is a small part
	for _, n := range []int{500, 100, 300, 300, 300, 2000} {
		a.launches = append(a.launches, on(1, n, 256)...)
	}
	results, _ := g.run(o, a)
	e := results[0].Decision.Evidence
	if e.Rest == nil || len(e.Launches) != 3 {
		t.Fatalf("%+v", e)
	}
	if part := e.Rest.After / e.Rest.Between; math.Abs(part-0.85) > 0.01 || e.Rest.Others <= 0 {
		t.Errorf("%+v: a grid between takes %.3f", e.Rest, part)
	}
	before, after := e.Rest.Between+e.Rest.Others, e.Rest.After+e.Rest.Others
	for _, l := range e.Launches {
		n := float64(l.Count) / 1e9
		before, after = before+n*l.Before.Median, after+n*l.After.Median
	}
	if got := e.Ratio(); math.Abs(got-after/before) > 1e-9 {
		t.Errorf("the whole takes %.3f, not %.3f", got, after/before)
	}
}
