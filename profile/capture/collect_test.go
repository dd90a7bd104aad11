package capture

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gnvcc/profile"
)

// launchOf is a launch of k(pointer, v), the nth of its configuration.
func launchOf(t *testing.T, cubin string, nth int, v byte) *profile.Launch {
	t.Helper()
	return &profile.Launch{Process: &profile.Process{PID: 7, Program: "/bin/app", Driver: 13000},
		Device: &profile.Device{Name: "NVIDIA Test", UUID: strings.Repeat("0a", 16)},
		Kernel: "k", Cubin: "c", CubinPath: cubin, Shape: profile.Shape{Grid: [3]int{8, 1, 1}, Block: [3]int{128, 1, 1}},
		Count: nth,
		Params: []profile.Param{{Size: 8, Value: []byte{byte(nth), 0, 0, 0, 0, 0x7f, 0, 0},
			Same: make([]byte, 8)}, {Offset: 8, Size: 4, Value: []byte{v, 0, 0, 0},
			Same: []byte{0, 1, 1, 1}}}}
}

func collector(t *testing.T) (*Collector, string) {
	t.Helper()
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cubin := filepath.Join(t.TempDir(), "cubin")
	if err := os.WriteFile(cubin, []byte("a cubin"), 0o600); err != nil {
		t.Fatal(err)
	}
	return NewCollector(s, Usual, t.TempDir(), nil, nil), cubin
}

// play plays the agent: it writes what is asked for.
func (c *Collector) play(t *testing.T, l *profile.Launch, content []byte) (again int) {
	t.Helper()
	defer c.wrote()
	return c.launch(t.Context(), l, profile.Held{Capture: func(o profile.Order) (profile.Captured, error) {
		if err := os.WriteFile(o.Path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return profile.Captured{Bytes: int64(len(content))}, nil
	}})
}

// wrote plays the agent, which has written all files.
func (c *Collector) wrote() {
	for path := range c.unwritten {
		c.written(nil, path, 1, "")
	}
}

// asks tells whether a launch is to be captured.
func (c *Collector) asks(l *profile.Launch) bool {
	x, _ := c.begin(l)
	return x != nil
}

// The first launches with other values, as long as that is cheap; pointers are no values.
func TestCollects(t *testing.T) {
	c, cubin := collector(t)
	c.start(&profile.Process{})
	var asked []int
	values := map[int]byte{1: 5, 2: 5, 4: 6, 8: 7, 16: 8, 32: 9, 64: 10}
	for _, nth := range []int{1, 2, 4, 8, 16, 32, 64} {
		before := len(c.shape(launchOf(t, cubin, nth, values[nth])).captures)
		l := launchOf(t, cubin, nth, values[nth])
		l.Values = []byte{1, 0, 0, 0, 0, 0, 0, 0, values[nth], 0, 0, 0}
		c.play(t, l, raw())
		if len(c.shape(l).captures) > before {
			asked = append(asked, nth)
		}
	}
	if !slices.Equal(asked, []int{1, 4, 8}) {
		t.Errorf("captured at launches %v", asked)
	}
	last := launchOf(t, cubin, 64, 5)
	c.end(last.Process, profile.Summary{Whole: true, Kernels: []profile.Seen{{Launch: last, Varied: 60,
		Seconds: 3, Sampled: 5}}})
	run := c.Finish()
	if at := run.Times; at.Driver <= 0 || at.Launch < at.Driver || at.End <= at.Launch {
		t.Errorf("times: %+v", at)
	}
	if len(run.Seen) != 1 || len(run.Seen[0].Captures) != 3 || len(run.Notes) > 0 {
		t.Fatalf("%+v", run)
	}
	list, _ := c.store.List()
	if len(list) != 3 || list[0].Use.Count != 64 || list[0].Weight() != 1 {
		t.Errorf("%d captures, %+v", len(list), list[0].Use)
	}
	// What varied in the program is not constant in a replay.
	l := launchOf(t, cubin, 2, 5)
	l.Params[1].Same = []byte{1, 1, 1, 1}
	list[0].Use.Apply(l)
	if l.Params[1].Same[0] != 0 || l.Count != 64/3 {
		t.Errorf("%+v", l)
	}
	if left, _ := os.ReadDir(c.dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestNodes: what became nodes of graphs alone is no launch of the configuration, in whatever order
// it comes, and graphs that nobody saw into are summed up by reason.
func TestNodes(t *testing.T) {
	for _, turn := range []bool{false, true} {
		c, cubin := collector(t)
		c.start(&profile.Process{})
		launched, node := launchOf(t, cubin, 8, 5), launchOf(t, cubin, 0, 5)
		list := []profile.Seen{{Launch: launched, Seconds: 4, Sampled: 2, Rows: 7}, {Launch: node}}
		if turn {
			slices.Reverse(list)
		}
		wide := profile.Unseen{Why: "wide", Launches: 2, Seconds: 1}
		c.end(launched.Process, profile.Summary{Whole: true, Kernels: list,
			Unseen: []profile.Unseen{wide, {Why: "other"}}})
		c.end(launched.Process, profile.Summary{Whole: true, Unseen: []profile.Unseen{wide}})
		run := c.Finish()
		if once := (Use{Count: 100}).join(Use{Count: 3, passed: 3}); once.Past || once.Count != 103 ||
			!(Use{Count: 9, passed: 9}).join(Use{Count: 90}).Past {
			t.Errorf("a few launches past the host stub: %+v", once)
		}
		if len(run.Seen) != 1 || run.Seen[0].Use.Count != 8 || !run.Seen[0].Use.Row {
			t.Errorf("%+v", run.Seen)
		}
		if len(run.Unseen) != 2 || run.Unseen[0].Launches != 4 || run.Unseen[0].Seconds != 2 {
			t.Errorf("%+v", run.Unseen)
		}
		for range 2 {
			if _, err := c.store.ObservedAll("/bin/none", run); err != nil {
				t.Fatal(err)
			}
		}
		p, err := c.store.Profile(cmp.Or(launched.Process.Program, "/bin/none"))
		if err != nil || len(p.Unseen) != 2 || p.Unseen[0].Seconds != 4 || p.Seconds != 8 {
			t.Errorf("%+v, %v", p, err)
		}
	}
}

// What is given up is tried a few times; what can't be captured is told; a file that is damaged,
// too.
func TestGivenUp(t *testing.T) {
	c, cubin := collector(t)
	tries := 0
	for nth := 1; nth < 100; nth++ {
		l := launchOf(t, cubin, nth, 1)
		if x, _ := c.begin(l); x != nil {
			tries++
			c.taken(l, x, profile.Captured{}, errors.New("the device is busy"))
		}
	}
	seen := c.Finish().Seen
	if tries != mostTries || seen[0].Why != "the device is busy" {
		t.Errorf("%d tries, %q", tries, seen[0].Why)
	}
	c, cubin = collector(t)
	l := launchOf(t, cubin, 1, 1)
	l.LeaveAlone = "it prints"
	if c.asks(l) || c.order[0].why != "it prints" {
		t.Error(c.order[0].why)
	}
	c, cubin = collector(t)
	c.play(t, launchOf(t, cubin, 1, 1), raw()[:100])
	if seen := c.Finish().Seen; len(seen[0].Captures) != 0 || !strings.Contains(seen[0].Why,
		"damaged") {
		t.Errorf("%+v", seen[0])
	}
	c, cubin = collector(t)
	c.limits.Run = 10
	c.play(t, launchOf(t, cubin, 1, 1), raw())
	if c.asks(launchOf(t, cubin, 2, 2)) {
		t.Error("beyond the run's limit")
	}
	c.Finish()
}

// Profiles add up over runs.
func TestProfile(t *testing.T) {
	c, cubin := collector(t)
	l := launchOf(t, cubin, 10, 1)
	seen := Run{Peak: 5, Lines: []Line{{Kernel: l.Kernel, Cubin: l.Cubin, Shape: profile.Shape{Grid: l.Grid}, Count: 10,
		Seconds: 2, Sampled: 4}}}
	for range 2 {
		if _, err := c.store.Observed("/bin/app", seen); err != nil {
			t.Fatal(err)
		}
	}
	p, err := c.store.Profile("/bin/app")
	if err != nil || p.Runs != 2 || len(p.Shapes) != 1 || p.Shapes[0].Count != 20 || p.Seconds != 4 ||
		p.Peak != 5 || len(c.store.Profiles()) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	os.WriteFile(c.store.profilePath("/bin/app"), []byte("{"), 0o600)
	if _, err := c.store.Profile("/bin/app"); err == nil {
		t.Error("a damaged profile was read")
	}
	if p, err = c.store.Observed("/bin/app", seen); err != nil || p.Runs != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

// Whether a kernel is of any use may take long to find out: a launch does not wait for that, and
// what was captured meanwhile is not kept.
func TestSlowJudgement(t *testing.T) {
	c, cubin := collector(t)
	answer, asked := make(chan error), 0
	c.wanted = func(l *profile.Launch) error {
		asked++
		return <-answer
	}
	l := launchOf(t, cubin, 1, 1)
	begun := time.Now()
	c.play(t, l, raw())
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("the program waited %v", took)
	}
	if len(c.order[0].captures) != 1 {
		t.Fatal("a launch of a kernel that nobody knows to be of no use is not captured")
	}
	answer <- errors.New("of no use")
	<-c.kernel(l).done
	if x, again := c.begin(launchOf(t, cubin, 2, 2)); x != nil || again != 0 {
		t.Errorf("asked again (%d), or captured", again)
	}
	c.end(l.Process, profile.Summary{Whole: true, Kernels: []profile.Seen{{Launch: l, Seconds: 1,
		Sampled: 1}}})
	seen := c.Finish().Seen
	if list, _ := c.store.List(); len(list) > 0 || len(seen) != 1 || len(seen[0].Captures) > 0 ||
		seen[0].Why != "of no use" || asked != 1 {
		t.Errorf("%d captures kept, asked %d times: %+v", len(list), asked, seen)
	}
}

// TestProcessesAtOnce: of several processes that launch the same, each has a file of its own; one
// that is killed in the midst leaves none, and all that they stood still counts, also for what came
// to nothing.
func TestProcessesAtOnce(t *testing.T) {
	c, cubin := collector(t)
	now := time.Now()
	c.now, c.begun = func() time.Time { return now }, now
	launch := func(pid, grid int) *profile.Launch {
		l := launchOf(t, cubin, 1, 1)
		l.Process.PID, l.Grid[0], l.Bytes = pid, grid, 1<<20
		l.Kernel = string(rune('k' + grid - 8))
		l.Device.UUID = strings.Repeat(string(rune('a'+pid)), 32)
		return l
	}
	a, b, other := launch(0, 8), launch(1, 8), launch(2, 9)
	xa, _ := c.begin(a)
	xb, again := c.begin(b)
	xo, _ := c.begin(other)
	if xa == nil || xb != nil || again == 0 || xo == nil {
		t.Fatalf("%+v, %+v, %+v", xa, xb, xo)
	}
	for _, x := range []*taken{xa, xo} {
		if err := os.WriteFile(x.order.Path, raw(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(10 * time.Millisecond)
	c.taken(other, xo, profile.Captured{}, profile.ErrGone) // kill -9
	if _, err := os.Stat(xo.order.Path); err == nil {
		t.Error("a killed process' file stays")
	}
	c.taken(a, xa, profile.Captured{Bytes: 1, Before: 10 * time.Millisecond, After: 10 * time.Millisecond}, nil)
	if c.stood != 30*time.Millisecond {
		t.Errorf("stood still for %v", c.stood)
	}
	c.wrote()
	c.pack.Wait()
	if got := c.order[0].captures; len(got) != 1 || got[0].m.UUID != a.Device.UUID {
		t.Errorf("%+v", got)
	}
	late := launch(3, 10)
	x, _ := c.begin(late)
	if x == nil {
		t.Fatal(c.shape(late).why)
	}
	c.taken(late, x, profile.Captured{Why: "CPU threads write", Before: 10 * time.Millisecond,
		After: 20 * time.Millisecond}, nil)
	if c.stood != 60*time.Millisecond || c.kernel(late).tries != 1 {
		t.Errorf("stood still for %v, %d tries", c.stood, c.kernel(late).tries)
	}
	// One capture gets a part of the time that is left; what it is not enough for is tried again when
	// there is twice as much.
	slow := launch(4, 11)
	if x, _ = c.begin(slow); x == nil || x.order.Stand != 940*time.Millisecond {
		t.Fatalf("%+v: %s", x, c.shape(slow).why)
	}
	now = now.Add(x.order.Stand)
	c.taken(slow, x, profile.Captured{}, errors.New(profile.TooSlow))
	c.stood = 3 * time.Second
	if s := c.shape(slow); c.asks(slow) || s.why != c.nextRun() {
		t.Errorf("tried again, or %q", s.why)
	}
	now = now.Add(time.Hour)
	if x, _ = c.begin(slow); x == nil || x.order.Stand < 1880*time.Millisecond {
		t.Errorf("not tried again: %+v", x)
	}
	delete(c.underWay, x)
	if left, _ := os.ReadDir(c.dir); len(left) > 0 || len(c.underWay) > 0 {
		t.Errorf("left behind: %v, %v", left, c.underWay)
	}
	// Together they may take what one may.
	c.limits.Run = c.bytes + 1<<20
	now = now.Add(time.Hour)
	if !c.asks(launch(5, 12)) {
		t.Fatal("not captured")
	}
	if x, again := c.begin(launch(6, 13)); x != nil || again == 0 {
		t.Errorf("two at once with room for one: %+v, %d", x, again)
	}
}
