package search

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/profile"
	"gnvcc/rewrite/recipe"
)

// A simCounter is the energy counter of a simulated GPU. It goes on from one look to the next.
type simCounter struct {
	step, look float64             // seconds between steps, and between looks at it
	slow       float64             // times as long as by events a launch takes back to back
	back       float64             // seconds that putting memory back takes
	hidden     float64             // part of it that takes nothing beside a launch
	change     func(n int) float64 // part by which the n-th round's power differs from the usual
	read       func(mj uint64) uint64
	why        string
	fails      string // the recipe, "-" for the default, that crashes

	now, joules float64
	begun       float64
	rounds      int
	asked       []profile.Metered
}

const simIdle, simBack, simBase, simWon = 70., 200., 400., 450. // watts

func (s *simSession) Meter(c profile.Candidate, what profile.Metered, span time.Duration,
	_ profile.Measurement) (profile.Meter, error) {
	k := s.g.counter
	k.asked = append(k.asked, what)
	if k.why != "" {
		return profile.Meter{Why: k.why}, s.dead
	}
	m := profile.Meter{Each: 1}
	if what == profile.Runs && k.fails == cmp.Or(s.arm(c).recipe.String(), "-") {
		s.dead = &profile.Fault{Candidate: c, Code: 700, Text: "an illegal address"}
	}
	power := simIdle
	if what != profile.Nothing {
		k.rounds++
		launch, watts := s.k.time*1e-9*k.slow, simBase
		if a := s.arm(c); !a.recipe.IsDefault() {
			launch, watts = launch*s.k.speed(a.recipe, s.shape, false), simWon
		}
		back, hidden := k.back*float64(what), k.hidden*k.back // beside the launch
		each := launch + back - hidden
		power = (watts*launch + simBack*(back-hidden)) / each
		if k.change != nil {
			power *= 1 + k.change(k.rounds)
		}
		m.Warm = 0.06
		m.Runs = int(span.Seconds() / each)
		m.Took = float64(m.Runs) * each
	}
	begun, seen := k.now, int(k.now/k.step)
	for k.now < begun+m.Warm+span.Seconds() {
		k.now, k.joules = k.now+k.look, k.joules+k.look*power
		if at := int(k.now / k.step); at != seen {
			seen = at
			late := k.now - float64(at)*k.step // what was taken since is not counted yet
			m.Steps = append(m.Steps, profile.Step{Before: k.now - k.look - begun, After: k.now - begun,
				Millijoules: k.read(uint64(1e3 * (k.joules - late*power)))})
		}
	}
	s.g.clock += 1e9 * (k.now - begun)
	return m, s.dead
}

// metering lets a search run with a counter, and gives what it says of the one launch.
func metering(t *testing.T, part float64, change func(*simCounter)) (*cache.Energy, *simCounter) {
	t.Helper()
	g := newSim(t, streaming(part))
	g.spends = true
	g.counter = &simCounter{step: 0.02, look: 0.001, slow: 1, back: 1e-6,
		read: func(mj uint64) uint64 { return mj }}
	change(g.counter)
	o := simOptions()
	o.Energy = true
	results, tuner := g.run(o, app{launches: appLaunch{kernel: "_Z1aPfi", shape: shape(100, 256),
		n: 7}.times(3)})
	took := tuner.Aside()
	if math.Abs(took.Seconds()-g.counter.now+g.counter.begun) > 0.01 || tuner.Aside() != 0 {
		t.Errorf("%v are no budget's, want %g s", took, g.counter.now)
	}
	for _, c := range tuner.order[0].configs {
		if c.used > g.stood-took+time.Second {
			t.Errorf("a search has used %v of %v, %v of them for joules", c.used, g.stood, took)
		}
	}
	d := results[0].Decision
	if part < 1 && d.Recipe != "ld=cs" || len(d.Evidence.Launches) != 1 {
		t.Fatalf("%+v", d)
	}
	return d.Evidence.Launches[0].Energy, g.counter
}

// noisy is what a GPU's power varies by, from round to round: by so much, and by a drift.
func noisy(part float64) func(n int) float64 {
	rnd := rand.New(rand.NewPCG(1, 2))
	return func(n int) float64 { return part*rnd.NormFloat64() + 1e-4*float64(n) }
}

// TestEnergy: a launch's joules, with nvcc's own build and with the recipe's, are those that it
// takes, within what is said; putting memory back is taken off, also where that takes five times as
// long as the launch. They are measured in turns, behind the search, once; the more turns, the less
// the GPU's power is alike.
func TestEnergy(t *testing.T) {
	for _, x := range []struct {
		step, back, noise float64
		least, most       int // turns
	}{{0.02, 1e-6, 0, 6, 6}, {0.05, 10e-6, 0, 6, 6}, {0.1, 100e-6, 0, 6, 6},
		{0.02, 500e-6, 1e-3, 6, 8}, {0.02, 100e-6, 0.012, 7, 16}, {0.1, 500e-6, 6e-3, 7, 16}} {
		e, k := metering(t, 0.8, func(k *simCounter) {
			k.step, k.back, k.change = x.step, x.back, noisy(x.noise)
		})
		if e == nil || e.Why != "" {
			t.Errorf("%+v: %+v", x, e)
			continue
		}
		for _, y := range []struct {
			got  cache.Joules
			want float64
		}{{e.Before, simBase * 100e-6}, {e.After, simWon * 80e-6}} {
			off := math.Abs(y.got.Launch - y.want)
			if off > y.got.Error || y.got.Error > precise*y.want*1.1 {
				t.Errorf("%+v: %+v, want %g", x, y.got, y.want)
			}
		}
		if math.Abs(e.Idle/simIdle-1) > 0.05 || math.Abs(e.Step-x.step) > 0.002 {
			t.Errorf("%+v: %+v", x, e)
		}
		if n := k.rounds / 4; k.rounds%4 != 0 || n < x.least || n > x.most ||
			k.now > 0.6*float64(k.rounds) {
			t.Errorf("%+v: %d rounds in %.2f s", x, k.rounds, k.now)
		}
	}
}

// TestEnergyNotKnown: where a figure would be worth nothing there is none, and the reason.
func TestEnergyNotKnown(t *testing.T) {
	for want, change := range map[string]func(*simCounter){
		"moves every 0.2":           func(k *simCounter) { k.step = 0.2; k.now, k.begun = 0.19, 0.19 },
		"the counter moved 0 times": func(k *simCounter) { k.step = 1e9 },
		"moved 1 times":             func(k *simCounter) { k.step = 0.24 },
		"went backwards":            func(k *simCounter) { k.read = func(mj uint64) uint64 { return 1<<40 - mj } },
		"waits for the host":        func(k *simCounter) { k.slow = 1.5 },
		// another process has the GPU at times, unseen
		"J a launch, give or take": func(k *simCounter) {
			k.change = func(n int) float64 { return 0.4 * float64(n/3%2) }
		},
		// it is too short for the memory that it needs put back
		"not precise enough": func(k *simCounter) { k.back, k.change = 5e-3, noisy(5e-3) },
		// putting back takes less beside a launch, by an eighth of the launch's time
		"give or take 0.005":    func(k *simCounter) { k.back, k.hidden = 50e-6, 0.25 },
		"not measured: so says": func(k *simCounter) { k.why = "so says the test" },
	} {
		e, _ := metering(t, 0.8, change)
		if e == nil || !strings.Contains(e.Why, want) ||
			*e != (cache.Energy{Why: e.Why}) {
			t.Errorf("%s: %+v", want, e)
		}
	}
}

// TestEnergyCrash: a candidate that crashes as late as here is not adopted, and the next best is;
// the default's own crash costs its process, and takes nothing away.
func TestEnergyCrash(t *testing.T) {
	for fails, want := range map[string]string{"": "ld=cs", "-": "ld=cs", "ld=cs": "ld=L2::64B"} {
		k := streaming(0.8)
		best := k.speed
		k.speed = func(r recipe.Recipe, s policy.Shape, plain bool) float64 {
			if get(r, "ld") == "L2::64B" {
				return 0.9
			}
			return best(r, s, plain)
		}
		g := newSim(t, k)
		g.counter = &simCounter{step: 0.02, look: 0.001, slow: 1, back: 1e-6, fails: fails,
			read: func(mj uint64) uint64 { return mj }}
		o := simOptions()
		o.Energy, o.Crashes, o.Levers = true, 50, []string{"ld"}
		tuner := NewTuner(context.Background(), o, g, g, g, nil)
		var p *profile.Launch
		processes := 0
		for dead := true; dead && processes < 60; processes++ {
			var s *simSession
			p, s, _ = g.replays(tuner, 1)
			dead = s.dead != nil
		}
		d := g.finish(tuner, p)
		if e := d.Evidence.Launches[0].Energy; d.Recipe != want || (e != nil) != (fails != "-") ||
			(processes > 1) != (fails != "") {
			t.Errorf("%q crashes: %s after %d processes, joules %+v", fails, d.Recipe, processes, e)
		}
	}
}

// TestEnergyUnasked: nobody looks at the counter who was not asked to, nor where nothing won; and
// an earlier version's notebooks are read as ever.
func TestEnergyUnasked(t *testing.T) {
	if e, k := metering(t, 1, func(k *simCounter) {}); e != nil || len(k.asked) > 0 {
		t.Errorf("nothing won: %+v, %v", e, k.asked)
	}
	g := newSim(t, streaming(0.8))
	g.counter = &simCounter{}
	results, _ := g.run(simOptions(), app{launches: []appLaunch{{kernel: "_Z1aPfi",
		shape: shape(100, 256)}}})
	d := results[0].Decision
	if d.Recipe == "" || d.Evidence.Launches[0].Energy != nil || len(g.counter.asked) > 0 {
		t.Errorf("%+v, %v", d, g.counter.asked)
	}
	text, err := json.Marshal(d)
	if err != nil || strings.Contains(string(text), "Energy") {
		t.Errorf("%s, %v", text, err)
	}
	var old decide.Notebook
	if err := json.Unmarshal([]byte(`{"Trials":[{"Text":"ld=cs","Ratio":0.8}]}`), &old); err != nil ||
		old.Trials[0].Energy != nil {
		t.Errorf("%+v, %v", old.Trials, err)
	}
}
