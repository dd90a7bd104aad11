package search

import (
	"strings"
	"testing"
	"time"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// Searches of which one run follows another, or something goes wrong, or time is short.

// tuned is what one run after another decides of a kernel, launched 40 times.
func (g *simGPU) tuned(o policy.Options, list ...appLaunch) string {
	g.t.Helper()
	if list == nil {
		list = on(40, 1000, 256)
	}
	results, _ := g.run(o, app{launches: list})
	if results[0].Decision == nil {
		g.t.Fatalf("nothing is decided: %+v", results[0])
	}
	return results[0].Decision.Recipe
}

// hinted are the usual options, with hints of loads alone.
func hinted() policy.Options {
	o := simOptions()
	o.Levers = []string{"hint"}
	return o
}

func TestFault(t *testing.T) {
	for _, trouble := range []string{"fault", "hang"} {
		k := loading(map[string]float64{"hint@ld=cs": 0.8})
		k.trouble = fails("hint@ld=L2::128B", trouble, 0)
		g := newSim(t, k)
		results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
		if results[0].Decision != nil || results[0].Lost == "" || len(g.decisions) != 0 {
			t.Errorf("%s: after a lost process: %+v", trouble, results[0])
		}
		if got := g.tuned(simOptions()); got != "hint@ld=cs" || g.faults > 1 {
			t.Errorf("%s: the second run decides %q; the faulting candidate was run %d times", trouble, got, g.faults)
		}
	}
}

func TestLeftAlone(t *testing.T) {
	usual := takes(map[string]float64{"": 0.5})
	var kernels []*simKernel
	for range 6 {
		kernels = append(kernels, &simKernel{speed: usual})
	}
	kernels[0].random, kernels[1].time, kernels[4].Kernel.Alone = true, 500, "it uses setmaxnreg"
	kernels[5].trouble = func(r recipe.Recipe, launch int) string {
		if r.IsDefault() {
			return "compile"
		}
		return ""
	}
	g := newSim(t, kernels...)
	results, _ := g.run(simOptions(), app{launches: []appLaunch{
		{kernel: "_Z1aPfi", shape: shape(10, 64)}, {kernel: "_Z1bPfi", shape: shape(10, 64)},
		{kernel: "_Z1cPfi", shape: shape(10, 64), module: "other"},
		{kernel: "_Z1dPfi", shape: shape(10, 64), alone: "captured into a graph"},
		{kernel: "_Z1ePfi", shape: shape(10, 64)}, {kernel: "_Z1fPfi", shape: shape(10, 64)},
	}})
	for i, w := range []string{"nondeterministic", "too short: 0.5 us", "not built by gnvcc",
		"captured into a graph", "setmaxnreg", "can't be reproduced: ptxas fatal: simulated"} {
		if len(results[i].Alone) != 1 || !strings.Contains(results[i].Alone[0], w) {
			t.Errorf("%s: left alone: %+v; want %q", results[i].Kernel.Name, results[i].Alone, w)
		}
		if d := results[i].Decision; d != nil && (d.Recipe != "" || !strings.Contains(d.Evidence.Note, w)) {
			t.Errorf("%s: decision %+v", results[i].Kernel.Name, d)
		}
	}
	if n := g.measured["hint@ld=cs"]; n != 0 {
		t.Error("something that is left alone was tuned")
	}
	// A tolerance lets the nondeterministic one be tuned.
	o := simOptions()
	o.Within = policy.Bound{Value: 1e-5}
	g.kernels["_Z1aPfi"].Writes = "f32"
	results, _ = g.run(o, one("_Z1aPfi", shape(10, 64)))
	if d := results[0].Decision; d == nil || d.Recipe == "" || !strings.Contains(d.Evidence.Note,
		"1e-05") || d.Exactness != "approximate" {
		t.Errorf("with a tolerance: %+v", d)
	}
}

// TestEntriesApart: two shapes that follow each other, each with an entry of its own that is built
// in another way. The first is over when the second one's winner is found: its launches can't take
// that entry, so it needs no measuring there.
func TestEntriesApart(t *testing.T) {
	k := sourced(nil)
	k.speed = func(r recipe.Recipe, s policy.Shape) float64 {
		if s.Grid[0] > 100 {
			return takes(map[string]float64{"#1=": 0.8, "hint@ld=L2::256B": 0.8, "unroll=8": 1.3})(r, s)
		}
		return takes(map[string]float64{"#1=": 0.8, "hint@ld=L2::256B": 1.3, "unroll=8": 0.8})(r, s)
	}
	g := newSim(t, k)
	small := appLaunch{kernel: "_Z1aPfi", shape: shape(50, 256), n: 64}
	large := appLaunch{kernel: "_Z1aPfi", shape: shape(1000, 256), n: 1000}
	a := app{launches: append(small.times(30), large.times(30)...)}
	results, _ := g.run(simOptions(), a)
	d := results[0].Decision
	entries, err := mustParse(t, d.Recipe).Entries()
	if err != nil || len(entries) != 2 {
		t.Fatalf("decided %q", d.Recipe)
	}
	for _, e := range entries {
		if has(e, "#1=64") && !has(e, "unroll=8") || has(e, "#1=1000") && !has(e, "hint@ld=L2::256B") {
			t.Errorf("an entry is %s", e)
		}
	}
	for _, l := range d.Evidence.Launches {
		if l.After.Median > 0.68*l.Before.Median {
			t.Errorf("%+v", l)
		}
	}
	// Again: each entry is looked at by itself, and the decision stands.
	again := g.tuned(simOptions(), a.launches...)
	if e, err := mustParse(t, again).Entries(); err != nil || len(e) != 2 {
		t.Errorf("decided %q the second time", again)
	}
}

// TestOtherValues: a launch with other values never runs a second entry that was not made for it.
func TestOtherValues(t *testing.T) {
	k := sourced(map[string]float64{"#1=1000": 0.7})
	wrong := ""
	k.trouble = func(r recipe.Recipe, launch int) string {
		if has(r, "#1=1000") && launch >= 30 { // n is 7 there
			wrong = r.String()
			return "fault"
		}
		return ""
	}
	l := appLaunch{kernel: "_Z1aPfi", shape: shape(1000, 256), n: 1000}
	other := appLaunch{kernel: "_Z1aPfi", shape: shape(500, 256), n: 7}
	list := append(l.times(30), other.times(30)...)
	l.n = 7
	results, _ := newSim(t, k).run(simOptions(), app{launches: append(list, l.times(40)...)})
	if d := results[0].Decision; wrong != "" || d.Recipe != "spec{#1=1000}" || len(d.Evidence.Launches) != 2 {
		t.Errorf("decided %q, %d configurations; with n = 7 was launched: %q", d.Recipe, len(d.Evidence.Launches),
			wrong)
	}
}

// TestStaleValues: a recipe whose values no launch has any more is said to be of no use in that
// run.
func TestStaleValues(t *testing.T) {
	g := newSim(t, sourced(map[string]float64{"#1=1024": 0.6}))
	for i, n := range []int32{1024, 77, 1024} {
		l := appLaunch{kernel: "_Z1aPfi", shape: shape(1000, 256), n: n}
		results, _ := g.run(simOptions(), app{launches: l.times(40)})
		const stale = "no launch of this run met the conditions of "
		d, unheld := results[0].Decision, results[0].Unheld
		if strings.Contains(unheld, stale) != (n == 77) || d != nil &&
			strings.Contains(d.Evidence.Note, stale) != (n == 77) {
			t.Errorf("run %d says %q, the report %q", i, unheld, d.Evidence.Note)
		}
		if i == 0 && !strings.Contains(d.Recipe, "#1=1024") {
			t.Errorf("decided %q", d.Recipe)
		}
	}
}

// TestBudget: a search ends with its budget, and the next run goes on where it ended.
func TestBudget(t *testing.T) {
	k := sourced(map[string]float64{"unroll=8": 0.7, "hint@ld=cs": 0.9})
	k.compile = 80 * time.Millisecond
	g := newSim(t, k)
	o := simOptions()
	o.Jobs, o.Budget = 2, 250*time.Millisecond
	found, tried, first := false, 0, 0
	for run := 0; run < 100 && !found; run++ {
		results, _ := g.run(o, app{launches: on(1, 1000, 256)})
		// All that is to be compiled takes some two seconds: 50 candidates of 80 ms, two at a time, if it
		// does not stop.
		if run == 0 && (g.stood > 2*o.Budget || len(g.compiled) > 40) {
			t.Errorf("a budget of %v took %v and %d compiles", o.Budget, g.stood, len(g.compiled))
		}
		if run == 0 {
			first = len(g.compiled)
		}
		d := results[0].Decision
		if n := len(d.Evidence.Tried); n < tried {
			t.Errorf("this run knows %d candidates, the one before %d", n, tried)
		}
		tried = len(d.Evidence.Tried)
		r, err := recipe.Parse(d.Recipe)
		// factors for single loops change nothing here, and may stand beside it
		found = err == nil && k.speed(r, policy.Shape{}) < 0.7*0.9*1.001
	}
	if !found {
		t.Error("after many runs the best was not found")
	}
	t.Logf("%d compiles in the first run, %d in all", first, len(g.compiled))
}

// TestSlowKernel: with launches of 0.3 s the budget is not spent on hints; values and loops are
// seen, and joined.
func TestSlowKernel(t *testing.T) {
	k := sourced(map[string]float64{"unroll=4": 0.8, "#1=1024": 0.7})
	k.Loads, k.Stores, k.time, k.noise = 40, 8, 300e6, 0.0005
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
		}
		before = c.Seconds
	}
	// Longer ones still: nothing could be compared, and the user is told what would do.
	k.time = 3e9
	g = newSim(t, k)
	g.spends = true
	results, _ := g.run(o, one("_Z1aPfi", shape(1000, 256)))
	if r := results[0]; len(r.Alone) != 1 || !strings.Contains(r.Alone[0],
		"a launch takes 3.0") || !strings.Contains(r.Alone[0], "--budget") || g.clock > 10e9 {
		t.Errorf("%+v; %.1f s were spent on it", r.Alone, g.clock/1e9)
	}
}

// TestStraggler: a candidate that takes cicc for ever does not keep the search from going on with
// the others.
func TestStraggler(t *testing.T) {
	k := sourced(nil)
	k.compile = time.Millisecond
	k.slow = func(r recipe.Recipe) bool { return get(r, "unroll") == "8" }
	k.speed = func(r recipe.Recipe, s policy.Shape) float64 {
		f := takes(map[string]float64{"unroll=4": 0.7})(r, s)
		if has(r, "maxnreg=32") && has(r, "unroll=4") {
			f *= 0.9
		}
		return f
	}
	g := newSim(t, k)
	o := simOptions()
	o.Budget = time.Minute
	if got := g.tuned(o, on(1, 1000, 256)...); got != "maxnreg=32 unroll=4" || g.stood > o.Budget/2 {
		t.Errorf("decided %q; it took %v", got, g.stood)
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
	g := newSim(t, streaming(0.8))
	g.tuned(simOptions())
	g.measured, g.compiled = map[string]int{}, map[string]int{}
	if got := g.tuned(simOptions()); got != "hint@ld=cs" || len(g.measured) != 2 || len(g.compiled) != 2 {
		t.Errorf("decided %q; measured again: %v; compiled again: %v", got, g.measured, g.compiled)
	}
}

// TestEarlierConfigurations: a decision for one input is not overturned by a run with another on
// which it was not measured.
func TestEarlierConfigurations(t *testing.T) {
	k := loading(nil)
	k.speed = func(r recipe.Recipe, s policy.Shape) float64 {
		if s.Grid[0] == 1000 {
			return takes(map[string]float64{"hint@ld=cs": 0.8, "hint@ld=L2::256B": 1.2})(r, s)
		}
		return takes(map[string]float64{"hint@ld=cs": 0.9, "hint@ld=L2::256B": 0.7})(r, s)
	}
	g := newSim(t, k)
	g.tuned(hinted())
	results, _ := g.run(hinted(), one("_Z1aPfi", shape(77, 256)))
	if d := results[0].Decision; d.Recipe != "hint@ld=cs" || len(d.Evidence.Launches) != 2 {
		t.Errorf("decided %q on %d configurations", d.Recipe, len(d.Evidence.Launches))
	}
}

// TestApplied: a build that has a recipe already is compared with nvcc's own, not with itself.
func TestApplied(t *testing.T) {
	k := streaming(0.8)
	g := newSim(t, k)
	g.tuned(simOptions())
	k.Applied = "hint@ld=cs"
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	d := results[0].Decision
	if l := d.Evidence.Launches[0]; d.Recipe != "hint@ld=cs" || l.After.Median > 0.83*l.Before.Median {
		t.Errorf("decided %q, %+v", d.Recipe, l)
	}
}

// TestNoise: equal candidates and a noisy clock: adoption is rare. (policy/stats has the figures;
// this is the whole way.)
func TestNoise(t *testing.T) {
	adopted := 0
	for seed := int64(0); seed < 40; seed++ {
		k := sourced(nil)
		k.Stores, k.noise, k.time = 2, 0.15, 20e3
		g := newSim(t, k)
		g.rng.Seed(seed)
		if g.tuned(simOptions()) != "" {
			adopted++
		}
	}
	if adopted > 1 {
		t.Errorf("%d of 40 kernels got a recipe that does nothing", adopted)
	}
}

// TestApproximatesOnlyIfAsked: without leave no approximation is compiled, measured or taken from
// an earlier run that had leave.
func TestApproximatesOnlyIfAsked(t *testing.T) {
	g := newSim(t, divisions())
	bound := simOptions() // a bound is no leave
	bound.Within = policy.Bound{Value: 1}
	for _, o := range []policy.Options{simOptions(), bound} {
		got := g.tuned(o)
		for what := range g.compiled {
			if got != "" || strings.Contains(what, "approx=") || strings.Contains(what, "fastmath=") {
				t.Fatalf("decided %q, compiled %s", got, what)
			}
		}
	}
	wide, narrow := simOptions(), simOptions()
	within("1e-3")(&wide)
	within("1e-6")(&narrow)
	if got := g.tuned(wide); got != "approx=all" {
		t.Fatalf("decided %s", got)
	}
	before := g.measured["approx=all"]
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	if d := results[0].Decision; d == nil || d.Recipe != "" || d.Exactness == "approximate" ||
		g.measured["approx=all"] != before {
		t.Errorf("after a run that approximated: %s", d.Recipe)
	}
	if got := g.tuned(narrow); got != "" { // the other way round, a smaller bound than before
		t.Errorf("with a smaller bound: %s", got)
	}
}
