package capture

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gnvcc/profile"
)

// SIMULATED programs whose captures are slow, in simulated time: which of their launches are
// captured, and what part of their time that is.

// A slow is such a program.
type slow struct {
	t       *testing.T
	c       *Collector
	cubin   string
	now     time.Time
	hold    time.Duration // that a capture holds it up
	configs map[string]*slowConfig
	order   []*slowConfig
}

type slowConfig struct {
	seen  profile.Seen
	again map[string]int // count of a set at which to ask
	quiet bool
}

func newSlow(t *testing.T, hold time.Duration, known *Profile) *slow {
	c, cubin := collector(t)
	c.knows(known)
	p := &slow{t: t, c: c, cubin: cubin, now: time.Unix(1, 0), hold: hold,
		configs: map[string]*slowConfig{}}
	c.now = func() time.Time { return p.now }
	c.begun = p.now
	return p
}

// launch plays a launch of a kernel with so many blocks and threads, a value (a step: one that
// tells no sets apart), and its seconds, as an agent does.
func (p *slow) launch(kernel string, blocks, threads int, value uint32, step bool,
	seconds float64) {
	l := launchOf(p.t, p.cubin, 0, 0)
	l.Process.Program = "/bin/app"
	l.Kernel, l.Grid, l.Block = kernel, [3]int{blocks, 1, 1}, [3]int{threads, 1, 1}
	key := familyOf(kernel, "", blocks)
	s := p.configs[key]
	if s == nil {
		s = &slowConfig{again: map[string]int{}}
		s.seen.Launch = l
		l.Params[1].Same = []byte{1, 1, 1, 1}
		s.seen.Sets.Mask = []byte{1, 1, 1, 1, 1, 1, 1, 1, 0xff, 0xff, 0xff, 0xff}
		if step {
			s.seen.Sets.Mask = []byte{1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}
		}
		p.configs[key], p.order = s, append(p.order, s)
	}
	x := &s.seen
	first := x.Sets.Find(valuesOf(value)) < 0
	x.Launch.Count++
	l.Count, l.Values = x.Launch.Count, valuesOf(value)
	x.Sets.Add(profile.Set{Values: l.Values, Count: 1, Seconds: seconds, Sampled: 1})
	x.Seconds, x.Sampled = x.Seconds+seconds, x.Sampled+1
	p.now = p.now.Add(time.Duration(seconds * 1e9))
	set := x.Sets.List[x.Sets.Find(l.Values)]
	if s.quiet || !first && set.Count != s.again[string(set.Values)] {
		return
	}
	so := *x // of the launches before
	so.Seconds -= seconds
	so.Sets.List = slices.Clone(so.Sets.List)
	so.Sets.List[x.Sets.Find(l.Values)].Seconds -= seconds
	l.SoFar = &so
	again := p.c.launch(p.t.Context(), l, profile.Held{Capture: func(o profile.Order) (profile.Captured, error) {
		if p.now = p.now.Add(min(p.hold, o.Stand)); p.hold > o.Stand {
			return profile.Captured{}, errors.New(profile.TooSlow)
		}
		return profile.Captured{Bytes: 1, Before: p.hold}, os.WriteFile(o.Path, named(kernel), 0o600)
	}})
	p.c.wrote()
	s.again[string(set.Values)] = set.Count + again
	s.quiet = again == 0
}

// named is a capture of a kernel, if its name has one letter.
func named(kernel string) []byte {
	if len(kernel) != 1 {
		return raw()
	}
	return bytes.Replace(raw(), str("k"), str(kernel), 1)
}

// end gives what was seen, and which part of the time has a capture.
func (p *slow) end() (run Run, captured float64) {
	sum := profile.Summary{Whole: true}
	for _, s := range p.order {
		sum.Kernels = append(sum.Kernels, s.seen)
	}
	p.c.end(p.order[0].seen.Launch.Process, sum)
	run = p.c.Finish()
	all := 0.0
	for _, s := range run.Seen {
		if all += s.Use.Seconds; len(s.Captures) > 0 {
			captured += s.Use.Seconds
		}
	}
	return run, captured / all
}

// fourier plays a program like NPB FT: 14 kernels, of which three have two thirds of the time, and
// most of that with a value that comes after each was launched with another one.
func fourier(p *slow) {
	transform := func(direction uint32) {
		for _, d := range []string{"1", "2", "3"} {
			p.launch("before"+d, 8, 128, 0, false, 2.7e-3)
			p.launch("transform"+d, 8, 128, direction, false, 15.4e-3)
			p.launch("after"+d, 8, 128, 0, false, 2.5e-3)
		}
	}
	for range 2 {
		p.launch("indices", 8, 128, 0, false, 2.5e-3)
		p.launch("conditions", 8, 128, 0, false, 51e-3)
		p.launch("zero", 8, 128, 0, false, 2.5e-3)
		transform(1)
	}
	for range 20 {
		p.launch("evolve", 8, 128, 0, false, 2.5e-3)
		transform(2)
		p.launch("checksum", 8, 128, 0, false, 2e-6)
	}
}

// TestSlowCaptures: where captures take so long that there is no time for all, what is known to be
// heavy is captured, though what came first has held the program up for long.
func TestSlowCaptures(t *testing.T) {
	p := newSlow(t, 25*time.Millisecond, nil)
	fourier(p)
	run, captured := p.end()
	t.Logf("simulated: %.1f %% of the time is captured; the program was held up for %v", 100*captured,
		run.Cost.Held)
	if captured < 0.9 || run.Cost.Held > p.c.allowance() {
		t.Errorf("%.1f %% of the time is captured, in %v", 100*captured, run.Cost.Held)
	}
}

// front plays a program like NPB LU: two kernels whose grids and blocks grow with a front that
// moves through an array, stay for a while, and shrink; and before them two dozen light ones.
func front(p *slow) {
	for n := range 19 {
		p.launch("light"+string(rune('a'+n)), 8, 128, 0, false, 1e-4)
	}
	for range 100 {
		for _, kernel := range []string{"lower", "upper"} {
			for plane := range 480 {
				n := min(plane+1, 160, 480-plane)
				p.launch(kernel, n, n, uint32(plane), n == 160, 6e-6)
			}
		}
		p.launch("rest", 1000, 128, 0, false, 2e-3)
	}
}

// TestSlowFront: sizes of which none weighs anything, and all together most of the time, are
// captured also where what came first has held the program up for long: few of them, apart.
func TestSlowFront(t *testing.T) {
	p := newSlow(t, 8*time.Millisecond, nil)
	front(p)
	run, _ := p.end()
	sizes := map[string][]int{}
	for _, s := range run.Seen {
		if len(s.Captures) > 0 {
			sizes[s.Launch.Kernel] = append(sizes[s.Launch.Kernel], s.Launch.Grid[0])
		} else if s.Why != "" || s.Use.Set != "" {
			t.Errorf("%s of %v blocks, %q: %s", s.Launch.Kernel, s.Launch.Grid, s.Use.Set, s.Why)
		}
	}
	for _, kernel := range []string{"lower", "upper"} {
		list := sizes[kernel]
		slices.Sort(list)
		if len(list) < 5 || len(list) > mostSizes+1 || list[0] > 2 || list[len(list)-1] != 160 {
			t.Errorf("%s: blocks of %v are captured", kernel, list)
		}
	}
	t.Logf("simulated: %v; the program was held up for %v", sizes, run.Cost.Held)
	if run.Cost.Held > p.c.allowance() {
		t.Errorf("held up for %v", run.Cost.Held)
	}
}

// TestWideProgram: 41 kernels whose captures hold the program up for 150 ms each: each run captures
// what there is time for, none what another has, until all are there; and says one reason for the rest.
func TestWideProgram(t *testing.T) {
	first := newSlow(t, 150*time.Millisecond, nil)
	parts, kernels := []float64{}, map[string]bool{}
	for run := range 8 {
		p := first
		if run > 0 {
			p = newSlow(t, 150*time.Millisecond, nil)
			p.c.store, p.cubin = first.c.store, first.cubin
		}
		p.c.start(&profile.Process{Program: "/bin/app"})
		for range 50 {
			for k := range 41 {
				p.launch(string(rune('A'+k)), 8, 128, 5, false, 1e-3)
			}
		}
		got, captured := p.end()
		if parts = append(parts, captured); got.Cost.Held > p.c.allowance() {
			t.Errorf("run %d: held up for %v", run, got.Cost.Held)
		}
		for _, s := range got.Seen {
			if len(s.Captures) == 0 && s.Why != p.c.nextRun() {
				t.Errorf("run %d: %s: %q", run, s.Launch.Kernel, s.Why)
			}
			for _, m := range s.Captures {
				kernels[m.Kernel] = true
			}
		}
		if _, err := p.c.store.Observed("/bin/app", got); err != nil {
			t.Fatal(err)
		}
	}
	if parts[0] < 0.6 || parts[0] > 0.9 || parts[len(parts)-1] < 0.99 || len(kernels) != 41 {
		t.Errorf("parts of the time with a capture, run by run: %.2f, %d kernels", parts, len(kernels))
	}
	t.Logf("simulated: %.2f of the time has a capture, run by run", parts)
}

// flat plays a program like CloverLeaf: kernels that set up and are launched once, or a few times, and
// then steps of many kernels of which none has a twentieth of the time. scale is how long they take.
func flat(p *slow, steps int, scale float64) {
	for n := range 30 {
		for range 1 + 3*(n%4/3) { // some once for each state
			p.launch(fmt.Sprint("init", n), 8, 128, 0, false, 2*scale)
		}
	}
	for range steps {
		for n := range 50 {
			p.launch(fmt.Sprint("step", n), 8, 128, 5, false, scale*(0.5+float64(n)/50))
		}
	}
}

// TestFlatProgram: of a program whose time many kernels share, most has a capture after the first run;
// what comes first does not use up the time for captures, and where that is not enough for all, it is
// the heaviest that have one.
func TestFlatProgram(t *testing.T) {
	for _, x := range []struct {
		name  string
		steps int
		scale float64
		hold  time.Duration
		least float64
	}{
		{"short launches", 400, 4e-6, 8 * time.Millisecond, 0.98},
		{"long launches", 100, 2e-4, 60 * time.Millisecond, 0.98},
		{"dear captures", 200, 2e-4, 130 * time.Millisecond, 0.6},
	} {
		p := newSlow(t, x.hold, nil)
		p.c.start(&profile.Process{Program: "/bin/app"})
		flat(p, x.steps, x.scale)
		run, captured := p.end()
		var before int
		var last []string
		for _, s := range run.Seen {
			if len(s.Captures) == 0 {
				last = append(last, s.Launch.Kernel)
			} else if strings.HasPrefix(s.Launch.Kernel, "init") {
				before++
			}
		}
		t.Logf("simulated: %s: %.2f of the time has a capture, in %v; %d that set up; without: %v", x.name, captured,
			run.Cost.Held, before, last)
		if captured < x.least || run.Cost.Held > p.c.allowance() {
			t.Errorf("%s: %.2f of the time has a capture, in %v", x.name, captured, run.Cost.Held)
		}
	}
}
