package search

import (
	"fmt"
	"strings"
	"testing"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// of is a set of values of a shape.
func of(s policy.Shape, n int32) policy.Shape {
	s.Set = fmt.Sprint("n", n)
	return s
}

// One shape, five sets of values, of which the first is the cheapest: each is a configuration of
// its own, entries are made for those that weigh most in the program, and what is best for the
// first one only is not what is chosen.
func TestSetsOfValues(t *testing.T) {
	seconds := map[int32]float64{1: 0.01, 2: 1, 3: 8, 4: 9, 5: 7}
	k := &simKernel{Kernel: sources(policy.Kernel{Loads: 4}), speed: func(r recipe.Recipe,
		s policy.Shape) float64 {
		f := 1.0
		if strings.Contains(r.String(), "#1="+strings.TrimPrefix(s.Set, "n")) {
			f = 0.5
		}
		if get(r, "hint@ld") == "L2::256B" { // the cheapest set alone gains by it
			if f *= 1.2; s.Set == "n1" {
				f *= 0.4
			}
		}
		return f
	}}
	g := newSim(t, k)
	a := app{}
	for range 30 {
		for n := int32(1); n <= 5; n++ {
			a.launches = append(a.launches, appLaunch{kernel: "_Z1aPfi", shape: of(shape(1000, 256), n),
				n: n, takes: seconds[n] / 30})
		}
	}
	o := simOptions()
	o.Full = 8
	results, _ := g.run(o, a)
	d := results[0].Decision
	for _, n := range []string{"2", "3", "4", "5"} {
		if !strings.Contains(d.Recipe, "#1="+n) {
			t.Errorf("no entry for n = %s in %q", n, d.Recipe)
		}
	}
	if len(d.Evidence.Launches) != 5 {
		t.Fatalf("%+v", d.Evidence.Launches)
	}
	var before, after float64
	for _, l := range d.Evidence.Launches {
		if l.Set == "" || l.Seconds == 0 {
			t.Errorf("%+v", l)
		}
		before += l.Seconds
		after += l.Seconds * l.After.Median / l.Before.Median
	}
	if gain := before / after; gain < 1.9 {
		t.Errorf("%q is %.2f times as fast over the run, 1.96 can be had", d.Recipe, gain)
	}
}

// A recipe for the plain kernel is judged on every set, weighted by what it takes in the program,
// not by how often it was launched.
func TestSetsWeighPlain(t *testing.T) {
	for _, light := range []bool{true, false} {
		k := loading(nil)
		k.speed = func(r recipe.Recipe, s policy.Shape) float64 {
			parts := map[string]map[string]float64{"n1": {"hint@ld=cs": 0.8, "hint@ld=L2::256B": 0.9},
				"n2": {"hint@ld=cs": 0.9, "hint@ld=L2::256B": 0.8}}
			return takes(parts[s.Set])(r, s)
		}
		g := newSim(t, k)
		a := app{}
		weights := map[int32]float64{1: 1, 2: 0.1}
		want := "hint@ld=cs"
		if light {
			weights, want = map[int32]float64{1: 0.1, 2: 1}, "hint@ld=L2::256B"
		}
		for range 30 {
			for n, s := range weights {
				a.launches = append(a.launches, appLaunch{kernel: "_Z1aPfi", shape: of(shape(1000, 256), n),
					n: n, takes: s})
			}
		}
		if results, _ := g.run(hinted(), a); results[0].Decision.Recipe != want {
			t.Errorf("%q, want %q", results[0].Decision.Recipe, want)
		}
	}
}

// An earlier run that did not tell sets apart says nothing about the sets of this one.
func TestDividedAnew(t *testing.T) {
	g := newSim(t, streaming(0.8))
	o := hinted()
	one := appLaunch{kernel: "_Z1aPfi", shape: shape(1000, 256), n: 1}
	g.run(o, app{launches: one.times(30)})
	one.shape = of(one.shape, 1)
	two := one
	two.shape, two.n = of(shape(1000, 256), 2), 2
	results, _ := g.run(o, app{launches: append(one.times(30), two.times(30)...)})
	if d := results[0].Decision; d.Recipe != "hint@ld=cs" || len(d.Evidence.Launches) != 2 {
		t.Errorf("%q on %+v", d.Recipe, d.Evidence.Launches)
	}
}
