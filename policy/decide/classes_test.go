package decide

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gnvcc/policy"
	"gnvcc/policy/stats"
	"gnvcc/profile"
	"gnvcc/rewrite/recipe"
)

// classesOf counts times (us) as the agent does.
func classesOf(us ...float64) (out []profile.Class) {
	for _, t := range us {
		out = profile.JoinClasses(out, []profile.Class{{Low: profile.ClassOf(t / 1e6), Launches: 1, Seconds: t / 1e6}})
	}
	return out
}

// repeated is so many times the same.
func repeated(n int, us float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = us
	}
	return out
}

// in gives a configuration with such launches (us), and what was compared on some of them: by us in the
// replay, the ratio.
func in(launches []float64, compared map[float64]float64) (*Config, *policy.Trial) {
	c := &Config{Shape: policy.Shape{Grid: [3]int{4096, 1, 1}, Block: [3]int{256, 1, 1}}, Phase: Searched,
		Count: len(launches), Sampled: len(launches), Classes: classesOf(launches...)}
	for _, us := range launches {
		c.Seconds += us / 1e6
	}
	r, _ := recipe.Parse("hint@ld=cs")
	tr := &policy.Trial{Recipe: r, Text: r.String(), Ratio: 0.8, Confirmed: &policy.Compared{}}
	f := tr.Confirmed
	for us, ratio := range compared {
		f.Parts = append(f.Parts, policy.Part{Base: us * 1e3, Ratio: ratio, Estimate: ratio})
		if f.Before.Median < us*1e3 { // the one that was searched on
			f.Ratio = stats.Interval{Estimate: ratio, Low: ratio, High: ratio, N: 9}
			f.Before.Median, f.Bound = us*1e3, ratio
		}
	}
	c.Notebook.Trials = []*policy.Trial{tr}
	return c, tr
}

// choose decides on a kernel of such configurations.
func choose(configs ...*Config) (chosen bool, ratio float64, why string) {
	k := &Findings{Kernel: policy.Kernel{Identity: "k"}, Configs: configs}
	for _, c := range configs {
		for _, tr := range c.Notebook.Trials {
			k.Win(tr.Recipe)
		}
	}
	t := &Run{Options: &policy.Options{Rule: stats.Standard}}
	list := t.eligible(k)
	if len(list) == 0 {
		return false, 1, k.withheld + configs[0].Notebook.Trials[0].Refused
	}
	return true, 1 - list[0].saved/list[0].total, ""
}

// TestClasses: programs whose launches differ in work. A recipe is adopted where what was captured stands
// for nearly all of their time, and claimed to gain what it gains over all of them.
func TestClasses(t *testing.T) {
	frontier := append(repeated(60, 22), repeated(15, 160)...) // events take some 6 us
	triangle, converging := []float64{}, []float64{}
	for i := range 100 {
		triangle = append(triangle, float64(20*(i+1)))
		converging = append(converging, 3000*math.Pow(0.97, float64(i)))
	}
	queue := []float64{}
	for r := rand.New(rand.NewPCG(1, 2)); len(queue) < 200; {
		queue = append(queue, 50*math.Exp(3*r.Float64()))
	}
	// Two tests of primes, whose work goes by the numbers: 800 launches each, replayed at
	// 32 to 108 and 43 to 525 on an H200.
	light := slices.Concat(repeated(300, 40), repeated(250, 61), repeated(150, 85), repeated(100, 128))
	heavy := slices.Concat(repeated(200, 60), repeated(200, 130), repeated(200, 230), repeated(100, 400), repeated(100, 545))
	for name, c := range map[string]struct {
		launches []float64
		compared map[float64]float64
		chosen   bool
		ratio    float64
		why      string
	}{
		"an empty frontier alone":           {frontier, map[float64]float64{16: 0.7}, false, 1, "of 160 us in the program"},
		"and a full one, on which it loses": {frontier, map[float64]float64{16: 0.7, 155: 2}, false, 1, "100.0 % slower on 4096 x 256, in launches of 160 us"},
		"and one on which it gains":         {frontier, map[float64]float64{16: 0.9, 155: 0.7}, true, 0.758, ""},
		"a full one alone":                  {frontier, map[float64]float64{155: 0.7}, false, 1, "of 22 us"},
		"the first of a triangle":           {triangle, map[float64]float64{20: 0.7}, false, 1, "were not measured"},
		"the last of a triangle":            {triangle, map[float64]float64{2000: 0.7}, false, 1, "were not measured"},
		"a triangle's quarters":             {triangle, map[float64]float64{2000: 0.7, 1400: 0.7, 700: 0.8, 300: 0.9}, true, 0.74, ""},
		"slower where it hardly counts":     {triangle, map[float64]float64{2000: 0.7, 1400: 0.7, 700: 0.8, 300: 0.9, 20: 1.5}, true, 0.74, ""},
		"slower where it does":              {triangle, map[float64]float64{2000: 1.03, 1400: 0.7, 700: 0.7, 300: 0.7}, false, 1, "3.0 % slower"},
		"what converges, its first":         {converging, map[float64]float64{3000: 0.7}, false, 1, "were not measured"},
		"what converges":                    {converging, map[float64]float64{2900: 0.8, 1500: 0.8, 700: 0.8, 300: 0.8}, true, 0.8, ""},
		"a work queue, by one":              {queue, map[float64]float64{200: 0.7}, false, 1, "were not measured"},
		"a work queue":                      {queue, map[float64]float64{60: 0.8, 120: 0.8, 250: 0.8, 500: 0.8, 950: 0.8}, true, 0.8, ""},
		"noise":                             {append(repeated(50, 100), repeated(50, 130)...), map[float64]float64{108: 0.8}, true, 0.8, ""},
		"primes":                            {light, map[float64]float64{32.3: 0.55, 108: 0.39}, true, 0.505, ""},
		"the lightest and the heaviest":     {heavy, map[float64]float64{43: 0.6, 525: 0.36}, false, 1, "were not measured"},
		"and one of neither's class":        {heavy, map[float64]float64{43: 0.6, 110: 0.45, 525: 0.36}, true, 0.428, ""},
		"on which it is slower":             {heavy, map[float64]float64{43: 0.6, 110: 1.005, 525: 0.36}, false, 1, "were not measured"},
		"empty frontiers alone":             {frontier, map[float64]float64{9: 0.7, 16: 0.7, 30: 0.7}, false, 1, "of 160 us in the program"},
		"a short kernel beside events":      {append(repeated(50, 18), repeated(50, 29)...), map[float64]float64{10: 0.8}, true, 0.8, ""},
	} {
		config, _ := in(c.launches, c.compared)
		chosen, ratio, why := choose(config)
		if chosen != c.chosen || math.Abs(ratio-c.ratio) > 0.02 || !strings.Contains(why, c.why) {
			t.Errorf("%s: %v, %.3f, %q", name, chosen, ratio, why)
		}
	}
}

// TestClassesAlone: what a captured launch of a configuration without classes stands for: all of them
// where the mean is its own, or it is the only one.
func TestClassesAlone(t *testing.T) {
	for name, c := range map[string]struct {
		count, sampled int
		mean, replay   float64 // us
		took           float64
		classes        []profile.Class
		chosen         bool
	}{
		"alike":                            {100, 50, 105, 100, 0, nil, true},
		"short":                            {100, 50, 24, 10, 0, nil, true},
		"another":                          {75, 40, 52.9, 15.8, 0, nil, false},
		"a shorter other":                  {75, 40, 34.9, 8.4, 0, nil, false},
		"more work":                        {75, 40, 100, 300, 0, nil, false},
		"the only one":                     {1, 1, 66, 3.3, 0, nil, true},
		"hardly timed":                     {9, 2, 49, 23, 0, nil, true},
		"the first one waits for its code": {3, 3, 6545, 2240, 15.1e-3, classesOf(2245, 2250, 15100), true},
		"a slow one that was not captured": {3, 3, 6545, 2240, 0, classesOf(2245, 2250, 15100), false},
		"times are not known":              {100, 0, 0, 10, 0, nil, true},
	} {
		config, tr := in(nil, map[float64]float64{c.replay: 0.8})
		config.Count, config.Sampled, config.Classes = c.count, c.sampled, c.classes
		config.Seconds = float64(c.count) * c.mean / 1e6
		tr.Confirmed.Parts[0].Took = c.took
		if chosen, _, why := choose(config); chosen != c.chosen {
			t.Errorf("%s: %v, %q", name, chosen, why)
		}
	}
}

// TestThin: a captured launch of a class that has next to nothing of the time does not speak
// against a recipe; where times don't spread none is so.
func TestThin(t *testing.T) {
	c, _ := in(append(repeated(10, 30), repeated(100, 400)...), map[float64]float64{400: 0.8})
	if !c.Thin(28e3) || c.Thin(390e3) {
		t.Error("by classes")
	}
	if c, _ = in(repeated(50, 30), nil); c.Thin(28e3) || c.Thin(1e3) {
		t.Error("one class")
	}
}
