package tuner

import (
	"math"
	"strings"
	"testing"
	"time"

	"gnvcc/policy"
	"gnvcc/profile"
	"gnvcc/profile/capture"
	"gnvcc/profile/capture/capturetest"
)

// Programs whose launches of one configuration differ in work, on the simulated GPU.

// work is launches that take the same.
type work struct {
	us       float64 // one, in the replay; the events around it take 6 us more
	launches int
	takes    float64 // what the best recipe makes of it
	captured bool
}

// at is a kernel as it is where a launch took so many seconds in the program.
func (k *simulated) at(took float64) *simulated {
	for _, w := range k.work {
		if w.took() == took {
			one := *k
			one.launch, one.best, one.alone = w.us/1e6, w.takes, map[string]float64{"hint@ld": w.takes}
			return &one
		}
	}
	return k
}

func (w work) took() float64 { return (w.us + 6) / 1e6 }

// use is what the program did with such launches.
func (k *simulated) use(u capture.Use) capture.Use {
	u.Count, u.Seconds, u.Classes = 0, 0, nil
	for _, w := range k.work {
		seconds := float64(w.launches) * w.took()
		u.Count, u.Seconds, u.Sets = u.Count+w.launches, u.Seconds+seconds, len(k.work)
		u.Classes = profile.JoinClasses(u.Classes, []profile.Class{{Low: profile.ClassOf(w.took()), Launches: w.launches, Seconds: seconds}})
	}
	return u
}

// captures keeps one of each kind that is.
func (k *simulated) captures(t *testing.T, store *capture.Store, like *capture.Manifest) (out []*capture.Manifest) {
	for i, w := range k.work {
		if !w.captured {
			continue
		}
		m, err := capturetest.Keep(store, capturetest.Launch{Program: "app", Kernel: k.name,
			Cubin: []byte("a module"), Params: [][2]int{{0, 8}, {8, 4}}, Grid: k.shape.Grid[0],
			Block: k.shape.Block[0], Seconds: k.seconds, Made: like.Made.Add(time.Duration(i+1) * time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		m.Took = w.took()
		out = append(out, m)
	}
	return out
}

// TestClasses: what is adopted of programs whose launches differ in work, and what is claimed of it.
func TestClasses(t *testing.T) {
	triangle := func(captured ...int) (list []work) { // launch i does i units
		for i := 1; i <= 100; i++ {
			w := work{us: float64(20 * i), launches: 1, takes: 0.8}
			for _, c := range captured {
				w.captured = w.captured || c == i
			}
			list = append(list, w)
		}
		return list
	}
	converging := func(captured bool) (list []work) { // each does less
		for us := 3000.0; us > 100; us *= 0.7 {
			list = append(list, work{us, 5, 0.9, captured || us == 3000})
		}
		return list
	}
	for name, c := range map[string]struct {
		work    []work
		adopted bool
		ratio   float64
		why     string
	}{
		"a frontier, an empty one captured": {[]work{{16, 60, 0.7, true}, {150, 15, 2, false}}, false, 1,
			"that were not measured (500 x 256: of 156 us in the program, where the captured one takes 16"},
		"a frontier, on which it loses":      {[]work{{16, 60, 0.7, true}, {150, 15, 2, true}}, false, 1, ""},
		"a frontier, on which it gains":      {[]work{{16, 60, 1, true}, {150, 15, 0.7, true}}, true, 0.79, ""},
		"a work queue, one captured":         {[]work{{60, 40, 0.7, false}, {200, 40, 0.7, true}, {600, 40, 1.2, false}}, false, 1, "not measured"},
		"a work queue":                       {[]work{{60, 40, 0.9, true}, {200, 40, 0.7, true}, {600, 40, 0.8, true}}, true, 0.785, ""},
		"a triangle, the first captured":     {triangle(1), false, 1, "not measured"},
		"a triangle, at quantiles":           {triangle(20, 45, 75, 100), true, 0.8, ""},
		"what converges, the first captured": {converging(false), false, 1, "not measured"},
		"what converges":                     {converging(true), true, 0.9, ""},
		"noise":                              {[]work{{100, 50, 0.8, true}, {130, 50, 0.8, false}}, true, 0.8, ""},
	} {
		s := &simulation{t: t, ptxas: time.Millisecond, cicc: time.Millisecond}
		k := simulated{name: "a", seconds: 1, launch: 1e-4, begin: 0.4, work: c.work,
			shape: policy.Shape{Grid: [3]int{500, 1, 1}, Block: [3]int{256, 1, 1}},
			alone: map[string]float64{"hint@ld": 0.9}, best: 0.9}
		s.kernels = []simulated{k}
		got := s.tune(time.Minute, func(o *policy.Options) { o.Levers = []string{"hint"} })
		d := got.results["a"].Decision
		if d == nil {
			t.Errorf("%s: no decision\n%s", name, strings.Join(got.said, "\n"))
			continue
		}
		if (d.Recipe != "") != c.adopted || math.Abs(d.Evidence.Ratio()-c.ratio) > 0.025 ||
			!strings.Contains(d.Evidence.Note, c.why) || !strings.Contains(got.results["a"].Withheld, c.why) {
			t.Errorf("%s: %q, %.3f: %s\n%s", name, d.Recipe, d.Evidence.Ratio(), d.Evidence.Note,
				strings.Join(got.said, "\n"))
		}
	}
}
