package capture

import (
	"os"
	"testing"
	"time"

	"gnvcc/profile"
)

// A worker plays a program whose launches differ in work alone, as an agent does: what a launch takes
// is known behind it, and a capture is not kept where that is not wanted.
type worker struct {
	c     *Collector
	cubin string
	now   time.Time
	seen  profile.Seen
	again int
	vain  int
	took  []float64 // of what was kept
}

func newWorker(t *testing.T, store *Store, cubin string) *worker {
	c := NewCollector(store, Usual, t.TempDir(), nil, nil)
	w := &worker{c: c, cubin: cubin, now: time.Unix(1, 0)}
	c.now, c.begun = func() time.Time { return w.now }, w.now
	c.start(&profile.Process{Program: "/bin/app"})
	return w
}

func (w *worker) launch(t *testing.T, seconds float64) {
	s := &w.seen
	if s.Launch == nil {
		s.Launch = launchOf(t, w.cubin, 0, 5)
		s.Launch.Process.Program = "/bin/app"
		s.Sets.Mask = []byte{1, 1, 1, 1, 1, 1, 1, 1, 0xff, 0xff, 0xff, 0xff}
	}
	w.now = w.now.Add(time.Duration(1e9*seconds) + 10*time.Microsecond)
	s.Launch.Count++
	if s.Launch.Count == 1 || s.Launch.Count == w.again {
		l := launchOf(t, w.cubin, s.Launch.Count, 5)
		l.Process.Program, l.Values = "/bin/app", valuesOf(5)
		so := *s
		so.Sets = profile.Sets{Mask: s.Sets.Mask, List: append([]profile.Set{}, s.Sets.List...)}
		if s.Launch.Count > 1 {
			l.SoFar = &so
		}
		again := w.c.launch(t.Context(), l, profile.Held{Capture: func(o profile.Order) (profile.Captured, error) {
			hold := 2 * time.Millisecond
			w.now = w.now.Add(hold)
			took := seconds + 5e-6
			if s.Launch.Count == 1 {
				took = 0 // the driver loads the kernel
			}
			kept := len(o.Want) == 0 || took == 0
			for _, x := range o.Want {
				kept = kept || took >= x.Least && took <= x.Most
			}
			if !kept {
				w.vain++
				return profile.Captured{Why: profile.Unwanted, Before: hold}, nil
			}
			w.took = append(w.took, took)
			return profile.Captured{Bytes: 1, Before: hold, Took: time.Duration(1e9 * took)}, os.WriteFile(o.Path, raw(), 0o600)
		}})
		w.c.wrote()
		if w.again = s.Launch.Count + again; again == 0 {
			w.again = 0
		}
	}
	s.Sets.Add(profile.Set{Values: valuesOf(5), Count: 1, Seconds: seconds, Sampled: 1,
		Classes: []profile.Class{{Low: profile.ClassOf(seconds), Launches: 1, Seconds: seconds}}})
	s.Seconds, s.Sampled, s.Classes = s.Seconds+seconds, s.Sampled+1, s.Sets.Classes()
}

// end keeps the run, and gives the part of the time that is of a class with a capture.
func (w *worker) end(t *testing.T) (captured float64) {
	w.c.end(w.seen.Launch.Process, profile.Summary{Whole: true, Kernels: []profile.Seen{w.seen}})
	run := w.c.Finish()
	if _, err := w.c.store.Observed("/bin/app", run); err != nil {
		t.Fatal(err)
	}
	var all float64
	for _, x := range run.Seen[0].Use.Classes {
		all += x.Seconds
		for _, m := range run.Seen[0].Captures {
			if span := about(x.Mean()); m.Took >= span.Least && m.Took <= span.Most {
				captured += x.Seconds
				break
			}
		}
	}
	return captured / all
}

// TestWorkDiffers: where launches of one configuration differ in work, those that take most of the
// time are captured, though there are few of them: in the first run or, where they are over before
// that is known, in the second. The program is not held up for more than captures may take, and what
// the store has is not captured again.
func TestWorkDiffers(t *testing.T) {
	for _, c := range []struct {
		kind          string
		n             int
		took          func(i int) float64
		first, second float64 // part of the time that has a capture of its class
	}{
		{"even", 400, func(int) float64 { return 1e-4 }, 0.99, 0.99},
		{"frontier", 75, func(i int) float64 {
			if i%15 >= 5 && i%15 < 8 {
				return 2e-4
			}
			return 16e-6
		}, 0.99, 0.99},
		{"queue", 400, func(i int) float64 {
			if i%20 == 19 {
				return 8e-4
			}
			return 2e-5
		}, 0.99, 0.99},
		{"triangle", 200, func(i int) float64 { return 1e-5 * float64(i+1) }, 0.65, 0.95},
		{"convergence", 60, func(i int) float64 {
			s := 1e-3
			for range i {
				s *= 0.9
			}
			return s
		}, 0.25, 0.6},
	} {
		s, err := Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		_, cubin := collector(t)
		var parts [2]float64
		var taken [2]int
		for run := range parts {
			w := newWorker(t, s, cubin)
			for i := range c.n {
				w.launch(t, c.took(i))
			}
			parts[run], taken[run] = w.end(t), len(w.took)
			if w.c.stood > stand || w.vain > mostInVain {
				t.Errorf("%s: held up for %v, %d captures in vain", c.kind, w.c.stood, w.vain)
			}
			t.Logf("simulated: %s, run %d: %.2f of the time, %d captures, %d in vain, held up for %v", c.kind, run, parts[run], len(w.took), w.vain, w.c.stood)
		}
		if parts[0] < c.first || parts[1] < c.second {
			t.Errorf("%s: %.2f and %.2f of the time", c.kind, parts[0], parts[1])
		}
		if parts[0] > 0.99 && taken[1] > 0 {
			t.Errorf("%s: %d captures again", c.kind, taken[1])
		}
	}
}
