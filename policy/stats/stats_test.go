package stats

import (
	"errors"
	"math"
	"math/rand"
	"testing"
	"time"
)

// Simulated clocks: the noise that kernels on real GPUs show, exaggerated.

// A clock gives times of arms: true time of arm i is speed[i] (baseline: 1) times base.
type clock struct {
	rng   *rand.Rand
	base  float64
	speed func(arm int) float64
	noise func(c *clock, t float64) float64
	count map[int]int
	tick  int
	state float64
}

func newClock(seed int64, base float64, noise func(*clock, float64) float64,
	speed func(int) float64) *clock {
	return &clock{rng: rand.New(rand.NewSource(seed)), base: base, noise: noise, speed: speed,
		count: map[int]int{}}
}

func (c *clock) sample(arm, n int) ([]float64, error) {
	out := make([]float64, n)
	for i := range out {
		t := c.base
		if arm != Baseline {
			t *= c.speed(arm)
		}
		c.tick++
		c.count[arm]++
		out[i] = c.noise(c, t)
	}
	return out, nil
}

func quiet(s float64) func(*clock, float64) float64 {
	return func(c *clock, t float64) float64 { return t * math.Exp(s*math.Abs(c.rng.NormFloat64())) }
}

var noises = map[string]func(*clock, float64) float64{
	"skew 1 %":  quiet(0.01),
	"skew 5 %":  quiet(0.05),
	"skew 20 %": quiet(0.2),
	"outliers": func(c *clock, t float64) float64 {
		t *= 1 + 0.02*c.rng.NormFloat64()
		if c.rng.Float64() < 0.08 {
			t *= 1 + 3*c.rng.Float64()
		}
		return t
	},
	"drift": func(c *clock, t float64) float64 {
		return t * (1 + 0.0002*float64(c.tick)) * (1 + 0.01*c.rng.NormFloat64())
	},
	// the clock changes by 8 % about every 40 launches
	"two clocks": func(c *clock, t float64) float64 {
		if c.state == 0 {
			c.state = 1
		}
		if c.rng.Float64() < 0.025 {
			c.state = 2.08 - c.state
		}
		return t * c.state * (1 + 0.01*c.rng.NormFloat64())
	},
	"bursts": func(c *clock, t float64) float64 { // neighbours on the GPU: correlated, AR(1)
		c.state = 0.9*c.state + 0.1*c.rng.NormFloat64()
		return t * math.Exp(0.2*math.Abs(c.state)) * (1 + 0.01*c.rng.NormFloat64())
	},
	"timer of 1 us": func(c *clock, t float64) float64 {
		return math.Ceil((t*(1+0.1*c.rng.Float64()))/1000) * 1000
	},
}

func same(int) float64 { return 1 }

// TestCompareEqual: an arm that is the baseline is adopted in less than 1 % of the comparisons,
// whatever the noise.
func TestCompareEqual(t *testing.T) {
	const runs = 1000
	for name, noise := range noises {
		for _, base := range []float64{5e3, 100e3} {
			adopted, covered := 0, 0
			for seed := int64(0); seed < runs; seed++ {
				c := newClock(seed, base, noise, same)
				first, _ := c.sample(Baseline, 20)
				p := Standard.Plan(first)
				got, err := Standard.Compare(c.sample, 0, p)
				if err != nil {
					t.Fatal(err)
				}
				if Standard.Better(got.Ratio) {
					adopted++
				}
				if got.Ratio.Low <= 1 && 1 <= got.Ratio.High {
					covered++
				}
			}
			if adopted*100 >= runs {
				t.Errorf("%s, %g us: %d of %d equal candidates adopted", name, base/1e3, adopted, runs)
			}
			if covered < runs*98/100 {
				t.Errorf("%s, %g us: the interval holds the truth in %d of %d runs only", name, base/1e3,
					covered, runs)
			}
		}
	}
}

// TestRaceEqual: the whole way, race among 60 equal arms and three fresh comparisons, adopts in
// less than 1 % of the runs.
func TestRaceEqual(t *testing.T) {
	const runs = 300
	arms := make([]Arm, 60)
	for i := range arms {
		arms[i] = Arm{ID: i, Group: i / 10}
	}
	for name, noise := range noises {
		adopted := 0
		for seed := int64(0); seed < runs; seed++ {
			c := newClock(seed, 100e3, noise, same)
			if _, ok := wholeWay(t, c, arms); ok {
				adopted++
			}
		}
		if adopted*100 >= 100+runs { // 1 % and one more for the small number of runs
			t.Errorf("%s: adopted in %d of %d runs", name, adopted, runs)
		}
	}
}

func wholeWay(t *testing.T, c *clock, arms []Arm) (Standing, bool) {
	t.Helper()
	first, _ := c.sample(Baseline, 20)
	st, err := Standard.Race(c.sample, arms, first, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := Standard.Plan(first)
	for _, s := range st[:3] {
		got, err := Standard.Compare(c.sample, s.ID, p)
		if err != nil {
			t.Fatal(err)
		}
		if Standard.Better(got.Ratio) {
			return s, true
		}
	}
	return Standing{}, false
}

// TestPower: a candidate that is 6 % faster than all others is found and adopted in three of four
// runs at least (in nearly all under ordinary noise), one of 15 % nearly always, also under the
// worst noise.
func TestPower(t *testing.T) {
	const runs = 100
	arms := make([]Arm, 60)
	for i := range arms {
		arms[i] = Arm{ID: i, Group: i / 10}
	}
	for name, noise := range noises {
		for _, test := range []struct {
			gain float64
			want int // of 100
		}{{0.94, 75}, {0.85, 97}} {
			found := 0
			for seed := int64(0); seed < runs; seed++ {
				c := newClock(seed, 100e3, noise, func(arm int) float64 {
					switch {
					case arm == 37:
						return test.gain
					case arm%3 == 0:
						return 1
					default:
						return 1 + float64(arm)/40
					}
				})
				if s, ok := wholeWay(t, c, arms); ok && s.ID == 37 {
					found++
				}
			}
			if name == "skew 20 %" && test.gain > 0.9 {
				t.Logf("%s: a gain of 6 %% is found in %d of %d runs", name, found, runs)
				continue
			}
			if found < test.want {
				t.Errorf("%s: gain %.2f found in %d of %d runs", name, test.gain, found, runs)
			}
		}
	}
}

// TestCost: what a configuration of 60 candidates costs in kernel time at 100 us a launch (half of
// them slower, some much).
func TestCost(t *testing.T) {
	arms := make([]Arm, 60)
	for i := range arms {
		arms[i] = Arm{ID: i, Group: i / 10}
	}
	c := newClock(1, 100e3, quiet(0.01), func(arm int) float64 { return 0.9 + float64(arm%20)/10 })
	spent := 0.0
	sampler := func(arm, n int) ([]float64, error) {
		x, err := c.sample(arm, n)
		for _, v := range x {
			spent += v
		}
		return x, err
	}
	first, _ := sampler(Baseline, 20)
	st, err := Standard.Race(sampler, arms, first, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := Standard.Plan(first)
	if _, err := Standard.Compare(sampler, st[0].ID, p); err != nil {
		t.Fatal(err)
	}
	t.Logf("%.0f ms of kernel time, %d launches", spent/1e6, c.tick)
	if spent > 150e6 {
		t.Errorf("%.0f ms of kernel time for a configuration; the goal of 0.3 s leaves 150 ms for it",
			spent/1e6)
	}
	for arm, n := range c.count {
		if arm >= 0 && arm%20 == 19 && n > 2 {
			t.Errorf("arm %d, 2.8 times as slow as the baseline, was launched %d times", arm, n)
		}
	}
}

// TestLong: of a kernel of 100 ms the best of 30 is found with little more than a launch each,
// where there is hardly any noise; where there is much, it takes the launches that it needs.
func TestLong(t *testing.T) {
	arms := make([]Arm, 30)
	for i := range arms {
		arms[i] = Arm{ID: i, Group: i / 5}
	}
	for name, most := range map[string]int{"0.05 %": 60, "3 %": 400} {
		right := 0
		for seed := range int64(50) {
			noise := quiet(0.0005)
			if name == "3 %" {
				noise = quiet(0.03)
			}
			c := newClock(seed, 100e6, noise, func(arm int) float64 {
				if arm == 17 {
					return 0.9
				}
				return 0.97 + float64(arm%10)/100
			})
			first, _ := c.sample(Baseline, 3)
			c.tick = 0
			st, err := Standard.Race(c.sample, arms, first, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if st[0].ID == 17 {
				right++
			}
			if c.tick > most {
				t.Errorf("noise of %s: %d launches", name, c.tick)
			}
		}
		if right < 45 {
			t.Errorf("noise of %s: the best of 30 was found in %d of 50 races", name, right)
		}
	}
}

func TestHarmful(t *testing.T) {
	bad, good := 0, 0
	for seed := int64(0); seed < 200; seed++ {
		for _, speed := range []float64{1.03, 0.99} {
			c := newClock(seed, 100e3, noises["outliers"], func(int) float64 { return speed })
			first, _ := c.sample(Baseline, 20)
			got, err := Standard.CompareHarm(c.sample, 0, Standard.Plan(first))
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case speed > 1 && Standard.Harmful(got.Ratio):
				bad++
			case speed < 1 && !Standard.Harmful(got.Ratio):
				good++
			}
		}
	}
	if bad < 196 || good < 190 {
		t.Errorf("3 %% slower refused in %d of 200, 1 %% faster accepted in %d of 200", bad, good)
	}
}

func TestPlan(t *testing.T) {
	c := newClock(3, 5e3, quiet(0.1), same)
	short, _ := c.sample(Baseline, 30)
	c = newClock(3, 100e3, quiet(0.01), same)
	usual, _ := c.sample(Baseline, 30)
	long := []float64{1e9, 1.001e9, 1e9}
	ps, pu, pl := Standard.Plan(short), Standard.Plan(usual), Standard.Plan(long)
	if ps.Blocks < 4*pu.Blocks {
		t.Errorf("short kernels get %+v, usual ones %+v", ps, pu)
	}
	if pl.Blocks != 9 || pl.Each != 1 {
		t.Errorf(
			"a kernel of 1 s gets %+v; want the fewest blocks that close an interval of 0.995: 9 of 1", pl)
	}
	dear := Standard
	dear.Launch = 10 * time.Millisecond // 20 GB to put back before each
	if p := dear.Plan(usual); p.Samples() > 13 {
		t.Errorf("a kernel of 100 us with 10 ms beside each launch gets %+v", p)
	}
	if got := MedianInterval(make([]float64, 8), 0.995); !math.IsInf(got.High, 1) {
		t.Errorf("8 samples give a closed interval of 0.995: %+v", got)
	}
}

// TestDepth compares with binomial sums done the slow way, and across the change to the normal
// distribution.
func TestDepth(t *testing.T) {
	for n := 1; n < 40; n++ {
		for _, tail := range []float64{0.0025, 0.025} {
			d, ok := depth(n, tail)
			p := func(d int) float64 {
				sum := 0.0
				for k := 0; k <= d; k++ {
					lg := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
					sum += math.Exp(lg(n) - lg(k) - lg(n-k) - float64(n)*math.Ln2)
				}
				return sum
			}
			if ok && (p(d) > tail*(1+1e-9) || p(d+1) <= tail*(1-1e-9)) || !ok && p(0) <= tail {
				t.Errorf("depth(%d, %g) = %d, %v", n, tail, d, ok)
			}
		}
	}
	a, _ := depth(1070, 0.0025)
	b, _ := depth(1080, 0.0025)
	if b-a < 0 || b-a > 12 {
		t.Errorf("depth(1070) = %d, depth(1080) = %d", a, b)
	}
}

// TestRaceErrors: an arm that faults is dropped; a fatal error ends the race with what is known.
func TestRaceErrors(t *testing.T) {
	fault := errors.New("illegal address")
	arms := []Arm{{ID: 0}, {ID: 1}, {ID: 2}, {ID: 3}, {ID: 4}}
	c := newClock(1, 100e3, quiet(0.01), func(arm int) float64 { return 1 - float64(arm)/10 })
	sampler := func(arm, n int) ([]float64, error) {
		if arm == 4 {
			return nil, fault
		}
		return c.sample(arm, n)
	}
	first, _ := sampler(Baseline, 10)
	st, err := Standard.Race(sampler, arms, first, Options{Fatal: func(error) bool { return false }})
	if err != nil || st[0].ID != 3 || st[len(st)-1].Err != fault {
		t.Errorf("standings %+v, %v", st, err)
	}
	if _, err := Standard.Race(sampler, arms, first, Options{}); err != fault {
		t.Errorf("a fatal fault is not returned: %v", err)
	}
	stopped, _ := Standard.Race(sampler, arms, first, Options{Stop: func() bool { return true }})
	for _, s := range stopped {
		if s.N != 0 {
			t.Errorf("measured after stop: %+v", s)
		}
	}
}
