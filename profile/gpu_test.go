package profile

// The whole loop on a real GPU: testdata/self.cu under the agent, every launch repeated with
// candidates. Skipped, loudly, where there is none. Set GNVCC_SELFTEST to a folder to keep what is
// built (and to bring it to a machine with a GPU).

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gnvcc/install/kits"
	"gnvcc/profile/agent"
)

// toolkit gives a toolkit's folder, or skips.
func toolkit(t testing.TB) string {
	t.Helper()
	return kits.Any(t).Dir
}

type built struct {
	dir, root, agent string
}

func (b built) path(name string) string { return filepath.Join(b.dir, name) }

// build builds what of the self-test is not there yet.
func build(t testing.TB) built {
	b := built{dir: os.Getenv("GNVCC_SELFTEST"), root: toolkit(t)}
	if b.dir == "" {
		b.dir = t.TempDir()
	}
	b.dir, _ = filepath.Abs(b.dir)
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	source, _ := filepath.Abs("testdata")
	nvcc := func(out string, args ...string) {
		if _, err := os.Stat(b.path(out)); err == nil {
			return
		}
		dir := t.TempDir()
		cmd := exec.Command(filepath.Join(b.root, "bin", "nvcc"),
			append([]string{"-std=c++17", "-arch=sm_90", "-o", filepath.Join(dir, "out")}, args...)...)
		cmd.Dir = dir
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("building %s: %v\n%s", out, err, text)
		}
		cubins, _ := filepath.Glob(filepath.Join(dir, "*.sm_90.cubin")) // of --keep
		for _, path := range cubins {
			if err := os.Rename(path, b.path(out+"."+filepath.Base(path))); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Rename(filepath.Join(dir, "out"), b.path(out)); err != nil {
			t.Fatal(err)
		}
	}
	self, other := filepath.Join(source, "self.cu"), filepath.Join(source, "other.cu")
	nvcc("self", "--keep", self, other)
	nvcc("rdc", "--keep", "-rdc=true", self, other)
	nvcc("cost", filepath.Join(source, "cost.cu"))
	for _, level := range []string{"1", "2"} {
		nvcc("self.O"+level, "-cubin", "-Xptxas", "-O"+level, self)
		nvcc("other.O"+level, "-cubin", "-Xptxas", "-O"+level, other)
	}
	for i, name := range []string{"wrong", "fault", "hang", "elsewhere"} {
		nvcc(name, "-cubin", fmt.Sprintf("-DSABOTAGE=%d", i+1), self)
	}
	var err error
	if b.agent, err = agent.Build(context.Background(), b.root, b.dir); err != nil {
		t.Fatal(err)
	}
	return b
}

// gpu skips where the self-test itself can't run.
func gpu(t testing.TB) built {
	if _, err := os.Stat("/dev/nvidiactl"); err != nil && os.Getenv("GNVCC_SELFTEST") == "" {
		t.Skip("SKIPPED: no NVIDIA GPU here: launches, measurements and comparisons were not tested")
	}
	b := build(t)
	out, err := exec.Command(b.path("self"), "managed").CombinedOutput()
	if err != nil {
		if strings.Contains(string(out), "driver version is insufficient") ||
			strings.Contains(string(out), "no CUDA-capable device") {
			t.Skip("SKIPPED: no NVIDIA GPU here: the agent was built and not run")
		}
		t.Fatalf("the self-test fails without the agent: %v\n%s", err, out)
	}
	return b
}

func hashOf(t testing.TB, path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// tester is a Decider that repeats every launch with candidates and keeps what it saw.
type tester struct {
	t          testing.TB
	candidates map[string][]string // by the hash of the original's cubin
	only       string              // kernels whose name has this; "": all
	again      int
	check      func(l *Launch, s Session, w Written, self Difference)

	mu        sync.Mutex
	processes []*Process
	launches  []*Launch
	tuned     map[string]int
	left      map[string]string
	summaries []Summary
	errs      []error
}

func (h *tester) Start(p *Process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.processes = append(h.processes, p)
}

func (h *tester) Launch(l *Launch) Verdict {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.launches = append(h.launches, l)
	if l.LeaveAlone != "" {
		h.left[l.Kernel] = l.LeaveAlone
	}
	return Verdict{Tune: h.only == "" || strings.Contains(l.Kernel, h.only)}
}

func (h *tester) LeftAlone(l *Launch, reason string) Verdict {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left[l.Kernel] = reason
	return Verdict{}
}

func (h *tester) End(p *Process, s Summary) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.summaries = append(h.summaries, s)
}

func (h *tester) Tune(ctx context.Context, l *Launch, s Session) Verdict {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tuned[l.Kernel]++
	fail := func(err error) Verdict {
		h.errs = append(h.errs, fmt.Errorf("%s: %w", l.Kernel, err))
		return Verdict{}
	}
	clock := []time.Time{time.Now()}
	w, err := s.Golden()
	if err != nil {
		return fail(err)
	}
	clock = append(clock, time.Now())
	self, err := s.Check(Original)
	if err != nil {
		return fail(err)
	}
	if !self.Same && !strings.Contains(l.Kernel, "racy") {
		h.t.Errorf("%s is not deterministic? %v", l.Kernel, self)
	}
	clock = append(clock, time.Now())
	base, err := s.Measure(Original, 5, Measurement{})
	if err != nil {
		return fail(err)
	}
	clock = append(clock, time.Now())
	cost := fmt.Sprintf("saved in %.1f ms", 1e3*s.(*session).Seconds)
	for i, what := range []string{"golden", "check", "5 runs"} {
		cost += fmt.Sprintf(", %s %.2f ms", what, 1e3*clock[i+1].Sub(clock[i]).Seconds())
	}
	line := fmt.Sprintf("%-28s %s; %d B in %d allocations, wrote %d B in %d; %.0f ns", l.Kernel, cost,
		l.Bytes, l.Allocations, w.Bytes, w.Allocations, base)
	for i, path := range h.candidates[l.Cubin] {
		c, a, err := s.Load(path, "")
		if err != nil {
			return fail(err)
		}
		if a.Registers == 0 || a.Binary != l.Binary {
			h.t.Errorf("%s: attributes of a candidate: %+v", l.Kernel, a)
		}
		d, err := s.Check(c)
		if err != nil {
			return fail(err)
		}
		if !d.Same && !strings.Contains(l.Kernel, "racy") {
			h.t.Errorf("%s, %s: %v", l.Kernel, filepath.Base(path), d)
		}
		ns, err := s.Measure(c, 3, Measurement{Cold: i == 0})
		if err != nil {
			return fail(err)
		}
		line += fmt.Sprintf(" %.0f", ns)
		if i > 0 { // the first one stays loaded
			if err := s.Unload(c); err != nil {
				return fail(err)
			}
		}
	}
	if len(h.candidates) > 0 && len(h.candidates[l.Cubin]) == 0 {
		h.t.Errorf("%s: module %s is none that was built", l.Kernel, l.Cubin)
	}
	h.t.Log(line)
	if h.check != nil {
		h.check(l, s, w, self)
	}
	return Verdict{Again: h.again}
}

func newTester(t testing.TB, b built) *tester {
	return &tester{t: t, tuned: map[string]int{}, left: map[string]string{},
		candidates: map[string][]string{
			hashOf(t, b.path("self.self.sm_90.cubin")):  {b.path("self.O1"), b.path("self.O2")},
			hashOf(t, b.path("self.other.sm_90.cubin")): {b.path("other.O1"), b.path("other.O2")},
		}}
}

// under runs an application under the agent and gives its output.
func under(t testing.TB, b built, h Decider, limit time.Duration, env []string,
	argv ...string) (string, Exit) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = w
	text := make(chan string)
	go func() {
		out, _ := io.ReadAll(r)
		text <- string(out)
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	exit, err := Run(ctx, Options{Argv: argv, Agent: b.agent, Limit: limit, Env: append(os.Environ(),
		env...), Log: t.Logf}, h)
	os.Stdout = stdout
	w.Close()
	out := <-text
	if err != nil {
		t.Fatal(err)
	}
	return out, exit
}

func reference(t testing.TB, argv ...string) string {
	out, err := exec.Command(argv[0], argv[1:]...).Output()
	if err != nil {
		t.Fatalf("%v without the agent: %v\n%s", argv, err, out)
	}
	return string(out)
}

func TestGPU(t *testing.T) {
	b := gpu(t)
	ok := func(t *testing.T, h *tester, want, out string, exit Exit, code int) {
		t.Helper()
		if out != want {
			t.Errorf("the application's output changed:\n%s\nwithout the agent:\n%s", out, want)
		}
		if exit.Code != code || exit.Killed != "" {
			t.Errorf("exit: %+v", exit)
		}
		for _, err := range h.errs {
			t.Error(err)
		}
	}

	t.Run("plain", func(t *testing.T) {
		h := newTester(t, b)
		h.again = 3
		h.check = func(l *Launch, s Session, w Written, self Difference) {
			switch {
			case strings.Contains(l.Kernel, "racy") && self.Same:
				t.Log("racy gave the same sum twice")
			case strings.Contains(l.Kernel, "spin"):
				ns, err := s.Measure(Original, 5, Measurement{})
				if err != nil || slices.Min(ns) < 200000 || slices.Min(ns) > 210000 {
					t.Errorf("200 µs measured as %v ns, %v", ns, err)
				}
			case strings.Contains(l.Kernel, "variables") && w.Allocations != 3:
				t.Errorf("variables wrote to %d ranges, not to 3", w.Allocations)
			}
			if _, _, err := s.Load("/nonexistent", ""); err == nil {
				t.Error("a file that is not there was loaded")
			}
			if err := s.Unload(77); err == nil {
				t.Error("a candidate that is not there was unloaded")
			}
		}
		start := time.Now()
		out, exit := under(t, b, h, 0, nil, b.path("self"), "plain")
		t.Logf("%d sessions in %v", len(h.tuned), time.Since(start))
		ok(t, h, reference(t, b.path("self"), "plain"), out, exit, 0)
		modules := map[string]bool{}
		for _, l := range h.launches {
			if strings.Contains(l.Kernel, "twin") {
				modules[l.Cubin] = true
			}
			if l.Kernel == "" || l.Device == nil || l.Registers == 0 || l.MaxThreads == 0 {
				t.Errorf("%+v", l)
			}
			if strings.Contains(l.Kernel, "dynamic") && (l.Dynamic != 80000 || l.MaxDynamic != 100000) {
				t.Errorf("dynamic: %d, %d", l.Dynamic, l.MaxDynamic)
			}
		}
		if len(modules) != 2 {
			t.Errorf("twin was seen in the modules %v", modules)
		}
		if len(h.left) > 0 {
			t.Errorf("left alone: %v", h.left)
		}
		if len(h.summaries) != 1 || !h.summaries[0].Whole {
			t.Fatalf("%+v", h.summaries)
		}
		for _, s := range h.summaries[0].Kernels {
			if !strings.Contains(s.Launch.Kernel, "inplace") {
				continue
			}
			// n went down by one each time: from 2^20 to 2^20-5.
			if s.Launch.Count != 6 || s.Varied != 5 || len(s.Launch.Params) != 3 ||
				slices.Contains(s.Launch.Params[0].Same, 0) ||
				!slices.Contains(s.Launch.Params[1].Same, 0) || s.Launch.Params[0].Align < 8 {
				t.Errorf("inplace: %+v of %+v", s, s.Launch)
			}
			if h.tuned[s.Launch.Kernel] != 2 { // at the first launch, and at the third from there
				t.Errorf("inplace was tuned %d times", h.tuned[s.Launch.Kernel])
			}
		}
	})
	t.Run("eager", func(t *testing.T) {
		h := newTester(t, b)
		out, exit := under(t, b, h, 0, []string{"CUDA_MODULE_LOADING=EAGER"}, b.path("self"), "plain")
		ok(t, h, reference(t, b.path("self"), "plain"), out, exit, 0)
		t.Logf("left alone: %v", h.left)
	})
	t.Run("rdc", func(t *testing.T) {
		h := newTester(t, b)
		h.candidates = map[string][]string{hashOf(t, b.path("rdc.out_dlink.sm_90.cubin")): {b.path(
			"rdc.out_dlink.sm_90.cubin")}}
		out, exit := under(t, b, h, 0, nil, b.path("rdc"), "plain")
		ok(t, h, reference(t, b.path("rdc"), "plain"), out, exit, 0)
	})
	for _, what := range []string{"threads", "mapped", "tight", "large", "many", "fork"} {
		t.Run(what, func(t *testing.T) {
			h := newTester(t, b)
			start := time.Now()
			out, exit := under(t, b, h, 0, nil, b.path("self"), what)
			t.Logf("%v", time.Since(start))
			ok(t, h, reference(t, b.path("self"), what), out, exit, 0)
			if len(h.tuned) == 0 || len(h.left) > 0 {
				t.Errorf("tuned %v, left alone %v", h.tuned, h.left)
			}
			for _, s := range h.summaries {
				if !s.Whole {
					t.Errorf("%+v", s)
				}
				n := 0
				for _, k := range s.Kernels {
					n += k.Launch.Count
				}
				if what == "threads" && (n != 4*200*2 || len(s.Kernels) != 5) {
					t.Errorf("%d launches of %d configurations counted, 1600 of 5 made", n, len(s.Kernels))
				}
				if (what == "tight") != strings.Contains(strings.Join(s.Notes, " "), "on the host") {
					t.Errorf("notes: %q", s.Notes)
				}
			}
			if what == "fork" && len(h.processes) != 2 {
				t.Errorf("%d processes", len(h.processes))
			}
		})
	}
	t.Run("driver", func(t *testing.T) {
		h := newTester(t, b)
		h.candidates = map[string][]string{hashOf(t, b.path("self.O2")): {b.path("self.O1"),
			b.path("self.self.sm_90.cubin")}}
		argv := []string{b.path("self"), "driver", b.path("self.O2")}
		out, exit := under(t, b, h, 0, nil, argv...)
		ok(t, h, reference(t, argv...), out, exit, 0)
		if h.tuned["_Z9variablesPf"] != 2 || h.tuned["_Z7inplacePfiS_"] != 1 || len(h.left) > 0 {
			t.Errorf("tuned %v, left alone %v", h.tuned, h.left)
		}
		for _, l := range h.launches {
			if strings.Contains(l.Kernel, "inplace") && (len(l.Params) != 3 ||
				l.Params[1].Value[0] != 4000%256 || l.Params[1].Value[1] != 4000/256) {
				t.Errorf("parameters in a buffer: %+v", l.Params)
			}
		}
	})
	t.Run("gnvcc dies", func(t *testing.T) {
		h := newTester(t, b)
		h.candidates = nil
		h.check = func(l *Launch, s Session, w Written, self Difference) {
			s.(*session).p.conn.Close() // in the middle of a session, with memory as the original left it
		}
		out, exit := under(t, b, h, 0, nil, b.path("self"), "plain")
		ok(t, h, reference(t, b.path("self"), "plain"), out, exit, 0)
		if len(h.tuned) != 1 || h.summaries[0].Whole {
			t.Errorf("%v %+v", h.tuned, h.summaries)
		}
	})
	for what, reasons := range map[string]map[string]string{
		"alone": {"loud": "printf", "inplace": "captured"},
		"full":  {"inplace": "neither on the device nor on the host"},
		"waits": {"inplace": "busy with work that waits"},
	} {
		t.Run(what, func(t *testing.T) {
			h := newTester(t, b)
			out, exit := under(t, b, h, 0, nil, b.path("self"), what)
			ok(t, h, reference(t, b.path("self"), what), out, exit, 0)
			for kernel, reason := range reasons {
				found := false
				for k, why := range h.left {
					found = found || strings.Contains(k, kernel) && strings.Contains(why, reason)
				}
				if !found {
					t.Errorf("%s was not left alone for %q: %v", kernel, reason, h.left)
				}
			}
			if what == "alone" && h.summaries[0].Graphs != 3 {
				t.Errorf("%d graph launches", h.summaries[0].Graphs)
			}
		})
	}
	for what, code := range map[string]int{"crash": 134, "exit": 5} {
		t.Run(what, func(t *testing.T) {
			h := newTester(t, b)
			h.only = "none"
			_, exit := under(t, b, h, 0, nil, b.path("self"), what)
			if exit.Code != code || len(h.summaries) != 1 || h.summaries[0].Whole ||
				len(h.summaries[0].Kernels) == 0 {
				t.Errorf("%+v, %+v", exit, h.summaries)
			}
		})
	}

	sabotage := func(name string, f func(t *testing.T, c Candidate, s Session) error) func(
		*testing.T) {
		return func(t *testing.T) {
			h := newTester(t, b)
			h.only, h.candidates = "inplace", nil
			var got error
			h.check = func(l *Launch, s Session, w Written, self Difference) {
				c, _, err := s.Load(b.path(name), "")
				if err != nil {
					t.Error(err)
					return
				}
				got = f(t, c, s)
			}
			start := time.Now()
			out, exit := under(t, b, h, 2*time.Second, nil, b.path("self"), "plain")
			t.Logf("%v after %v: %+v", got, time.Since(start), exit)
			var fault *Fault
			switch {
			case name == "fault":
				if !errors.As(got, &fault) || exit.Code != 9 || !strings.Contains(out, "illegal") &&
					!strings.Contains(out, "misaligned") {
					t.Errorf("%v, exit %+v, output\n%s", got, exit, out)
				}
			case name == "hang":
				if got != ErrHung || exit.Killed == "" || exit.Code != 137 {
					t.Errorf("%v, exit %+v", got, exit)
				}
			default:
				ok(t, h, reference(t, b.path("self"), "plain"), out, exit, 0)
			}
		}
	}
	t.Run("wrong", sabotage("wrong", func(t *testing.T, c Candidate, s Session) error {
		d, err := s.Check(c)
		if err != nil || d.Same || d.Words != 1 || d.Offset != 4*4321 || d.Size != 4<<20 ||
			d.Relative32 <= 0 || d.Relative32 > 1 || d.Mean32 <= 0 || d.Mean32 > d.Relative32/1000 ||
			d.Want == d.Got {
			t.Errorf("%+v, %v", d, err)
		}
		t.Log(d)
		if d, err = s.Check(Original); err != nil || !d.Same {
			t.Errorf("the original after a wrong candidate: %+v, %v", d, err)
		}
		return err
	}))
	t.Run("elsewhere", sabotage("elsewhere", func(t *testing.T, c Candidate, s Session) error {
		d, err := s.Check(c)
		if err != nil || d.Same || d.Words != 1 || d.Offset != 20 || d.Size != 4096 || d.Want != 0 {
			t.Errorf("%+v, %v", d, err)
		}
		if d, err = s.Check(Original); err != nil || !d.Same {
			t.Errorf("the original after a wrong candidate: %+v, %v", d, err)
		}
		// writes there again, and nobody checks: it must be put back all the same
		_, err = s.Measure(c, 2, Measurement{})
		return err
	}))
	// Under other schedules a deterministic kernel leaves the same bits, and a wrong candidate of it
	// others; one in which the last of several writers decides shows it.
	t.Run("schedules", func(t *testing.T) {
		h := newTester(t, b)
		h.candidates = nil
		asked := map[string]int{}
		h.check = func(l *Launch, s Session, w Written, self Difference) {
			races := strings.Contains(l.Kernel, "lastWriter")
			asked[l.Kernel]++
			for _, o := range []Schedule{{}, {Cold: true}, {Dynamic: 116000}, {true, 116000},
				{Dynamic: 200000}, {}} {
				d, err := s.CheckUnder(Original, o)
				if err != nil || d.Same == (races && o.Dynamic > 0) {
					t.Errorf("%s, %+v: %v, %v", l.Kernel, o, d, err)
				}
				t.Logf("%s, %+v: %v, %.0f ns", l.Kernel, o, d, d.Time)
			}
			if races {
				return
			}
			c, _, err := s.Load(b.path("wrong"), "")
			if err != nil {
				t.Error(err)
				return
			}
			if d, err := s.Check(c); err != nil || d.Same {
				t.Errorf("a wrong candidate: %+v, %v", d, err)
			}
		}
		out, exit := under(t, b, h, 2*time.Second, nil, b.path("self"), "schedules")
		ok(t, h, reference(t, b.path("self"), "schedules"), out, exit, 0)
		if len(asked) != 2 {
			t.Errorf("asked: %v", asked)
		}
	})
	t.Run("fault", sabotage("fault", func(t *testing.T, c Candidate, s Session) error {
		_, err := s.Check(c)
		if _, again := s.Measure(Original, 1, Measurement{}); again == nil {
			t.Error("a session went on after a fault")
		}
		return err
	}))
	t.Run("hang", sabotage("hang", func(t *testing.T, c Candidate, s Session) error {
		_, err := s.Check(c)
		return err
	}))
}

// An application of the tester's own choice, GNVCC_TEST_APP, each of its launches repeated with the
// original: it must print the same.
func TestApplication(t *testing.T) {
	app := strings.Fields(os.Getenv("GNVCC_TEST_APP"))
	if len(app) == 0 {
		t.Skip("skipped: no application was named in GNVCC_TEST_APP")
	}
	b := gpu(t)
	h := newTester(t, b)
	h.candidates = nil
	start := time.Now()
	want := reference(t, app...)
	middle := time.Now()
	out, exit := under(t, b, h, 0, nil, app...)
	t.Logf(
		"%v without the agent, %v with it, %d launches asked about, %d kernels repeated, left alone: %v",
		middle.Sub(start), time.Since(middle), len(h.launches), len(h.tuned), h.left)
	if out != want || exit.Code != 0 {
		t.Errorf("%+v\n%s\nwithout the agent:\n%s", exit, out, want)
	}
	for _, err := range h.errs {
		t.Error(err)
	}
}

// What the agent costs a launch that nobody asks about: the target is less than a microsecond.
func TestCost(t *testing.T) {
	b := gpu(t)
	for range 3 {
		h := newTester(t, b)
		h.only = "none"
		out, exit := under(t, b, h, 0, nil, b.path("cost"))
		if exit.Code != 0 {
			t.Fatalf("%+v", exit)
		}
		t.Logf("µs per launch: %s without the agent, %s with it",
			strings.TrimSpace(reference(t, b.path("cost"))), strings.TrimSpace(out))
	}
}
