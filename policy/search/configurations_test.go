package search

import (
	"strings"
	"testing"
	"time"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// TestConfigurations: one recipe for all shapes: what is faster on one and slower on another is not
// adopted.
func TestConfigurations(t *testing.T) {
	k := &simKernel{Kernel: policy.Kernel{Loads: 8}, speed: func(r recipe.Recipe, s policy.Shape) float64 {
		large := s.Grid[0] > 100
		switch get(r, "hint@ld") {
		case "cs":
			if large {
				return 0.6
			}
			return 1.05
		case "L2::256B":
			return 0.85
		}
		return 1
	}}
	g := newSim(t, k)
	o := simOptions()
	o.Levers = []string{"hint"}
	a := app{}
	for i := 0; i < 20; i++ {
		a.launches = append(a.launches, appLaunch{kernel: "_Z1aPfi", shape: shape(1000, 256)},
			appLaunch{kernel: "_Z1aPfi", shape: shape(50, 256)})
	}
	results, _ := g.run(o, a)
	d := results[0].Decision
	if d.Recipe != "hint@ld=L2::256B" || len(d.Evidence.Launches) != 2 {
		t.Errorf("decided %q on %d configurations", d.Recipe, len(d.Evidence.Launches))
	}
	for _, tr := range d.Evidence.Tried {
		if tr.Recipe == "hint@ld=cs" && !strings.Contains(tr.Refused, "slower on 50 x 256") {
			t.Errorf("hint@ld=cs refused: %q", tr.Refused)
		}
	}
}

// TestTwoShapes: two sets of values, each with its own second entry, in one recipe.
func TestTwoShapes(t *testing.T) {
	k := &simKernel{Kernel: sources(policy.Kernel{}), speed: func(r recipe.Recipe, s policy.Shape) float64 {
		if strings.Contains(r.String(), "#1=") {
			return 0.7
		}
		return 1
	}}
	g := newSim(t, k)
	a := app{}
	for i := 0; i < 30; i++ {
		a.launches = append(a.launches, appLaunch{kernel: "_Z1aPfi", shape: shape(1000, 256), n: 1000},
			appLaunch{kernel: "_Z1aPfi", shape: shape(500, 256), n: 500})
	}
	results, _ := g.run(simOptions(), a)
	d := results[0].Decision
	if d.Recipe != "spec{#1=1000} spec{#1=500}" && d.Recipe != "spec{#1=500} spec{#1=1000}" {
		t.Fatalf("decided %q", d.Recipe)
	}
	for _, l := range d.Evidence.Launches {
		if l.After.Median > 0.75*l.Before.Median || l.Checked < 3 {
			t.Errorf("%+v", l)
		}
	}
}

// TestEntriesApart: two shapes that follow each other, each with an entry of its own that is built
// in another way. The first is over when the second one's winner is found: its launches can't take
// that entry, so it needs no measuring there.
func TestEntriesApart(t *testing.T) {
	k := &simKernel{Kernel: sources(policy.Kernel{Loads: 4}), speed: func(r recipe.Recipe,
		s policy.Shape) float64 {
		f := 1.0
		if strings.Contains(r.String(), "#1=") {
			f = 0.8
		}
		switch large := s.Grid[0] > 100; {
		case large && get(r, "hint@ld") == "L2::256B":
			f *= 0.8
		case !large && get(r, "hint@ld") == "L2::256B":
			f *= 1.3
		case !large && get(r, "unroll") == "8":
			f *= 0.8
		case large && get(r, "unroll") == "8":
			f *= 1.3
		}
		return f
	}}
	g := newSim(t, k)
	a := app{}
	for i := 0; i < 30; i++ {
		a.launches = append(a.launches, appLaunch{kernel: "_Z1aPfi", shape: shape(50, 256), n: 64})
	}
	for i := 0; i < 30; i++ {
		a.launches = append(a.launches, appLaunch{kernel: "_Z1aPfi", shape: shape(1000, 256), n: 1000})
	}
	results, _ := g.run(simOptions(), a)
	d := results[0].Decision
	r := mustParse(t, d.Recipe)
	entries, err := r.Entries()
	if err != nil || len(entries) != 2 {
		t.Fatalf("decided %q", d.Recipe)
	}
	for _, e := range entries {
		if text := e.String(); strings.Contains(text, "#1=64") && !strings.Contains(text, "unroll=8") ||
			strings.Contains(text, "#1=1000") && !strings.Contains(text, "L2::256B") {
			t.Errorf("an entry is %s", text)
		}
	}
	for _, l := range d.Evidence.Launches {
		if l.After.Median > 0.68*l.Before.Median {
			t.Errorf("%+v", l)
		}
	}
	// Again: each entry is looked at by itself, and the decision stands.
	again, _ := g.run(simOptions(), a)
	if e, err := mustParse(t, again[0].Decision.Recipe).Entries(); err != nil || len(e) != 2 {
		t.Errorf("decided %q the second time", again[0].Decision.Recipe)
	}
}

func mustParse(t *testing.T, text string) recipe.Recipe {
	t.Helper()
	r, err := recipe.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestOtherValues: a launch with other values never runs a second entry that was not made for it.
func TestOtherValues(t *testing.T) {
	k := &simKernel{Kernel: sources(policy.Kernel{}), speed: func(r recipe.Recipe, s policy.Shape) float64 {
		if strings.Contains(r.String(), "#1=1000") {
			return 0.7
		}
		return 1
	}}
	wrong := ""
	k.trouble = func(r recipe.Recipe, launch int) string {
		if strings.Contains(r.String(), "#1=1000") && launch >= 30 { // n is 7 there
			wrong = r.String()
			return "fault"
		}
		return ""
	}
	g := newSim(t, k)
	a := app{launches: append(appLaunch{kernel: "_Z1aPfi", shape: shape(1000, 256), n: 1000}.times(30),
		appLaunch{kernel: "_Z1aPfi", shape: shape(500, 256), n: 7}.times(30)...)}
	a.launches = append(a.launches, appLaunch{kernel: "_Z1aPfi", shape: shape(1000, 256),
		n: 7}.times(40)...)
	results, _ := g.run(simOptions(), a)
	if wrong != "" {
		t.Fatalf("%s was launched with n = 7", wrong)
	}
	if d := results[0].Decision; d.Recipe != "spec{#1=1000}" || len(d.Evidence.Launches) != 2 {
		t.Errorf("decided %q, %d configurations", d.Recipe, len(d.Evidence.Launches))
	}
}

// TestStaleValues: a recipe whose values no launch has any more is said to be of no use in that
// run.
func TestStaleValues(t *testing.T) {
	k := &simKernel{Kernel: sources(policy.Kernel{}), speed: func(r recipe.Recipe, s policy.Shape) float64 {
		for _, term := range r.Terms {
			if term.Brace && strings.Contains(term.Value, "#1=1024") {
				return 0.6
			}
		}
		return 1
	}}
	g := newSim(t, k)
	launches := func(n int32) app {
		a := one("_Z1aPfi", shape(1000, 256))
		for i := range a.launches {
			a.launches[i].n = n
		}
		return a
	}
	results, _ := g.run(simOptions(), launches(1024))
	if d := results[0].Decision; !strings.Contains(d.Recipe, "#1=1024") ||
		strings.Contains(d.Evidence.Note, "no launch") || results[0].Unheld != "" {
		t.Fatalf("decided %q; %q %q", d.Recipe, d.Evidence.Note, results[0].Unheld)
	}
	results, _ = g.run(simOptions(), launches(77))
	if !strings.Contains(results[0].Unheld, "no launch of this run met the conditions of ") {
		t.Errorf("the run says %q", results[0].Unheld)
	}
	if d := results[0].Decision; d != nil && !strings.Contains(d.Evidence.Note,
		"no launch of this run") {
		t.Errorf("the report says %q", d.Evidence.Note)
	}
	results, _ = g.run(simOptions(), launches(1024))
	if results[0].Unheld != "" {
		t.Errorf("values that are there again: %q", results[0].Unheld)
	}
}

// TestManyConfigurations: beyond the limits configurations are only verified, then left alone, and
// the run goes on. What won is not adopted then.
func TestManyConfigurations(t *testing.T) {
	k := streaming(0.8)
	g := newSim(t, k)
	o := simOptions()
	o.Full, o.Verify = 2, 3
	a := app{}
	for i := 1; i <= 10; i++ {
		a.launches = append(a.launches, appLaunch{kernel: "_Z1aPfi", shape: shape(100*i, 256)}.times(
			3)...)
	}
	results, _ := g.run(o, a)
	d := results[0].Decision
	if d.Recipe != "" || len(d.Evidence.Launches) != 5 || len(results[0].Alone) != 5 {
		t.Errorf("decided %q on %d configurations, %d left alone", d.Recipe,
			len(d.Evidence.Launches), len(results[0].Alone))
	}
	if n := g.measured["hint@ld=L2::128B"]; n > 200 {
		t.Errorf("a loser was measured %d times: beyond the limit only winners should be", n)
	}
}

// TestValuesVary: the scalar was the same at first, and then it was not.
func TestValuesVary(t *testing.T) {
	k := &simKernel{Kernel: sources(policy.Kernel{}), speed: func(r recipe.Recipe, s policy.Shape) float64 {
		f := 1.0
		for _, term := range r.Terms {
			if term.Lever == "spec" && strings.Contains(term.Value, "#1=") {
				f = 0.7
			} else if term.Lever == "spec" && strings.Contains(term.Value, "blockDim.x") {
				f = 0.9
			}
		}
		return f
	}}
	g := newSim(t, k)
	a := app{}
	for i := 0; i < 40; i++ {
		a.launches = append(a.launches, appLaunch{kernel: "_Z1aPfi", shape: shape(1000, 256),
			n: int32(1024 + i)})
	}
	results, _ := g.run(simOptions(), a)
	if d := results[0].Decision; d.Recipe != "spec{blockDim.x=256,blockDim.y=1,blockDim.z=1}" {
		t.Errorf("decided %q", d.Recipe)
	}
}

// TestBudget: a search ends with its budget, and the next run goes on where it ended.
func TestBudget(t *testing.T) {
	k := &simKernel{Kernel: sources(policy.Kernel{Loads: 8}), compile: 80 * time.Millisecond,
		speed: func(r recipe.Recipe, s policy.Shape) float64 {
			f := 1.0
			if get(r, "unroll") == "8" {
				f = 0.7
			}
			if get(r, "hint@ld") == "cs" {
				f *= 0.9
			}
			return f
		}}
	g := newSim(t, k)
	o := simOptions()
	o.Jobs = 2
	o.Budget = 250 * time.Millisecond
	results, _ := g.run(o, app{launches: one("_Z1aPfi", shape(1000, 256)).launches[:1]})
	// All that is to be compiled takes some two seconds: 50 candidates of 80 ms, two at a time, if it
	// does not stop.
	if g.stood > 2*o.Budget || len(g.compiled) > 40 {
		t.Errorf("a budget of %v took %v and %d compiles", o.Budget, g.stood, len(g.compiled))
	}
	firstRun := len(g.compiled)
	n := len(results[0].Decision.Evidence.Tried)
	best := 0.7 * 0.9
	found := func() bool {
		r, err := recipe.Parse(results[0].Decision.Recipe)
		// factors for single loops change nothing here, and may stand beside it
		return err == nil && k.speed(r, policy.Shape{}) < best*1.001
	}
	for run := 0; run < 100 && !found(); run++ {
		results, _ = g.run(o, app{launches: one("_Z1aPfi", shape(1000, 256)).launches[:1]})
		more := len(results[0].Decision.Evidence.Tried)
		if more < n {
			t.Errorf("this run knows %d candidates, the one before %d", more, n)
		}
		n = more
	}
	if !found() {
		t.Errorf("after many runs: %q", results[0].Decision.Recipe)
	}
	t.Logf("%d compiles in the first run, %d in all", firstRun, len(g.compiled))
}

// TestSlowKernel: with launches of 0.3 s the budget is not spent on hints; values and loops are
// seen, and joined.
func TestSlowKernel(t *testing.T) {
	k := &simKernel{Kernel: sources(policy.Kernel{Loads: 40, Stores: 8}), time: 300e6,
		noise: 0.0005, speed: func(r recipe.Recipe, s policy.Shape) float64 {
			f := 1.0
			if get(r, "unroll") == "4" {
				f = 0.8
			}
			for _, term := range r.Terms {
				if term.Lever == "spec" && strings.Contains(term.Value, "#1=1024") {
					f *= 0.7
				}
			}
			return f
		}}
	g := newSim(t, k)
	g.spends = true
	o := simOptions()
	o.Budget = 22 * time.Second
	// Each run keeps to the budget, with comparisons on fresh samples and checks of the winner at
	// later launches. What the first one could not reach, the next does.
	before := 0.0
	for i, want := range [][]string{{"#1=1024"}, {"#1=1024", "unroll=4"}} {
		results, _ := g.run(o, one("_Z1aPfi", shape(1000, 256)))
		d := results[0].Decision
		for _, w := range want {
			if !strings.Contains(d.Recipe, w) {
				t.Errorf("run %d decided %q", i, d.Recipe)
			}
		}
		c := d.Evidence.Launches[0].Cost
		if took := c.Seconds - before; took > o.Budget.Seconds() {
			t.Errorf("run %d took %.1f s", i, took)
		} else {
			t.Logf("%+v", c)
		}
		before = c.Seconds
	}
	// Longer ones still: nothing could be compared, and the user is told what would do.
	k.time = 3e9
	g = newSim(t, k)
	g.spends = true
	results, _ := g.run(o, one("_Z1aPfi", shape(1000, 256)))
	if r := results[0]; len(r.Alone) != 1 || !strings.Contains(r.Alone[0].Reason,
		"a launch takes 3.0") || !strings.Contains(r.Alone[0].Reason, "--budget") {
		t.Errorf("%+v", r.Alone)
	}
	if g.clock > 10e9 {
		t.Errorf("%.1f s were spent on it", g.clock/1e9)
	}
}

// TestStraggler: a candidate that takes cicc for ever does not keep the search from going on with
// the others.
func TestStraggler(t *testing.T) {
	k := &simKernel{Kernel: sources(policy.Kernel{Loads: 8}), compile: time.Millisecond,
		slow: func(r recipe.Recipe) bool {
			return get(r, "unroll") == "8"
		},
		speed: func(r recipe.Recipe, s policy.Shape) float64 {
			f := 1.0
			if get(r, "unroll") == "4" {
				f = 0.7
			}
			if get(r, "maxnreg") == "32" && get(r, "unroll") == "4" {
				f *= 0.9
			}
			return f
		}}
	g := newSim(t, k)
	o := simOptions()
	o.Budget = time.Minute
	results, _ := g.run(o, app{launches: one("_Z1aPfi", shape(1000, 256)).launches[:1]})
	if d := results[0].Decision; d.Recipe != "maxnreg=32 unroll=4" {
		t.Errorf("decided %q", d.Recipe)
	}
	if g.stood > o.Budget/2 {
		t.Errorf("it took %v, waiting for one candidate", g.stood)
	}
	// It is not forgotten: the notebook says that the search has not ended.
	found := false
	for _, text := range g.memos {
		found = found || strings.Contains(string(text), `"Done":false`)
	}
	if !found {
		t.Error("what was not waited for counts as tried")
	}
}

// TestSecondRun: what is measured is not measured again, only the winner is compared anew.
func TestSecondRun(t *testing.T) {
	k := streaming(0.8)
	g := newSim(t, k)
	g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	g.measured, g.compiled = map[string]int{}, map[string]int{}
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	if d := results[0].Decision; d.Recipe != "hint@ld=cs" {
		t.Errorf("decided %q", d.Recipe)
	}
	if len(g.measured) != 2 || len(g.compiled) != 2 {
		t.Errorf("measured again: %v; compiled again: %v", g.measured, g.compiled)
	}
}

// TestEarlierConfigurations: a decision for one input is not overturned by a run with another on
// which it was not measured.
func TestEarlierConfigurations(t *testing.T) {
	k := &simKernel{Kernel: policy.Kernel{Loads: 8}, speed: func(r recipe.Recipe, s policy.Shape) float64 {
		switch get(r, "hint@ld") {
		case "cs":
			if s.Grid[0] == 1000 {
				return 0.8
			}
			return 0.9
		case "L2::256B":
			if s.Grid[0] == 1000 {
				return 1.2
			}
			return 0.7
		}
		return 1
	}}
	g := newSim(t, k)
	o := simOptions()
	o.Levers = []string{"hint"}
	g.run(o, one("_Z1aPfi", shape(1000, 256)))
	results, _ := g.run(o, one("_Z1aPfi", shape(77, 256)))
	if d := results[0].Decision; d.Recipe != "hint@ld=cs" || len(d.Evidence.Launches) != 2 {
		t.Errorf("decided %q on %d configurations", d.Recipe, len(d.Evidence.Launches))
	}
}

// TestApplied: a build that has a recipe already is compared with nvcc's own, not with itself.
func TestApplied(t *testing.T) {
	k := streaming(0.8)
	g := newSim(t, k)
	g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	k.Applied = "hint@ld=cs"
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	d := results[0].Decision
	if d.Recipe != "hint@ld=cs" ||
		d.Evidence.Launches[0].After.Median > 0.83*d.Evidence.Launches[0].Before.Median {
		t.Errorf("decided %q, %+v", d.Recipe, d.Evidence.Launches)
	}
}

// TestOneLoop: a factor for all loops is bad where one of them must be left to LLVM; the factor for
// the other one alone is found, and found again at the next factor.
func TestOneLoop(t *testing.T) {
	k := &simKernel{Kernel: sources(policy.Kernel{}), speed: func(r recipe.Recipe, s policy.Shape) float64 {
		inner, _ := r.Get("unroll", "2")
		outer, _ := r.Get("unroll", "1")
		all := get(r, "unroll")
		switch {
		case inner != "" || all != "":
			return 1.5
		case outer == "16":
			return 0.5
		case outer == "8":
			return 0.6
		case outer == "4":
			return 0.7
		}
		return 1
	}}
	g := newSim(t, k)
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	if d := results[0].Decision; d.Recipe != "unroll@1=16" {
		t.Errorf("decided %q", d.Recipe)
	}
	// Where no loop gains, they are asked for once.
	k.speed = func(r recipe.Recipe, s policy.Shape) float64 { return 1 }
	g = newSim(t, k)
	results, _ = g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	single := 0
	for _, tr := range results[0].Decision.Evidence.Tried {
		if strings.HasPrefix(tr.Recipe, "unroll@") {
			single++
		}
	}
	if d := results[0].Decision; d.Recipe != "" || single != 6 {
		t.Errorf("decided %q, with %d factors for single loops tried", d.Recipe, single)
	}
}

// TestNoise: equal candidates and a noisy clock: adoption is rare. (policy/stats has the figures;
// this is the whole way.)
func TestNoise(t *testing.T) {
	adopted := 0
	for seed := int64(0); seed < 40; seed++ {
		k := &simKernel{Kernel: sources(policy.Kernel{Loads: 8, Stores: 2}), noise: 0.15, time: 20e3,
			speed: func(r recipe.Recipe, s policy.Shape) float64 {
				return 1
			}}
		g := newSim(t, k)
		g.rng.Seed(seed)
		results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
		if results[0].Decision.Recipe != "" {
			adopted++
		}
	}
	if adopted > 1 {
		t.Errorf("%d of 40 kernels got a recipe that does nothing", adopted)
	}
}
