package search

import (
	"fmt"
	"strings"
	"testing"

	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// get is a recipe's value for the whole kernel, "" if none.
// get returns the value of a term, "maxnreg" or "hint@ld".
func get(r recipe.Recipe, term string) string {
	lever, site, _ := strings.Cut(term, "@")
	v, _ := r.Get(lever, site)
	return v
}

func one(kernel string, s policy.Shape) app {
	return app{launches: appLaunch{kernel: kernel, shape: s, n: 1024}.times(40)}
}

func TestPicksTheWinner(t *testing.T) {
	// 48 registers are 0.8, streaming loads 0.9, both together 0.72; everything else is slower.
	k := &simKernel{Kernel: policy.Kernel{Loads: 12}, speed: func(r recipe.Recipe, s policy.Shape) float64 {
		f := 1.02
		if get(r, "maxnreg") == "48" {
			f *= 0.8
		} else if get(r, "maxnreg") != "" {
			f *= 1.1
		}
		if get(r, "hint@ld") == "cs" {
			f *= 0.9
		}
		return f
	}}
	g := newSim(t, k)
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	d := results[0].Decision
	if d == nil || d.Recipe != "hint@ld=cs maxnreg=48" {
		t.Fatalf("decided %+v", d)
	}
	if d.Exactness != "construction" || d.Evidence.Chosen.Registers != 48 ||
		d.Evidence.Default.Registers != 40 {
		t.Errorf("decision %+v", d)
	}
	l := d.Evidence.Launches[0]
	if l.Count != 40 || l.Checked < 1 || l.After.Median > 0.76*l.Before.Median ||
		l.Before.Low >= l.Before.High {
		t.Errorf("launch %+v", l)
	}
	if ms := g.clock / 1e6; ms > 450 {
		t.Errorf("%.0f ms of GPU time for one configuration of 100 us", ms)
	} else {
		t.Logf("%.0f ms of GPU time, %d compiles", ms, len(g.compiled))
	}
}

func TestNothingBetter(t *testing.T) {
	k := &simKernel{Kernel: sources(policy.Kernel{Loads: 4, Stores: 2}), speed: func(r recipe.Recipe,
		s policy.Shape) float64 {
		return 1
	}}
	g := newSim(t, k)
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	if d := results[0].Decision; d == nil || d.Recipe != "" || len(d.Evidence.Tried) < 20 {
		t.Errorf("decided %+v", d)
	}
}

// TestSource: factor and values win together, and the cap is looked for anew on their code.
func TestSource(t *testing.T) {
	k := &simKernel{Kernel: sources(policy.Kernel{Loads: 8})}
	k.regs = func(r recipe.Recipe) int {
		n := 40
		if lever.Has(r, "spec") {
			n = 64
		}
		if v := get(r, "maxnreg"); v != "" {
			var c int
			fmt.Sscan(v, &c)
			n = min(n, c)
		}
		return n
	}
	k.speed = func(r recipe.Recipe, s policy.Shape) float64 {
		f := 1.0
		if get(r, "unroll") == "2" {
			f *= 0.9
		}
		for _, term := range r.Terms {
			if term.Lever == "spec" && strings.Contains(term.Value, "#1=1024") {
				f *= 0.7
			}
		}
		switch {
		case lever.Has(r, "spec") && get(r, "maxnreg") == "48":
			f *= 0.85
		case get(r, "maxnreg") != "":
			f *= 1.05
		}
		return f
	}
	g := newSim(t, k)
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	d := results[0].Decision
	if d.Recipe != "maxnreg=48 spec{#1=1024} unroll=2" {
		t.Errorf("decided %q", d.Recipe)
		for _, tr := range d.Evidence.Tried {
			t.Logf("%-50s %.3f %s", tr.Recipe, tr.Ratio, tr.Refused)
		}
	}
	if d.Exactness != "checked" || d.Evidence.Launches[0].Checked < 4 {
		t.Errorf("%s, checked on %d launches; want 4 later ones too", d.Exactness,
			d.Evidence.Launches[0].Checked)
	}
	if v := d.Evidence.Launches[0].Values; v["n"] != "1024" {
		t.Errorf("values %v", v)
	}
	// --exact=construction keeps it to caps and hints.
	g = newSim(t, k)
	o := simOptions()
	o.Exact = rewrite.ByConstruction
	results, _ = g.run(o, one("_Z1aPfi", shape(1000, 256)))
	for _, tr := range results[0].Decision.Evidence.Tried {
		if r, _ := recipe.Parse(tr.Recipe); rewrite.ExactnessOf(r) != rewrite.ByConstruction {
			t.Errorf("tried %q although only exactness by construction is allowed", tr.Recipe)
		}
	}
}

func TestOtherBits(t *testing.T) {
	k := &simKernel{Kernel: sources(policy.Kernel{}), speed: func(r recipe.Recipe, s policy.Shape) float64 {
		if get(r, "unroll") == "4" {
			return 0.5
		}
		if get(r, "unroll") == "2" {
			return 0.8
		}
		return 1
	}, trouble: func(r recipe.Recipe, launch int) string {
		if get(r, "unroll") == "4" {
			return "bits"
		}
		return ""
	}}
	g := newSim(t, k)
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	d := results[0].Decision
	if d.Recipe != "unroll=2" {
		t.Errorf("decided %q", d.Recipe)
	}
	found := false
	for _, tr := range d.Evidence.Tried {
		if tr.Recipe == "unroll=4" {
			found = strings.Contains(tr.Refused, "different bits") && strings.Contains(tr.Refused,
				"allocation 1") && tr.Ratio == 0
		}
	}
	if !found {
		t.Errorf("no refusal for different bits in %+v", d.Evidence.Tried)
	}
	if g.measured["unroll=4"] != 0 {
		t.Errorf("a candidate with other bits was measured")
	}
}

// TestOtherBitsLater: bits that differ at a later launch only.
func TestOtherBitsLater(t *testing.T) {
	k := &simKernel{Kernel: sources(policy.Kernel{}), speed: func(r recipe.Recipe, s policy.Shape) float64 {
		switch get(r, "unroll") {
		case "4":
			return 0.5
		case "2":
			return 0.8
		}
		return 1
	}, trouble: func(r recipe.Recipe, launch int) string {
		if get(r, "unroll") == "4" && launch >= 3 {
			return "bits"
		}
		return ""
	}}
	g := newSim(t, k)
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	d := results[0].Decision
	if d.Recipe != "unroll=2" {
		t.Errorf("decided %q", d.Recipe)
	}
	for _, tr := range d.Evidence.Tried {
		if tr.Recipe == "unroll=4" && !strings.Contains(tr.Refused, "at launch 4") {
			t.Errorf("refused: %q", tr.Refused)
		}
	}
}

func TestFault(t *testing.T) {
	for _, trouble := range []string{"fault", "hang"} {
		bad := &simKernel{Kernel: policy.Kernel{Loads: 4}, speed: func(r recipe.Recipe, s policy.Shape) float64 {
			if get(r, "hint@ld") == "cs" {
				return 0.8
			}
			return 1
		}, trouble: func(r recipe.Recipe, launch int) string {
			if get(r, "hint@ld") == "L2::128B" {
				return trouble
			}
			return ""
		}}
		g := newSim(t, bad)
		results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
		if results[0].Decision != nil || results[0].Lost == "" || len(g.decisions) != 0 {
			t.Errorf("%s: after a lost process: %+v", trouble, results[0])
		}
		results, _ = g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
		if d := results[0].Decision; d == nil || d.Recipe != "hint@ld=cs" {
			t.Fatalf("%s: the second run decides %+v, lost %q", trouble, d, results[0].Lost)
		}
		if g.faults > 1 {
			t.Errorf("%s: the faulting candidate was run %d times", trouble, g.faults)
		}
	}
}

func TestLeftAlone(t *testing.T) {
	usual := func(r recipe.Recipe, s policy.Shape) float64 { return 0.5 }
	random := &simKernel{speed: usual, random: true}
	short := &simKernel{speed: usual, time: 500}
	other := &simKernel{speed: usual}
	graph := &simKernel{speed: usual}
	warps := &simKernel{Kernel: policy.Kernel{Alone: "it uses setmaxnreg"}, speed: usual}
	broken := &simKernel{speed: usual, trouble: func(r recipe.Recipe, launch int) string {
		if r.IsDefault() {
			return "compile"
		}
		return ""
	}}
	g := newSim(t, random, short, other, graph, warps, broken)
	results, tuner := g.run(simOptions(), app{launches: []appLaunch{
		{kernel: "_Z1aPfi", shape: shape(10, 64)}, {kernel: "_Z1bPfi", shape: shape(10, 64)},
		{kernel: "_Z1cPfi", shape: shape(10, 64), module: "other"},
		{kernel: "_Z1dPfi", shape: shape(10, 64), alone: "captured into a graph"},
		{kernel: "_Z1ePfi", shape: shape(10, 64)}, {kernel: "_Z1fPfi", shape: shape(10, 64)},
	}})
	want := []string{"nondeterministic", "too short: 0.5 us", "not built by gnvcc",
		"captured into a graph", "setmaxnreg", "can't be reproduced: ptxas fatal: simulated"}
	for i, w := range want {
		if len(results[i].Alone) != 1 || !strings.Contains(results[i].Alone[0].Reason, w) ||
			results[i].Alone[0].Count != 1 {
			t.Errorf("%s: left alone: %+v; want %q", results[i].Kernel.Name, results[i].Alone, w)
		}
		if d := results[i].Decision; d != nil && (d.Recipe != "" || !strings.Contains(d.Evidence.Note,
			w)) {
			t.Errorf("%s: decision %+v", results[i].Kernel.Name, d)
		}
	}
	_ = tuner
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

// TestCapturedLater: a configuration that is first seen in a capture is tuned at an ordinary
// launch.
func TestCapturedLater(t *testing.T) {
	g := newSim(t, &simKernel{Kernel: policy.Kernel{Loads: 4}, speed: func(r recipe.Recipe,
		s policy.Shape) float64 {
		return 0.8
	}})
	a := app{launches: append([]appLaunch{{kernel: "_Z1aPfi", shape: shape(100, 256),
		alone: "captured into a graph"}}, one("_Z1aPfi", shape(100, 256)).launches...)}
	results, _ := g.run(simOptions(), a)
	if d := results[0].Decision; d == nil || d.Recipe == "" || len(results[0].Alone) != 0 {
		t.Errorf("%+v", results[0])
	}
}

// TestLargestBlock: a count with which blocks of 1024 threads can't be launched is never adopted,
// unless the user bets.
func TestLargestBlock(t *testing.T) {
	k := func() *simKernel {
		return &simKernel{regs: func(r recipe.Recipe) int {
			switch v := get(r, "maxnreg"); v {
			case "":
				return 40
			case "24":
				return 24
			default:
				var n int
				fmt.Sscan(v, &n)
				return n
			}
		}, speed: func(r recipe.Recipe, s policy.Shape) float64 {
			var n int
			fmt.Sscan(get(r, "maxnreg"), &n)
			return 1 - float64(n)/400 // the more the better
		}}
	}
	// In a second entry for blocks of 128 threads only, any count may be had.
	g := newSim(t, k())
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(66, 128)))
	if d :=
		results[0].Decision; d.Recipe != "maxnreg=255 spec{blockDim.x=128,blockDim.y=1,blockDim.z=1}" {
		t.Errorf("with a second entry: %q", d.Recipe)
	}
	single := k()
	single.NoSpec = "its source is not known"
	g = newSim(t, single)
	results, _ = g.run(simOptions(), one("_Z1aPfi", shape(66, 128)))
	if d := results[0].Decision; d.Recipe != "maxnreg=64" {
		t.Errorf("decided %q; 64 registers are the most with which 1024 threads can be launched",
			d.Recipe)
	}
	bounded := k()
	bounded.MaxThreads = 128
	results, _ = newSim(t, bounded).run(simOptions(), one("_Z1aPfi", shape(66, 128)))
	if d := results[0].Decision; d.Recipe != "maxnreg=255" {
		t.Errorf("with __launch_bounds__(128): decided %q", d.Recipe)
	}
	kept := k()
	kept.NoSpec = "its source is not known"
	kept.Bounds = "-maxrregcount=40"
	g = newSim(t, kept)
	keep := simOptions()
	keep.Keep = true
	results, _ = g.run(keep, one("_Z1aPfi", shape(66, 128)))
	if d := results[0].Decision; d.Recipe != "" {
		t.Errorf("tuned over the user's limit: %q", d.Recipe)
	}
}

// TestSameCode: candidates with the same code are measured once.
func TestSameCode(t *testing.T) {
	k := &simKernel{Kernel: policy.Kernel{Loads: 8}, code: func(r recipe.Recipe) string {
		if v := get(r, "maxnreg"); v != "" {
			return "capped"
		}
		return "default"
	}, regs: func(r recipe.Recipe) int { return 40 },
		speed: func(r recipe.Recipe, s policy.Shape) float64 { return 0.9 }}
	g := newSim(t, k)
	o := simOptions()
	o.Levers = []string{"maxnreg", "hint"}
	results, _ := g.run(o, one("_Z1aPfi", shape(1000, 256)))
	caps := 0
	for r, n := range g.measured {
		if strings.Contains(r, "ld=") && n > 0 {
			t.Errorf("%s, whose code is the default's, was measured", r)
		}
		if strings.HasPrefix(r, "maxnreg") && n > 0 {
			caps++
		}
	}
	if caps != 1 {
		t.Errorf("%d caps of one and the same code were measured", caps)
	}
	if d := results[0].Decision; !strings.HasPrefix(d.Recipe, "maxnreg=") {
		t.Errorf("decided %q", d.Recipe)
	}
}

// TestLoadsByArray: loads from one array stream, those from the others are used again: found though
// there are too many loads to try each, then the second streaming array beside the first.
func TestLoadsByArray(t *testing.T) {
	on := func(r recipe.Recipe, sites ...int) bool {
		for _, i := range sites {
			if v, _ := r.Get("hint", fmt.Sprint("ld", i)); v != "L1::no_allocate" {
				return false
			}
		}
		return true
	}
	k := &simKernel{Kernel: policy.Kernel{Loads: 9, Streams: []int{0, 1, 0, 1, 2, 2, -1, 3, 3}},
		speed: func(r recipe.Recipe, s policy.Shape) float64 {
			time := 1.0
			if on(r, 1, 3) {
				time *= 0.9
			}
			if on(r, 7, 8) {
				time *= 0.95
			}
			if on(r, 0) || on(r, 4) || get(r, "hint@ld") != "" {
				time *= 1.3
			}
			return time
		}}
	g := newSim(t, k)
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	want := "hint@ld1=L1::no_allocate hint@ld3=L1::no_allocate hint@ld7=L1::no_allocate hint@ld8=L1::no_allocate"
	if d := results[0].Decision; d.Recipe != want {
		t.Errorf("decided %q, want %q", d.Recipe, want)
	}
}
