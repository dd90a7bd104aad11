package xmodel

import (
	"math"
	"testing"
)

func plain(n, z, e float64) Model {
	return Model{Latency: 600, Rate: 0.1, Issue: 4, Warps: n, Intensity: z, Pace: e}
}

// Without a cache everything is straight lines, so that equilibria have closed forms.
func TestClosedForms(t *testing.T) {
	for _, c := range []struct {
		m     Model
		k     float64 // waiting
		rate  float64 // instructions per cycle
		bound string
	}{
		// k/L = E(n-k)/Z: k = nEL/(Z+EL)
		{plain(16, 100, 0.25), 16 * 0.25 * 600 / (100 + 0.25*600), 100 * (16 * 0.25 / (100 + 0.25*600)), "the number of warps"},
		{plain(64, 1000, 0.25), 600 * 4.0 / 1000, 4, "computing"}, // k = LM/Z
		{plain(256, 10, 0.25), 256 - 0.1*10/0.25, 1, "memory"},    // x = RZ/E
	} {
		all := c.m.Equilibria()
		if !c.m.Valid() || len(all) != 1 {
			t.Errorf("%+v: %+v", c.m, all)
			continue
		}
		p := all[0]
		if math.Abs(p.Waiting-c.k) > 1e-6*c.k || math.Abs(p.Rate-c.rate) > 1e-6 || p.Bound != c.bound || !p.Stable {
			t.Errorf("%+v: %+v, want k = %g, rate %g, bound by %s", c.m, p, c.k, c.rate, c.bound)
		}
	}
}

// A kernel that uses the cache much has three equilibria, the middle one unstable.
func TestThreeEquilibria(t *testing.T) {
	m := Model{Latency: 600, Rate: 0.05, Cache: 32 << 10, CacheLatency: 30, Issue: 0.5, Warps: 64, Intensity: 2,
		Pace: 0.1, Alpha: 4, Beta: 1000}
	all := m.Equilibria()
	if len(all) != 3 || !all[0].Stable || all[1].Stable || !all[2].Stable {
		t.Fatalf("%+v", all)
	}
	for _, p := range all {
		h := 1e-5 // the criterion by derivatives, taken apart
		df := (m.Supply(p.Waiting+h) - m.Supply(p.Waiting-h)) / (2 * h)
		dg := (m.Demand(p.Computing+h) - m.Demand(p.Computing-h)) / (2 * h)
		if p.Stable != (df+dg > 0) || math.Abs(m.Supply(p.Waiting)-m.Demand(p.Computing)) > 1e-9 {
			t.Errorf("%+v: f' = %g, g' = %g", p, df, dg)
		}
	}
	if p, ok := m.Settled(); !ok || p != all[0] {
		t.Errorf("settles at %+v", p)
	}
	// A push from the unstable point leads to one of its neighbours: dk/dt = g - f.
	for push, want := range map[float64]Point{0.1: all[2], -0.1: all[0]} {
		k := all[1].Waiting + push
		for range 200_000 {
			k += 5 * (m.Demand(m.Warps-k) - m.Supply(k))
		}
		if math.Abs(k-want.Waiting) > 0.01 {
			t.Errorf("a push of %g leads to k = %g, want %g", push, k, want.Waiting)
		}
	}
}

// Each question has the answer that follows from what binds.
func TestWhat(t *testing.T) {
	// gesummv on Fermi as the thesis draws it: the cache is thrashed
	thrash := Model{Latency: 600, Rate: 0.02, Cache: 32 << 10, CacheLatency: 30, Issue: 4, Warps: 64, Intensity: 4,
		Pace: 0.5, Alpha: 6, Beta: 2500}
	for _, c := range []struct {
		what   string
		m      Model
		faster map[string]bool // others take as long, or longer
	}{
		{"too few warps", plain(16, 100, 0.25), map[string]bool{"half the computing": true, "half the accesses": true}},
		{"computing", plain(64, 1000, 0.25), map[string]bool{"half the computing": true}},
		{"memory", plain(256, 10, 0.25), map[string]bool{"twice the memory's rate": true, "half the accesses": true}},
		{"thrashing", thrash, map[string]bool{"half the warps": true, "twice the L1": true, "half the warps past L1": true,
			"half the accesses": true, "twice the memory's rate": true}},
	} {
		all := c.m.What()
		if len(all) != len(Changes) {
			t.Errorf("%s: %d answers", c.what, len(all))
		}
		for _, e := range all {
			if faster := e.Time < 0.99; faster != c.faster[e.Name] {
				t.Errorf("%s, with %s: %.3f of the time", c.what, e.Name, e.Time)
			}
		}
	}
	// All warps past the cache is as if there were none.
	none, past := thrash, thrash
	none.Alpha, past.Bypass = 0, 1
	a, _ := none.Settled()
	b, _ := past.Settled()
	if math.Abs(a.Sectors-b.Sectors) > 1e-9 {
		t.Errorf("no cache %+v, past it %+v", a, b)
	}
}

func TestValid(t *testing.T) {
	for name, bad := range map[string]func(m *Model){
		"no rate": func(m *Model) { m.Rate = 0 }, "no warps": func(m *Model) { m.Warps = -1 },
		"NaN": func(m *Model) { m.Latency = math.NaN() }, "alpha": func(m *Model) { m.Alpha = 0.5 },
		"locality without a cache": func(m *Model) { m.Alpha, m.Beta = 2, 100 },
	} {
		m := plain(16, 100, 0.25)
		bad(&m)
		if _, ok := m.Settled(); ok || m.What() != nil {
			t.Errorf("%s passes", name)
		}
	}
}
