package xmodel

import (
	"container/heap"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

func plain(n, z, e float64) Model {
	return Model{Machine{Memory{Latency: 600, Rate: 0.1}, 4, 0}, Work{Warps: n, Intensity: z, Pace: e}}
}

// Without a cache everything is straight lines, so that equilibria have closed forms.
func TestClosedForms(t *testing.T) {
	for _, c := range []struct {
		m     Model
		k     float64 // waiting
		rate  float64 // instructions per cycle
		bound Bound
	}{
		// k/L = E(n-k)/Z: k = nEL/(Z+EL)
		{plain(16, 100, 0.25), 16 * 0.25 * 600 / (100 + 0.25*600), 100 * (16 * 0.25 / (100 + 0.25*600)),
			ByThreads},
		{plain(64, 1000, 0.25), 600 * 4.0 / 1000, 4, ByComputing}, // k = LM/Z
		{plain(256, 10, 0.25), 256 - 0.1*10/0.25, 1, ByMemory},    // x = RZ/E
	} {
		if err := c.m.Check(); err != nil {
			t.Fatal(err)
		}
		all := c.m.Equilibria()
		if len(all) != 1 {
			t.Errorf("%+v: %d equilibria: %+v", c.m, len(all), all)
			continue
		}
		p := all[0]
		if math.Abs(p.Waiting-c.k) > 1e-6*c.k || math.Abs(p.Rate-c.rate) > 1e-6 || p.Bound != c.bound ||
			!p.Stable {
			t.Errorf("%+v: %+v, want k = %g, rate %g, bound by %s", c.m.Work, p, c.k, c.rate, c.bound)
		}
	}
	// M/Z = R: both are full, along a stretch of k.
	both := plain(100, 40, 0.25)
	for _, p := range both.Equilibria() {
		if math.Abs(p.Rate-4) > 1e-9 || p.Bound != ByBoth {
			t.Errorf("both full: %+v", p)
		}
	}
	if len(both.Equilibria()) != 2 {
		t.Errorf("%+v", both.Equilibria())
	}
}

// A kernel that uses the cache much has three equilibria, the middle one unstable.
func TestThreeEquilibria(t *testing.T) {
	m := Model{Machine{Memory{600, 0.05, 32 << 10, 30, 0}, 0.5, 0}, Work{Warps: 64, Intensity: 2,
		Pace: 0.1, Alpha: 4, Beta: 1000}}
	all := m.Equilibria()
	if len(all) != 3 || !all[0].Stable || all[1].Stable || !all[2].Stable {
		t.Fatalf("%+v", all)
	}
	for _, p := range all {
		if math.Abs(m.Supply(p.Waiting)-m.Demand(p.Computing)) > 1e-9 {
			t.Errorf("f and g differ at %+v", p)
		}
		// The criterion by derivatives, taken apart.
		h := 1e-5
		df := (m.Supply(p.Waiting+h) - m.Supply(p.Waiting-h)) / (2 * h)
		dg := (m.Demand(p.Computing+h) - m.Demand(p.Computing-h)) / (2 * h)
		if p.Stable != (df+dg > 0) {
			t.Errorf("%+v: f' = %g, g' = %g", p, df, dg)
		}
	}
	good, _ := m.Settled()
	bad := all[2] // where a machine that is disturbed may end
	if good.Rate <= bad.Rate || good != all[0] {
		t.Errorf("settles at %+v, may fall to %+v", good, bad)
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

func TestWhat(t *testing.T) {
	with := func(m Model, change func(m *Model)) (Effect, bool) {
		changed := m
		change(&changed)
		return m.What(changed)
	}
	m := plain(16, 100, 0.25)
	e, ok := with(m, func(m *Model) { m.Warps = 32 })
	if !ok || math.Abs(e.Time-0.5) > 1e-9 { // bound by threads: twice the warps, half the time
		t.Errorf("twice the warps: %+v", e)
	}
	if e, _ := m.What(m); e.Time != 1 {
		t.Errorf("no change: %+v", e)
	}
	crowd := plain(256, 10, 0.25)
	if e, _ := with(crowd, func(m *Model) { m.Warps = 512 }); math.Abs(e.Time-1) > 1e-9 {
		t.Errorf("memory is full, and more warps change its time by %g", e.Time)
	}
	if e, _ := with(crowd, func(m *Model) { m.Intensity = 20 }); math.Abs(e.Time-0.5) > 1e-9 {
		t.Errorf("half the sectors: %+v", e)
	}
	// A cache that is thrashed: throttling and bypassing help, and all warps past the cache is as if
	// there were none.
	thrash := Model{Machine{Memory{600, 0.02, 32 << 10, 30, 0}, 4, 0}, Work{Warps: 64, Intensity: 4,
		Pace: 0.5, Alpha: 6, Beta: 2500}}
	fewer, _ := with(thrash, func(m *Model) { m.Warps = 16 })
	some, _ := with(thrash, func(m *Model) { m.Bypass = 0.5 })
	all, _ := with(thrash, func(m *Model) { m.Bypass = 1 })
	none := thrash
	none.Alpha = 0
	p, _ := none.Settled()
	if math.Abs(all.After.Sectors-p.Sectors) > 1e-6 {
		t.Errorf("all warps past the cache: %+v, without a cache: %+v", all.After, p)
	}
	least, _ := with(thrash, func(m *Model) { m.Bypass = 1e-9 })
	if math.Abs(least.Time-1) > 1e-3 {
		t.Errorf("hardly any warp past the cache changes the time by %g", least.Time)
	}
	if fewer.Time >= 1 || some.Time >= all.Time {
		t.Errorf("throttled %g, half bypassed %g, all %g", fewer.Time, some.Time, all.Time)
	}
}

func TestCheck(t *testing.T) {
	good := plain(16, 100, 0.25)
	for name, bad := range map[string]func(m *Model){
		"no rate": func(m *Model) { m.Rate = 0 }, "no warps": func(m *Model) { m.Warps = -1 },
		"NaN": func(m *Model) { m.Latency = math.NaN() }, "alpha": func(m *Model) { m.Alpha = 0.5 },
		"cache": func(m *Model) { m.Cache = 1024 },
	} {
		m := good
		bad(&m)
		if m.Check() == nil {
			t.Errorf("%s passes", name)
		}
	}
}

// A run is a simulated SM: warps compute (their shares of the pipes) and wait for memory in turns.
type event struct {
	at   float64
	warp int
}
type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any          { o := *e; x := o[len(o)-1]; *e = o[:len(o)-1]; return x }

// simulate runs a model without a cache for some time and returns instructions per cycle: a
// computing warp issues min(E, M/x) instructions per cycle, memory takes a new sector every 1/R
// cycles and answers L cycles later.
func simulate(m Model, cycles float64) float64 {
	left := make([]float64, int(m.Warps)) // instructions until the next access, <0: waits
	for w := range left {
		left[w] = m.Intensity * (0.5 + float64(w)/m.Warps)
	}
	var memory events
	now, free, done := 0.0, 0.0, 0.0
	for now < cycles {
		x := 0
		least := math.Inf(1)
		for _, l := range left {
			if l >= 0 {
				x++
				least = math.Min(least, l)
			}
		}
		pace := math.Min(m.Pace, m.Issue/math.Max(1, float64(x)))
		step := math.Inf(1)
		if x > 0 {
			step = least / pace
		}
		back := len(memory) > 0 && memory[0].at <= now+step
		if back {
			step = memory[0].at - now
		}
		now += step
		done += step * pace * float64(x)
		for w := range left {
			if left[w] < 0 {
				continue
			}
			if left[w] -= step * pace; left[w] <= 1e-9 {
				left[w] = -1
				free = math.Max(free, now) + 1/m.Rate
				heap.Push(&memory, event{math.Max(free, now+m.Latency), w})
			}
		}
		if back {
			e := heap.Pop(&memory).(event)
			left[e.warp] = m.Intensity
		}
	}
	return done / now
}

// The model has corners where a real queue has curves: near them a simulation stays up to a tenth
// below.
func TestQueueSimulation(t *testing.T) {
	for _, m := range []Model{plain(8, 50, 0.25), plain(16, 100, 0.25), plain(32, 200, 0.2),
		plain(64, 1000, 0.25), plain(64, 10, 0.25),
		plain(48, 20, 0.5)} {
		p, ok := m.Settled()
		if got := simulate(m, 400_000); !ok || math.Abs(got/p.Rate-1) > 0.12 {
			t.Errorf("%+v: the model says %.3f instructions per cycle, the simulation %.3f", m.Work, p.Rate,
				got)
		}
	}
}

// TestMeasured compares f(k) with what gnvcc doctor --measure found on an H200: warps that wait for
// one load each, of 4, 8 and 16 bytes a lane, so that k warps ask for 4k, 8k and 16k sectors.
func TestMeasured(t *testing.T) {
	text, err := os.ReadFile("testdata/h200.tsv")
	if err != nil {
		t.Fatal(err)
	}
	m := Model{Machine: Machine{Memory: Memory{}, Issue: 4}}
	type point struct{ sectors, rate float64 }
	var points []point
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		f := strings.Split(line, "\t")
		v, err := strconv.ParseFloat(f[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		if f[0] == "latency" {
			m.Latency = v
			continue
		}
		var bytes, warps float64
		if _, err := fmt.Sscanf(f[1], "%fx%f", &bytes, &warps); err != nil {
			t.Fatal(err)
		}
		points = append(points, point{bytes * warps, v})
		m.Rate = math.Max(m.Rate, v)
	}
	mean := func(corner float64) float64 {
		m.Corner = corner
		sum := 0.0
		for _, p := range points {
			sum += math.Abs(m.Supply(p.sectors)/p.rate-1) / float64(len(points))
		}
		return sum
	}
	if sharp, round := mean(0), mean(asMeasured); len(points) != 30 || round > 0.09 || sharp < 0.13 {
		t.Errorf("%d points: mean error %.3f with the thesis' corner, %.3f with ours", len(points), sharp,
			round)
	}
	m.Warps, m.Intensity, m.Pace = 64, 10, 0.25
	if p, ok := m.Settled(); !ok || p.Rate <= 0 || !p.Stable {
		t.Errorf("%+v", p)
	}
}
