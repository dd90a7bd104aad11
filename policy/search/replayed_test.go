package search

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/profile"
	"gnvcc/rewrite/recipe"
)

// replays plays a launch of a capture for a tuner; trouble of the nth launch is that of a
// simKernel.
func (g *simGPU) replays(tuner *Run, nth int) (p *profile.Launch, s *simSession, tuned bool) {
	return g.replaysGrid(tuner, nth, 1000)
}

// decision replays one launch of a program, under a budget if it is not 0, and gives what is
// decided of its kernel.
func (g *simGPU) decision(o policy.Options, budget time.Duration) (d *cache.Decision) {
	g.t.Helper()
	g.bubble(func(*testing.T) {
		tuner := NewRun(context.Background(), o, g, g, g, nil)
		g.plan = &Plan{Budget: budget}
		p, _, _ := g.replays(tuner, 1)
		d = g.finish(tuner, p)
	})
	return d
}

// finish ends a tuning of launches like one, and gives what is decided of its kernel.
func (g *simGPU) finish(tuner *Run, p *profile.Launch) *cache.Decision {
	g.t.Helper()
	tuner.Saw([]profile.Seen{{Launch: p}})
	results, err := tuner.Finish()
	if err != nil || len(results) != 1 || results[0].Decision == nil {
		g.t.Fatalf("%+v, %v", results, err)
	}
	return results[0].Decision
}

func (g *simGPU) replaysGrid(tuner *Run, nth, grid int) (p *profile.Launch, s *simSession,
	tuned bool) {
	k := g.kernels["_Z1aPfi"]
	p = g.launched(&profile.Process{}, k.Name, "module", shape(grid, 256), []byte{5, 0, 0, 0})
	p.Count = 50
	p.Unlike, p.Either, p.Repeats = g.unlike, g.either, g.repeats
	p.Part, p.Capture, p.Unsteady = g.part, g.capture, g.unsteady
	s = g.session(k, shape(grid, 256), nth)
	plan := g.plan
	if plan == nil {
		plan = &Plan{}
	}
	before := plan.used
	_ = tuner.Search(context.Background(), p, s, plan) // a lost process stands in the session
	return p, s, plan.used > before
}

func captured() Captured {
	return Captured{Cubin: "module", Kernel: "_Z1aPfi", Shape: shape(1000, 256), Device: simDevice.Name}
}

// A kernel that register caps make faster, 48 most; what is wrong with 48 is said by trouble.
func capped(trouble func(r recipe.Recipe, launch int) string) *simKernel {
	return &simKernel{trouble: trouble, speed: takes(map[string]float64{"maxnreg=": 0.85, "maxnreg=48": 0.7 / 0.85})}
}

func is48(r recipe.Recipe) bool { return has(r, "maxnreg=48") }

// caps are the usual options, with register caps alone.
func caps() policy.Options {
	o := simOptions()
	o.Levers = []string{"maxnreg"}
	return o
}

// A candidate that crashes costs a process; the next one goes on, does not try it again, and finds
// what else there is.
func TestCrashesWhereReplayed(t *testing.T) {
	for _, trouble := range []string{"fault", "hang"} {
		g := newSim(t, capped(fails("maxnreg=48", trouble, 0)))
		o := caps()
		o.Crashes = 50
		tuner := NewRun(context.Background(), o, g, g, g, nil)
		var p *profile.Launch
		processes := 0
		for dead := true; dead && processes < 60; processes++ {
			var s *simSession
			p, s, _ = g.replays(tuner, 1)
			dead = s.Lost != nil
		}
		tuner.Saw([]profile.Seen{{Launch: p}})
		results, err := tuner.Finish()
		if err != nil || len(results) != 1 || results[0].Lost != "" || results[0].Decision == nil ||
			results[0].Decision.Recipe == "" {
			t.Fatalf("%s: %+v, %v", trouble, results, err)
		}
		if processes < 2 || strings.Contains(results[0].Decision.Recipe, "=48") {
			t.Errorf("%s: %s after %d processes", trouble, results[0].Decision.Recipe, processes)
		}
	}
}

// A winner that leaves other bits on varied data only is refused, and the next best is chosen; what
// stands is counted.
func TestVaried(t *testing.T) {
	const varied = 100 // launches from here on have data of ours
	g := newSim(t, capped(fails("maxnreg=48", "bits", varied)))
	o := caps()
	o.Crashes = 5
	tuner := NewRun(context.Background(), o, g, g, g, nil)
	g.plan = &Plan{Budget: 10 * time.Second}
	var p *profile.Launch
	rounds := 0
	for {
		var s *simSession
		p, s, _ = g.replays(tuner, 1)
		rounds++
		if !tuner.Config(captured()).Decided() {
			t.Fatalf("nothing won in round %d", rounds)
		}
		for v := 1; v <= 3; v++ {
			s = g.session(s.k, s.shape, varied+v)
			tuner.Vary(context.Background(), v, p, s, g.plan)
		}
		if !tuner.Config(captured()).Anew() || rounds > 3 {
			break
		}
	}
	tuner.Saw([]profile.Seen{{Launch: p}})
	results, err := tuner.Finish()
	if err != nil || len(results) != 1 || results[0].Decision == nil {
		t.Fatalf("%+v, %v", results, err)
	}
	d := results[0].Decision
	if rounds != 2 || d.Recipe == "" || strings.Contains(d.Recipe, "=48") {
		t.Errorf("%s after %d rounds", d.Recipe, rounds)
	}
	refused := false
	for _, tr := range d.Evidence.Tried {
		refused = refused || strings.Contains(tr.Recipe, "maxnreg=48") && strings.Contains(tr.Refused,
			"varied data 1")
	}
	if n := d.Evidence.Launches[0].Varied; n != 3 {
		t.Errorf("checked on %d variations, want 3", n)
	}
	if !refused {
		t.Errorf("no word of varied data in %+v", d.Evidence.Tried)
	}
}

// Where the replay's time is not the program's, a gain must be larger to be believed.
func TestUnlike(t *testing.T) {
	for _, c := range []struct {
		unlike, speed float64
		adopted       bool
	}{{0, 0.955, true}, {0.3, 0.955, false}, {0.3, 0.9, true}} {
		g := newSim(t, streaming(c.speed))
		g.unlike = c.unlike
		if got := g.decision(hinted(), 0).Recipe; (got != "") != c.adopted {
			t.Errorf("%+v: decided %q", c, got)
		}
	}
}

// TestFirst: what stood for a kernel before it was edited is a candidate, also where no lever would
// have tried it; it is adopted by the rule or not at all, and what the user's options don't allow
// is not tried.
func TestFirst(t *testing.T) {
	for _, faster := range []bool{true, false} {
		k := &simKernel{speed: takes(map[string]float64{"": 1.05})}
		if faster {
			k.speed = takes(map[string]float64{"": 1.05, "maxnreg=43": 0.7 / 1.05})
		}
		k.First = []recipe.Recipe{mustParse(t, "maxnreg=43"), mustParse(t, "hint@ld=L2::256B")}
		g := newSim(t, k)
		if got := g.decision(caps(), 0).Recipe; (got == "maxnreg=43") != faster || !faster && got != "" {
			t.Errorf("faster: %v; decided: %q", faster, got)
		}
		if g.measured["maxnreg=43"] == 0 || g.measured["hint@ld=L2::256B"] != 0 {
			t.Errorf("measured: %v", g.measured)
		}
	}
}

// TestCheckOnly: on a grid that is to be checked alone what won on another one is compared, and
// nothing else is measured; its figures count in the decision.
func TestCheckOnly(t *testing.T) {
	g := newSim(t, capped(nil))
	tuner := NewRun(context.Background(), caps(), g, g, g, nil)
	first, _, _ := g.replays(tuner, 1)
	g.plan = &Plan{Check: true}
	second, _, tuned := g.replaysGrid(tuner, 1, 500)
	if !tuned {
		t.Fatal("it was not looked at")
	}
	k := tuner.byName["module _Z1aPfi "+simDevice.Name]
	tried := k.configs[shape(500, 256)].Notebook.Trials
	if len(tried) != len(k.Winners()) || len(tried) == 0 {
		t.Errorf("%d trials of %d winners", len(tried), len(k.Winners()))
	}
	tuner.Saw([]profile.Seen{{Launch: first},
		{Launch: second}})
	results, err := tuner.Finish()
	if err != nil || len(results) != 1 || !is48(mustParse(t, results[0].Decision.Recipe)) ||
		len(results[0].Decision.Evidence.Launches) != 2 {
		t.Fatalf("%+v, %v", results, err)
	}
}

// TestWarmUp: a GPU that has been idle has low clocks at first. What nvcc's own build takes is what
// it takes after that, also where few launches are looked at.
func TestWarmUp(t *testing.T) {
	for _, ms := range []float64{0.1, 17, 40} {
		k := streaming(1)
		k.time, k.noise = ms*1e6, 0.001
		g := newSim(t, k)
		g.rises = 55e6
		l := g.decision(hinted(), 10*time.Second).Evidence.Launches[0]
		if math.Abs(l.Before.Median/k.time-1) > 0.01 {
			t.Errorf("a kernel of %g ms takes %g ms", ms, l.Before.Median/1e6)
		}
	}
}

// TestUnsearched: of a launch on which a search has nothing to begin with it is said why; that one
// is too short is known of it.
func TestUnsearched(t *testing.T) {
	refused := func(recipe.Recipe, int) string { return "compile" }
	for _, c := range []struct {
		want string
		k    simKernel
	}{
		{"", simKernel{}}, {"", simKernel{time: 500}}, {"is too short (--budget)", simKernel{time: 3e9}},
		{"nondeterministic", simKernel{random: true}},
		{"it allocates", simKernel{Kernel: policy.Kernel{Alone: "it allocates"}}},
		{"can't be reproduced", simKernel{trouble: refused}},
	} {
		c.k.speed = func(recipe.Recipe, policy.Shape) float64 { return 0.5 }
		g := newSim(t, &c.k)
		g.bubble(func(*testing.T) {
			o := simOptions()
			o.Budget = 10 * time.Second
			tuner := NewRun(context.Background(), o, g, g, g, nil)
			before := tuner.Config(captured()).Unsearched()
			g.replays(tuner, 1)
			got := tuner.Config(captured()).Unsearched()
			if before != "" || (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("want %q; %q, and %q before its replay", c.want, got, before)
			}
			tuner.Finish()
		})
	}
}
