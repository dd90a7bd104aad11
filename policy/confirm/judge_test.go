package confirm

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gnvcc/policy/stats"
	"gnvcc/profile"
)

// takes is a kernel in a run: launches, us each.
func takes(name, recipe string, count int, us float64) Kernel {
	return Kernel{Identity: name, Short: name, Recipe: recipe, Shapes: []Shape{{Grid: [3]int{64, 1, 1},
		Block: [3]int{256, 1, 1}, Count: count, Sampled: count, Seconds: float64(count) * us / 1e6}}}
}

func ran(kernels ...Kernel) *Run { return &Run{Device: "GPU", Span: 1, Kernels: kernels} }

// TestJudge: what is kept, taken back, and left open.
func TestJudge(t *testing.T) {
	hint, capped := "hint@ld=cs", "maxnreg=40"
	plain := func(name string, us float64) Kernel { return takes(name, "", 100, us) }
	others := func(by float64) []Kernel { // which the clock makes as much slower
		return []Kernel{plain("x", 500*by), plain("y", 300*by), plain("z", 200*by)}
	}
	const promised = 1.3
	for name, c := range map[string]struct {
		before, after Kernel
		recipe        string
		by            float64 // of the others
		state         State
		program       float64
		why           string
	}{
		"as promised":                 {plain("k", 130), takes("k", capped, 100, 100), capped, 1, Kept, 1.3, ""},
		"a lower clock":               {plain("k", 130), takes("k", capped, 100, 105), capped, 1.05, Kept, 1.3, ""},
		"a higher clock":              {plain("k", 130), takes("k", capped, 100, 124), capped, 0.95, TakenBack, 0.996, "no faster"},
		"less":                        {plain("k", 130), takes("k", capped, 100, 120), capped, 1, Kept, 1.083, ""},
		"nothing":                     {plain("k", 130), takes("k", capped, 100, 130), capped, 1, TakenBack, 1, "no faster"},
		"slower":                      {plain("k", 130), takes("k", capped, 100, 300), capped, 1, TakenBack, 0.433, "slower in the program"},
		"events beside a short one":   {plain("k", 25), takes("k", capped, 100, 23), capped, 1, Kept, 1.25, ""},
		"too close to tell":           {plain("k", 130), takes("k", capped, 100, 128.7), capped, 1, Open, 1.01, "too close"},
		"half of the launches":        {plain("k", 130), takes("k", capped, 50, 100), capped, 1, Open, 0, "launched 50 times, and 100 times"},
		"few launches":                {takes("k", "", 2, 130), takes("k", capped, 2, 100), capped, 1, Open, 0, "too few"},
		"not built with it":           {plain("k", 130), plain("k", 130), capped, 1, Open, 0, "gnvcc apply"},
		"another recipe":              {plain("k", 130), takes("k", hint, 100, 100), capped, 1, Open, 0, "gnvcc apply"},
		"an older build":              {plain("old", 130), takes("k", capped, 100, 100), capped, 1, Open, 0, "no run of nvcc's own code"},
		"not launched":                {plain("k", 130), plain("other", 130), capped, 1, Open, 0, "not launched"},
		"runs that can't be compared": {plain("k", 130), takes("k", capped, 100, 100), capped, 1.4, Open, 0, "can't be compared"},
	} {
		base, now := ran(append(others(1), c.before)...), ran(append(others(c.by), c.after)...)
		p := Proposal{Identity: "k", Short: "k", Recipe: c.recipe, Promised: promised}
		if c.before.seconds() < 50e-4 {
			p.Replay = 10e-6
		}
		got := Judge(Base([]Run{*base}, now, []Proposal{p}), now, []Proposal{p}, stats.Standard).Verdicts[0]
		if got.State != c.state || math.Abs(got.Program-c.program) > 0.005 || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: %v, %.3f, %q", name, got.State, got.Program, got.Why)
		}
	}
	other := takes("k", capped, 100, 100)
	other.Shapes[0].Grid[0] = 128
	p := []Proposal{{Identity: "k", Short: "k", Recipe: capped}}
	if got := Judge(ran(plain("k", 130)), ran(other), p, stats.Standard).Verdicts[0]; got.State != Open ||
		!strings.Contains(got.Why, "other sizes") {
		t.Errorf("other sizes: %+v", got)
	}
}

// TestPair: a hint by which the first of two kernels gains slows the second. Which it was is found where
// no other kernel tells the clock, and where others do; what gains more than is lost stays.
func TestPair(t *testing.T) {
	const hint = "hint@ld=L1::evict_first"
	for _, more := range []bool{false, true} {
		for _, c := range []struct {
			recipe      string
			first, next float64 // us behind it, of 100
			state       State
			slowed      int
		}{
			{hint, 95, 109, TakenBack, 1}, {hint, 70, 109, Kept, 1}, {hint, 95, 100, Kept, 0},
			{"spec{host(block)=256x1x1,host(dynamic)=0} " + hint, 95, 109, TakenBack, 1},
		} {
			base, now := ran(takes("a", "", 200, 100), takes("b", "", 200, 100)),
				ran(takes("a", c.recipe, 200, c.first), takes("b", "", 200, c.next))
			if more {
				for _, name := range []string{"x", "y", "z"} {
					base.Kernels = append(base.Kernels, takes(name, "", 200, 100))
					now.Kernels = append(now.Kernels, takes(name, "", 200, 100))
				}
			}
			got := Judge(base, now, []Proposal{{Identity: "a", Short: "a", Recipe: c.recipe, Promised: 1.05}}, stats.Standard)
			if v := got.Verdicts[0]; v.State != c.state || len(got.Slowed) != c.slowed ||
				c.state == TakenBack && !strings.Contains(v.Why, "b takes 1.09 times") {
				t.Errorf("more %v, %+v: %v, %s, %v", more, c, v.State, v.Why, got.Slowed)
			}
		}
	}
}

// TestWhole: where all kernels together take longer, nothing stays, also where each by itself can't
// be blamed.
func TestWhole(t *testing.T) {
	base, now := ran(takes("a", "", 200, 100), takes("b", "", 200, 300)),
		ran(takes("a", "maxnreg=40", 200, 95), takes("b", "", 200, 345))
	got := Judge(base, now, []Proposal{{Identity: "a", Short: "a", Recipe: "maxnreg=40"}}, stats.Standard)
	if v := got.Verdicts[0]; v.State != TakenBack || !strings.Contains(v.Why, "all kernels together take 1.10 times") {
		t.Errorf("%v: %s", v.State, v.Why)
	}
}

// TestEntries: second entries count as their kernel, in their own blocks and grids.
func TestEntries(t *testing.T) {
	const r = "coarsen=2x1x1 spec{host(block)=256x1x1,host(dynamic)=0}"
	now := ran()
	k := Kernel{Identity: "k", Short: "k", Recipe: r}
	now.Add(k, Shape{Grid: [3]int{32, 1, 1}, Block: [3]int{256, 1, 1}, Entry: true, Count: 90, Sampled: 90, Seconds: 90 * 100e-6})
	now.Add(k, Shape{Grid: [3]int{64, 1, 1}, Block: [3]int{256, 1, 1}, Count: 10, Sampled: 10, Seconds: 10 * 130e-6})
	p := []Proposal{{Identity: "k", Short: "k", Recipe: r}}
	if v := Judge(ran(takes("k", "", 100, 130)), now, p, stats.Standard).Verdicts[0]; v.State != Kept ||
		math.Abs(v.Program-130./103) > 1e-3 {
		t.Errorf("%+v", v)
	}
	now.Kernels[0].Shapes[0].Grid[0] = 48
	if v := Judge(ran(takes("k", "", 100, 130)), now, p, stats.Standard).Verdicts[0]; v.State != Open {
		t.Errorf("another grid: %+v", v)
	}
}

// memory keeps what is remembered.
type memory map[string][]byte

func (m memory) Recall(key string) ([]byte, bool)    { b, ok := m[key]; return b, ok }
func (m memory) Remember(key string, b []byte) error { m[key] = b; return nil }

// TestRemember: of runs with the same recipes the newest is kept, and one of nvcc's own code always; what
// can't be read is none.
func TestRemember(t *testing.T) {
	m := memory{}
	for i := range 10 {
		recipe := ""
		if i > 1 {
			recipe = fmt.Sprintf("maxnreg=%d", 20+i)
		}
		if err := Remember(m, "app", *ran(takes("k", recipe, 100, float64(100+i)))); err != nil {
			t.Fatal(err)
		}
	}
	runs := Remembered(m, "app")
	if len(runs) != kept || runs[0].Kernels[0].Recipe != "maxnreg=29" ||
		math.Abs(runs[kept-1].Seconds()-101e-4) > 1e-9 || runs[kept-1].applied() != 0 {
		t.Errorf("%d runs: %+v", len(runs), runs)
	}
	for key := range m {
		m[key] = []byte(`{"Version":99,"Runs":[{}]}`)
	}
	if runs := Remembered(m, "app"); runs != nil {
		t.Errorf("%+v", runs)
	}
}

// TestSpread: of launches that differ in work hardly any timed tells little.
func TestSpread(t *testing.T) {
	even := []profile.Class{{Low: 100e-6, Launches: 100, Seconds: 1.1e-2}}
	if s := Spread(even); s > 1e-6 {
		t.Errorf("%g", s)
	}
	if s := Spread(slices.Concat(even, []profile.Class{{Low: 900e-6, Launches: 100, Seconds: 9.9e-2}})); math.Abs(s-0.8) > 0.01 {
		t.Errorf("%g", s)
	}
	k := takes("k", "", 1000, 100)
	k.Shapes[0].Spread = 0.8
	all := k.deviation()
	k.Shapes[0].Sampled = 10
	if few := k.deviation(); all > 0.002 || few < 0.2 {
		t.Errorf("%g with all, %g with ten", all, few)
	}
}
