package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/profile"
	"gnvcc/rewrite"
)

// get is a recipe's value for the whole kernel, "" if none.
func get(r rewrite.Recipe, lever string) string {
	v, _ := r.Get(lever, "")
	return v
}

func one(kernel string, s Shape) app {
	return app{launches: appLaunch{kernel: kernel, shape: s, n: 1024}.times(40)}
}

func TestPicksTheWinner(t *testing.T) {
	// 48 registers are 0.8, streaming loads 0.9, both together 0.72; everything else is slower.
	k := &simKernel{Kernel: Kernel{Loads: 12}, speed: func(r rewrite.Recipe, s Shape, plain bool) float64 {
		f := 1.02
		if get(r, "maxnreg") == "48" {
			f *= 0.8
		} else if get(r, "maxnreg") != "" {
			f *= 1.1
		}
		if get(r, "ld") == "cs" {
			f *= 0.9
		}
		return f
	}}
	g := newSim(t, k)
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	d := results[0].Decision
	if d == nil || d.Recipe != "ld=cs maxnreg=48" {
		t.Fatalf("decided %+v", d)
	}
	if d.Exactness != "construction" || d.Evidence.Chosen.Registers != 48 || d.Evidence.Default.Registers != 40 {
		t.Errorf("decision %+v", d)
	}
	l := d.Evidence.Launches[0]
	if l.Count != 40 || l.Checked < 1 || l.After.Median > 0.76*l.Before.Median || l.Before.Low >= l.Before.High {
		t.Errorf("launch %+v", l)
	}
	if ms := g.clock / 1e6; ms > 400 {
		t.Errorf("%.0f ms of GPU time for one configuration of 100 us", ms)
	} else {
		t.Logf("%.0f ms of GPU time, %d compiles", ms, len(g.compiled))
	}
}

func TestNothingBetter(t *testing.T) {
	k := &simKernel{Kernel: sources(Kernel{Loads: 4, Stores: 2}), speed: func(r rewrite.Recipe, s Shape, plain bool) float64 { return 1 }}
	g := newSim(t, k)
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	if d := results[0].Decision; d == nil || d.Recipe != "" || len(d.Evidence.Tried) < 20 {
		t.Errorf("decided %+v", d)
	}
}

// TestSource: factor and values win together, and the cap is looked for anew on their code.
func TestSource(t *testing.T) {
	k := &simKernel{Kernel: sources(Kernel{Loads: 8})}
	k.regs = func(r rewrite.Recipe) int {
		n := 40
		if hasLever(r, "spec") {
			n = 64
		}
		if v := get(r, "maxnreg"); v != "" {
			var c int
			fmt.Sscan(v, &c)
			n = min(n, c)
		}
		return n
	}
	k.speed = func(r rewrite.Recipe, s Shape, plain bool) float64 {
		f := 1.0
		if get(r, "unroll") == "2" {
			f *= 0.9
		}
		if plain {
			return f * 1.01
		}
		for _, term := range r.Terms {
			if term.Lever == "spec" && strings.Contains(term.Value, "n=1024") {
				f *= 0.7
			}
		}
		switch {
		case hasLever(r, "spec") && get(r, "maxnreg") == "48":
			f *= 0.85
		case get(r, "maxnreg") != "":
			f *= 1.05
		}
		return f
	}
	g := newSim(t, k)
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	d := results[0].Decision
	if d.Recipe != "maxnreg=48 spec{n=1024} unroll=2" {
		t.Errorf("decided %q", d.Recipe)
		for _, tr := range d.Evidence.Tried {
			t.Logf("%-50s %.3f %s", tr.Recipe, tr.Ratio, tr.Refused)
		}
	}
	if d.Exactness != "checked" || d.Evidence.Launches[0].Checked < 4 {
		t.Errorf("%s, checked on %d launches; want 4 later ones too", d.Exactness, d.Evidence.Launches[0].Checked)
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
		if r, _ := rewrite.ParseRecipe(tr.Recipe); r.Exactness() != rewrite.ByConstruction {
			t.Errorf("tried %q although only exactness by construction is allowed", tr.Recipe)
		}
	}
}

func TestSlowPlainCopy(t *testing.T) {
	speed := func(r rewrite.Recipe, s Shape, plain bool) float64 {
		switch {
		case plain:
			return 1.05
		case specialised(r):
			return 0.6
		case get(r, "ld") == "cs":
			return 0.9
		}
		return 1
	}
	if levers["guard"] == nil {
		t.Skip("SKIPPED: rewrite has no lever guard")
	}
	for _, bet := range []bool{false, true} {
		k := sources(Kernel{Loads: 4})
		k.NoSecond = "device code is linked"
		g := newSim(t, &simKernel{Kernel: k, speed: speed})
		o := simOptions()
		o.Bet = bet
		results, _ := g.run(o, one("_Z1aPfi", shape(1000, 256)))
		d := results[0].Decision
		r, _ := rewrite.ParseRecipe(d.Recipe)
		if specialised(r) != bet {
			t.Errorf("bet %v: decided %q", bet, d.Recipe)
		}
		if !bet && !hasLever(r, "ld") {
			t.Errorf("with the specialised ones refused, ld=cs is the best; decided %q", d.Recipe)
		}
	}
}

func TestOtherBits(t *testing.T) {
	k := &simKernel{Kernel: sources(Kernel{}), speed: func(r rewrite.Recipe, s Shape, plain bool) float64 {
		if get(r, "unroll") == "4" {
			return 0.5
		}
		if get(r, "unroll") == "2" {
			return 0.8
		}
		return 1
	}, trouble: func(r rewrite.Recipe, launch int) string {
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
			found = strings.Contains(tr.Refused, "other bits") && strings.Contains(tr.Refused, "allocation 1") && tr.Ratio == 0
		}
	}
	if !found {
		t.Errorf("no refusal for other bits in %+v", d.Evidence.Tried)
	}
	if g.measured["unroll=4"] != 0 {
		t.Errorf("a candidate with other bits was measured")
	}
}

// TestOtherBitsLater: bits that differ at a later launch only.
func TestOtherBitsLater(t *testing.T) {
	k := &simKernel{Kernel: sources(Kernel{}), speed: func(r rewrite.Recipe, s Shape, plain bool) float64 {
		switch get(r, "unroll") {
		case "4":
			return 0.5
		case "2":
			return 0.8
		}
		return 1
	}, trouble: func(r rewrite.Recipe, launch int) string {
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
		bad := &simKernel{Kernel: Kernel{Loads: 4}, speed: func(r rewrite.Recipe, s Shape, plain bool) float64 {
			if get(r, "ld") == "cs" {
				return 0.8
			}
			return 1
		}, trouble: func(r rewrite.Recipe, launch int) string {
			if get(r, "ld") == "L2::128B" {
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
		if d := results[0].Decision; d == nil || d.Recipe != "ld=cs" {
			t.Fatalf("%s: the second run decides %+v, lost %q", trouble, d, results[0].Lost)
		}
		if g.faults > 1 {
			t.Errorf("%s: the faulting candidate was run %d times", trouble, g.faults)
		}
	}
}

func TestLeftAlone(t *testing.T) {
	usual := func(r rewrite.Recipe, s Shape, plain bool) float64 { return 0.5 }
	random := &simKernel{speed: usual, random: true}
	short := &simKernel{speed: usual, time: 1e3}
	foreign := &simKernel{speed: usual}
	graph := &simKernel{speed: usual}
	warps := &simKernel{Kernel: Kernel{Alone: "it uses setmaxnreg"}, speed: usual}
	broken := &simKernel{speed: usual, trouble: func(r rewrite.Recipe, launch int) string {
		if r.IsDefault() {
			return "compile"
		}
		return ""
	}}
	g := newSim(t, random, short, foreign, graph, warps, broken)
	results, tuner := g.run(simOptions(), app{launches: []appLaunch{
		{kernel: "_Z1aPfi", shape: shape(10, 64)}, {kernel: "_Z1bPfi", shape: shape(10, 64)},
		{kernel: "_Z1cPfi", shape: shape(10, 64), module: "foreign"}, {kernel: "_Z1dPfi", shape: shape(10, 64), alone: "captured into a graph"},
		{kernel: "_Z1ePfi", shape: shape(10, 64)}, {kernel: "_Z1fPfi", shape: shape(10, 64)},
	}})
	want := []string{"nondeterministic", "too short: 1 us", "not built by gnvcc", "captured into a graph", "setmaxnreg", "can't be made again: ptxas fatal: simulated"}
	for i, w := range want {
		if len(results[i].Alone) != 1 || !strings.Contains(results[i].Alone[0].Reason, w) || results[i].Alone[0].Count != 1 {
			t.Errorf("%s: left alone: %+v; want %q", results[i].Kernel.Name, results[i].Alone, w)
		}
		if d := results[i].Decision; d != nil && (d.Recipe != "" || !strings.Contains(d.Evidence.Note, w)) {
			t.Errorf("%s: decision %+v", results[i].Kernel.Name, d)
		}
	}
	_ = tuner
	if n := g.measured["ld=cs"]; n != 0 {
		t.Error("something that is left alone was tuned")
	}
	// A tolerance lets the nondeterministic one be tuned.
	o := simOptions()
	o.Tolerance = 1e-5
	results, _ = g.run(o, one("_Z1aPfi", shape(10, 64)))
	if d := results[0].Decision; d == nil || d.Recipe == "" || !strings.Contains(d.Evidence.Note, "1e-05") || d.Exactness != "approximate" {
		t.Errorf("with a tolerance: %+v", d)
	}
}

// TestCapturedLater: a configuration that is first seen in a capture is tuned at an ordinary launch.
func TestCapturedLater(t *testing.T) {
	g := newSim(t, &simKernel{Kernel: Kernel{Loads: 4}, speed: func(r rewrite.Recipe, s Shape, plain bool) float64 { return 0.8 }})
	a := app{launches: append([]appLaunch{{kernel: "_Z1aPfi", shape: shape(100, 256), alone: "captured into a graph"}}, one("_Z1aPfi", shape(100, 256)).launches...)}
	results, _ := g.run(simOptions(), a)
	if d := results[0].Decision; d == nil || d.Recipe == "" || len(results[0].Alone) != 0 {
		t.Errorf("%+v", results[0])
	}
}

// TestLargestBlock: a count with which blocks of 1024 threads can't be launched is never adopted, unless the user bets.
func TestLargestBlock(t *testing.T) {
	k := func() *simKernel {
		return &simKernel{regs: func(r rewrite.Recipe) int {
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
		}, speed: func(r rewrite.Recipe, s Shape, plain bool) float64 {
			var n int
			fmt.Sscan(get(r, "maxnreg"), &n)
			return 1 - float64(n)/400 // the more the better
		}}
	}
	// In a second entry for blocks of 128 threads only, any count may be had.
	g := newSim(t, k())
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(66, 128)))
	if d := results[0].Decision; d.Recipe != "maxnreg=255 spec{blockDim.x=128,blockDim.y=1,blockDim.z=1}" {
		t.Errorf("with a second entry: %q", d.Recipe)
	}
	single := k()
	single.NoSpec = "its source is not known"
	g = newSim(t, single)
	results, _ = g.run(simOptions(), one("_Z1aPfi", shape(66, 128)))
	if d := results[0].Decision; d.Recipe != "maxnreg=64" {
		t.Errorf("decided %q; 64 registers are the most with which 1024 threads can be launched", d.Recipe)
	}
	o := simOptions()
	o.Bet = true
	results, _ = newSim(t, k()).run(o, one("_Z1aPfi", shape(66, 128)))
	if d := results[0].Decision; d.Recipe != "maxnreg=255" {
		t.Errorf("with a bet: decided %q", d.Recipe)
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
	results, _ = g.run(simOptions(), one("_Z1aPfi", shape(66, 128)))
	if d := results[0].Decision; d.Recipe != "" {
		t.Errorf("tuned over the user's limit: %q", d.Recipe)
	}
}

// TestSameCode: candidates with the same code are measured once.
func TestSameCode(t *testing.T) {
	k := &simKernel{Kernel: Kernel{Loads: 8}, code: func(r rewrite.Recipe) string {
		if v := get(r, "maxnreg"); v != "" {
			return "capped"
		}
		if get(r, "ptxas") != "" {
			return ""
		}
		return "default"
	}, regs: func(r rewrite.Recipe) int { return 40 },
		speed: func(r rewrite.Recipe, s Shape, plain bool) float64 { return 0.9 }}
	g := newSim(t, k)
	o := simOptions()
	o.Levers = []string{"maxnreg", "ld"}
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

// TestConfigurations: one recipe for all shapes: what is faster on one and slower on another is not adopted.
func TestConfigurations(t *testing.T) {
	k := &simKernel{Kernel: Kernel{Loads: 8}, speed: func(r rewrite.Recipe, s Shape, plain bool) float64 {
		large := s.Grid[0] > 100
		switch get(r, "ld") {
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
	o.Levers = []string{"ld"}
	a := app{}
	for i := 0; i < 20; i++ {
		a.launches = append(a.launches, appLaunch{kernel: "_Z1aPfi", shape: shape(1000, 256)}, appLaunch{kernel: "_Z1aPfi", shape: shape(50, 256)})
	}
	results, _ := g.run(o, a)
	d := results[0].Decision
	if d.Recipe != "ld=L2::256B" || len(d.Evidence.Launches) != 2 {
		t.Errorf("decided %q on %d configurations", d.Recipe, len(d.Evidence.Launches))
	}
	for _, tr := range d.Evidence.Tried {
		if tr.Recipe == "ld=cs" && !strings.Contains(tr.Refused, "slower on 50 x 256") {
			t.Errorf("ld=cs refused: %q", tr.Refused)
		}
	}
}

// TestTwoShapes: two sets of values, each with its own second entry, in one recipe.
func TestTwoShapes(t *testing.T) {
	k := &simKernel{Kernel: sources(Kernel{}), speed: func(r rewrite.Recipe, s Shape, plain bool) float64 {
		if strings.Contains(r.String(), "n=") {
			return 0.7
		}
		return 1
	}}
	g := newSim(t, k)
	a := app{}
	for i := 0; i < 30; i++ {
		a.launches = append(a.launches, appLaunch{kernel: "_Z1aPfi", shape: shape(1000, 256), n: 1000}, appLaunch{kernel: "_Z1aPfi", shape: shape(500, 256), n: 500})
	}
	results, _ := g.run(simOptions(), a)
	d := results[0].Decision
	if d.Recipe != "spec{n=1000} spec{n=500}" && d.Recipe != "spec{n=500} spec{n=1000}" {
		t.Fatalf("decided %q", d.Recipe)
	}
	for _, l := range d.Evidence.Launches {
		if l.After.Median > 0.75*l.Before.Median || l.Checked < 3 {
			t.Errorf("%+v", l)
		}
	}
}

// TestOtherValues: a launch with other values never runs a second entry that was not made for it.
func TestOtherValues(t *testing.T) {
	k := &simKernel{Kernel: sources(Kernel{}), speed: func(r rewrite.Recipe, s Shape, plain bool) float64 {
		if strings.Contains(r.String(), "n=1000") {
			return 0.7
		}
		return 1
	}}
	wrong := ""
	k.trouble = func(r rewrite.Recipe, launch int) string {
		if strings.Contains(r.String(), "n=1000") && launch >= 30 { // n is 7 there
			wrong = r.String()
			return "fault"
		}
		return ""
	}
	g := newSim(t, k)
	a := app{launches: append(appLaunch{kernel: "_Z1aPfi", shape: shape(1000, 256), n: 1000}.times(30), appLaunch{kernel: "_Z1aPfi", shape: shape(500, 256), n: 7}.times(30)...)}
	a.launches = append(a.launches, appLaunch{kernel: "_Z1aPfi", shape: shape(1000, 256), n: 7}.times(40)...)
	results, _ := g.run(simOptions(), a)
	if wrong != "" {
		t.Fatalf("%s was launched with n = 7", wrong)
	}
	if d := results[0].Decision; d.Recipe != "spec{n=1000}" || len(d.Evidence.Launches) != 2 {
		t.Errorf("decided %q, %d configurations", d.Recipe, len(d.Evidence.Launches))
	}
}

// TestManyConfigurations: beyond the limits configurations are only verified, then left alone, and the run goes on.
func TestManyConfigurations(t *testing.T) {
	k := &simKernel{Kernel: Kernel{Loads: 8}, speed: func(r rewrite.Recipe, s Shape, plain bool) float64 {
		if get(r, "ld") == "cs" {
			return 0.8
		}
		return 1
	}}
	g := newSim(t, k)
	o := simOptions()
	o.Full, o.Verify = 2, 3
	a := app{}
	for i := 1; i <= 10; i++ {
		a.launches = append(a.launches, appLaunch{kernel: "_Z1aPfi", shape: shape(100*i, 256)}.times(3)...)
	}
	results, _ := g.run(o, a)
	d := results[0].Decision
	if d.Recipe != "ld=cs" || len(d.Evidence.Launches) != 5 || len(results[0].Alone) != 5 {
		t.Errorf("decided %q on %d configurations, %d left alone", d.Recipe, len(d.Evidence.Launches), len(results[0].Alone))
	}
	if n := g.measured["ld=L2::128B"]; n > 200 {
		t.Errorf("a loser was measured %d times: beyond the limit only winners should be", n)
	}
}

// TestValuesVary: the scalar was the same at first, and then it was not.
func TestValuesVary(t *testing.T) {
	k := &simKernel{Kernel: sources(Kernel{}), speed: func(r rewrite.Recipe, s Shape, plain bool) float64 {
		f := 1.0
		if plain {
			return f
		}
		for _, term := range r.Terms {
			if term.Lever == "spec" && strings.Contains(term.Value, "n=") {
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
		a.launches = append(a.launches, appLaunch{kernel: "_Z1aPfi", shape: shape(1000, 256), n: int32(1024 + i)})
	}
	results, _ := g.run(simOptions(), a)
	if d := results[0].Decision; d.Recipe != "spec{blockDim.x=256,blockDim.y=1,blockDim.z=1}" {
		t.Errorf("decided %q", d.Recipe)
	}
}

// TestBudget: a search ends with its budget, and the next run goes on where it ended.
func TestBudget(t *testing.T) {
	k := &simKernel{Kernel: sources(Kernel{Loads: 8}), compile: 80 * time.Millisecond, speed: func(r rewrite.Recipe, s Shape, plain bool) float64 {
		f := 1.0
		if get(r, "unroll") == "8" {
			f = 0.7
		}
		if get(r, "ld") == "cs" {
			f *= 0.9
		}
		return f
	}}
	g := newSim(t, k)
	o := simOptions()
	o.Jobs = 2
	o.Budget = 250 * time.Millisecond
	begin := time.Now()
	results, _ := g.run(o, app{launches: one("_Z1aPfi", shape(1000, 256)).launches[:1]})
	if d := time.Since(begin); d > 2*o.Budget+time.Second {
		t.Errorf("a budget of %v took %v", o.Budget, d)
	}
	firstRun := len(g.compiled)
	n := len(results[0].Decision.Evidence.Tried)
	for run := 0; run < 60 && results[0].Decision.Recipe != "ld=cs unroll=8"; run++ {
		results, _ = g.run(o, app{launches: one("_Z1aPfi", shape(1000, 256)).launches[:1]})
		more := len(results[0].Decision.Evidence.Tried)
		if more < n {
			t.Errorf("run %d knows %d candidates, the one before %d", run, more, n)
		}
		n = more
	}
	if d := results[0].Decision; d.Recipe != "ld=cs unroll=8" {
		t.Errorf("after many runs: %q", d.Recipe)
	}
	t.Logf("%d compiles in the first run, %d in all", firstRun, len(g.compiled))
}

// TestSecondRun: what is measured is not measured again, only the winner is compared anew.
func TestSecondRun(t *testing.T) {
	k := &simKernel{Kernel: Kernel{Loads: 8}, speed: func(r rewrite.Recipe, s Shape, plain bool) float64 {
		if get(r, "ld") == "cs" {
			return 0.8
		}
		return 1
	}}
	g := newSim(t, k)
	g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	g.measured, g.compiled = map[string]int{}, map[string]int{}
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	if d := results[0].Decision; d.Recipe != "ld=cs" {
		t.Errorf("decided %q", d.Recipe)
	}
	if len(g.measured) != 2 || len(g.compiled) != 2 {
		t.Errorf("measured again: %v; compiled again: %v", g.measured, g.compiled)
	}
}

// TestEarlierConfigurations: a decision for one input is not overturned by a run with another on which it was not measured.
func TestEarlierConfigurations(t *testing.T) {
	k := &simKernel{Kernel: Kernel{Loads: 8}, speed: func(r rewrite.Recipe, s Shape, plain bool) float64 {
		switch get(r, "ld") {
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
	o.Levers = []string{"ld"}
	g.run(o, one("_Z1aPfi", shape(1000, 256)))
	results, _ := g.run(o, one("_Z1aPfi", shape(77, 256)))
	if d := results[0].Decision; d.Recipe != "ld=cs" || len(d.Evidence.Launches) != 2 {
		t.Errorf("decided %q on %d configurations", d.Recipe, len(d.Evidence.Launches))
	}
}

// TestApplied: a build that has a recipe already is compared with nvcc's own, not with itself.
func TestApplied(t *testing.T) {
	k := &simKernel{Kernel: Kernel{Loads: 8}, speed: func(r rewrite.Recipe, s Shape, plain bool) float64 {
		if get(r, "ld") == "cs" {
			return 0.8
		}
		return 1
	}}
	g := newSim(t, k)
	g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	k.Applied = "ld=cs"
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	d := results[0].Decision
	if d.Recipe != "ld=cs" || d.Evidence.Launches[0].After.Median > 0.83*d.Evidence.Launches[0].Before.Median {
		t.Errorf("decided %q, %+v", d.Recipe, d.Evidence.Launches)
	}
}

// TestFileFlags: flags of ptxas are adopted only if all kernels of the file are for them.
func TestFileFlags(t *testing.T) {
	o1 := func(f float64) func(r rewrite.Recipe, s Shape, plain bool) float64 {
		return func(r rewrite.Recipe, s Shape, plain bool) float64 {
			x := 1.0
			if get(r, "ptxas") == "-O1" {
				x = f
			}
			if get(r, "maxnreg") == "48" {
				x *= 0.95
			}
			return x
		}
	}
	for _, test := range []struct {
		second float64
		want   [2]string
	}{
		{0.8, [2]string{"maxnreg=48 ptxas=-O1", "maxnreg=48 ptxas=-O1"}},
		{1.2, [2]string{"maxnreg=48", "maxnreg=48"}},
	} {
		a := &simKernel{Kernel: Kernel{Name: "_Z1aPfi", File: "f", Siblings: []string{"id-_Z1bPfi"}}, speed: o1(0.7)}
		b := &simKernel{Kernel: Kernel{Name: "_Z1bPfi", File: "f", Siblings: []string{"id-_Z1aPfi"}}, speed: o1(test.second)}
		g := newSim(t, a, b)
		both := app{launches: append(one("_Z1aPfi", shape(1000, 256)).launches, one("_Z1bPfi", shape(1000, 256)).launches...)}
		results, _ := g.run(simOptions(), both)
		for i, r := range results {
			if r.Decision.Recipe != test.want[i] {
				t.Errorf("second kernel at %.1f: %s gets %q, want %q (%s)", test.second, r.Kernel.Name, r.Decision.Recipe, test.want[i], r.Decision.Evidence.Note)
			}
		}
		// The first alone: its sibling was never launched, so nothing is known of it.
		g = newSim(t, a, b)
		results, _ = g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
		if d := results[0].Decision; strings.Contains(d.Recipe, "ptxas") || !strings.Contains(d.Recipe, "maxnreg=48") {
			t.Errorf("with a sibling not launched: %q", d.Recipe)
		}
	}
}

// TestNoise: equal candidates and a noisy clock: adoption is rare. (policy/stats has the figures; this is the whole way.)
func TestNoise(t *testing.T) {
	adopted := 0
	for seed := int64(0); seed < 40; seed++ {
		k := &simKernel{Kernel: sources(Kernel{Loads: 8, Stores: 2}), noise: 0.15, time: 20e3, speed: func(r rewrite.Recipe, s Shape, plain bool) float64 { return 1 }}
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

func TestOnly(t *testing.T) {
	g := newSim(t, &simKernel{speed: func(r rewrite.Recipe, s Shape, plain bool) float64 { return 0.5 }})
	o := simOptions()
	o.Levers = []string{"nosuch"}
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), "maxnreg") {
		t.Errorf("unknown lever: %v", err)
	}
	_ = g
	var _ profile.Host = (*Tuner)(nil)
	var _ cache.Decision
}

// TestExhaustive: the benchmark mode finds a pair that the greedy search can't see, and says so.
func TestExhaustive(t *testing.T) {
	k := &simKernel{Kernel: Kernel{Loads: 8, Stores: 2}, speed: func(r rewrite.Recipe, s Shape, plain bool) float64 {
		switch {
		case get(r, "ld") == "cs" && get(r, "st") == "cs":
			return 0.5
		case get(r, "ld") == "cs" || get(r, "st") == "cs":
			return 1.05 // neither alone
		}
		return 1
	}}
	g := newSim(t, k)
	o := simOptions()
	results, _ := g.run(o, one("_Z1aPfi", shape(1000, 256)))
	if d := results[0].Decision; d.Recipe != "" {
		t.Errorf("the search found %q", d.Recipe)
	}
	g = newSim(t, k)
	o.Exhaustive = true
	results, _ = g.run(o, one("_Z1aPfi", shape(1000, 256)))
	if d := results[0].Decision; d.Recipe != "ld=cs st=cs" || !strings.Contains(d.Evidence.Note, "have 0.5") {
		t.Errorf("decided %q: %s", d.Recipe, d.Evidence.Note)
	}
}
