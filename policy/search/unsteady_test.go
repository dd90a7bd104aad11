package search

import (
	"context"
	"strings"
	"testing"

	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/profile"
)

const orderShows = "its sums depend on the order of atomics"

// unsteady is a kernel whose results differ from run to run; a copy with a known value is faster than
// the best cap, and a cap that crashes faster still.
func unsteadyKernel(why string) *simKernel {
	k := &simKernel{Kernel: sources(policy.Kernel{Loads: 4}), random: true,
		trouble: fails("maxnreg=32", "load", 0), speed: takes(map[string]float64{"#1=": 0.3, "unroll": 0.5, "maxnreg=48": 0.8})}
	lever.Unordered.Put(&k.Kernel, why)
	return k
}

// TestUnsteady: where results differ from run to run by the order of atomics, a cap is adopted by its time alone,
// and what changes arithmetic is not measured, though it would be faster; without atomics nothing is tried.
// A bound that the user gives is what counts, as ever.
func TestUnsteady(t *testing.T) {
	for _, why := range []string{orderShows, ""} {
		g := newSim(t, unsteadyKernel(why))
		d := g.decision(simOptions(), 0)
		for text := range g.measured {
			if r := mustParse(t, text); lever.Has(r, "unroll") || strings.Contains(text, "#1=") {
				t.Errorf("%q: %s is measured", why, text)
			}
		}
		if why == "" {
			if d.Recipe != "" || !strings.Contains(d.Evidence.Note, "nondeterministic") || !strings.Contains(d.Evidence.Note,
				"--within ERROR") || !strings.Contains(d.Evidence.Note, "a reduction in a fixed order") {
				t.Errorf("without atomics: %+v", d)
			}
			continue
		}
		if !has(mustParse(t, d.Recipe), "maxnreg=48") || d.Exactness != "construction" ||
			d.Evidence.Unsteady != orderShows || d.Evidence.Launches[0].Checked != 0 {
			t.Errorf("decided %q, %s: %+v", d.Recipe, d.Exactness, d.Evidence)
		}
		if got := d.Evidence.Untried["unroll"]; !strings.Contains(got, "can't be checked") {
			t.Errorf("unroll: %q", got)
		}
	}
}

// TestUnsteadyReplay: what the replay saw counts though two runs in the session agree by chance; a checked recipe that won
// on another configuration before is no longer adopted.
func TestUnsteadyReplay(t *testing.T) {
	k := unsteadyKernel(orderShows)
	k.random = false
	g := newSim(t, k)
	tuner := NewRun(context.Background(), simOptions(), g, g, g, nil)
	g.replaysGrid(tuner, 1, 500)
	won := tuner.order[0].Winners()
	checked := false
	for _, r := range won {
		checked = checked || strings.Contains(r.String(), "#1=") || lever.Has(r, "unroll")
	}
	if !checked {
		t.Fatalf("nothing that is checked won on a launch that repeats itself: %v", won)
	}
	g.unsteady = "3 of 4 MiB"
	p, _, _ := g.replays(tuner, 1)
	for _, r := range tuner.order[0].Winners() {
		if tuner.order[0].Incomparable(r) != "" {
			t.Errorf("%s stands", r)
		}
	}
	if tuner.Config(captured()).Varies() || tuner.Vary(context.Background(), 1, p, g.session(k, shape(1000, 256), 1), &Plan{}) {
		t.Error("it is looked at on varied data")
	}
	other := *p
	other.Grid = [3]int{500, 1, 1}
	tuner.Saw([]profile.Seen{{Launch: p}, {Launch: &other}})
	results, err := tuner.Finish()
	if err != nil || len(results) != 1 || results[0].Decision == nil {
		t.Fatalf("%+v, %v", results, err)
	}
	if d := results[0].Decision; d.Exactness != "construction" || strings.Contains(d.Recipe, "unroll") {
		t.Errorf("decided %q, %s", d.Recipe, d.Exactness)
	}
}

// TestUnsteadyLater: two runs of the default agree by chance, and a cap leaves other bits; when the default is
// asked again it differs, too: the cap is measured.
func TestUnsteadyLater(t *testing.T) {
	k := capped(fails("maxnreg=48", "bits", 0))
	k.chance = func(_ profile.Schedule, _, n int) bool { return n == 3 }
	lever.Unordered.Put(&k.Kernel, orderShows)
	d := newSim(t, k).decision(caps(), 0)
	if !is48(mustParse(t, d.Recipe)) || d.Evidence.Unsteady != orderShows {
		t.Errorf("decided %q: %+v", d.Recipe, d.Evidence)
	}
}

// TestUnsteadyAnew: what an earlier run refused for its bits is tried where it is known now that nobody can
// compare them.
func TestUnsteadyAnew(t *testing.T) {
	k := capped(fails("maxnreg=48", "bits", 0))
	lever.Unordered.Put(&k.Kernel, orderShows)
	g := newSim(t, k)
	if d := g.decision(caps(), 0); d.Recipe == "" || is48(mustParse(t, d.Recipe)) {
		t.Fatalf("first decided %q", d.Recipe)
	}
	g.unsteady = "3 of 4 MiB"
	if d := g.decision(caps(), 0); !is48(mustParse(t, d.Recipe)) {
		t.Errorf("decided %q: %+v", d.Recipe, d.Evidence.Tried)
	}
}
