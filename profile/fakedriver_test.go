package profile

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gnvcc/profile/agent"
)

// A fakeDriver is the agent with a driver and a CUPTI of the test's own, which fail where they are
// told to: the real ones never do, and are not on every machine. testdata/driver.c, cupti.c and
// app.c are the three.
type fakeDriver struct{ dir, agent string }

// It is built once for all tests, which write nothing into its folder; TestMain removes it.
var shared struct {
	once   sync.Once
	driver fakeDriver
	err    error
}

func newFakeDriver(t testing.TB) fakeDriver {
	t.Helper()
	root := toolkit(t)
	shared.once.Do(func() { shared.driver, shared.err = buildFakeDriver(root) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.driver
}

func buildFakeDriver(root string) (f fakeDriver, err error) {
	if f.dir, err = os.MkdirTemp("", "gnvcc-fakedriver-"); err != nil {
		return f, err
	}
	if f.agent, err = agent.Build(context.Background(), root, f.dir); err != nil {
		return f, err
	}
	here, err := os.Getwd()
	if err != nil {
		return f, err
	}
	cupti, err := agent.Find(root)
	if err != nil {
		return f, err
	}
	include := []string{"-w", "-O1", "-I" + filepath.Join(here, "testdata"), "-I" + filepath.Join(here,
		"agent", "source")}
	for _, dir := range cupti.Include {
		include = append(include, "-I"+dir)
	}
	if err := os.WriteFile(filepath.Join(f.dir, "cubin"), smallELF(), 0o600); err != nil {
		return f, err
	}
	source := func(name string) string { return filepath.Join(here, "testdata", name) }
	for _, args := range [][]string{
		{"-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", "libcuda.so.1", source("driver.c")},
		{"-shared", "-fPIC", "-o", "libfake.so", source("cupti.c"), "-ldl"},
		{"-o", "app", source("app.c"), "libcuda.so.1", "libfake.so", "-Wl,-rpath," + f.dir, "-ldl",
			"-lpthread"},
	} {
		cmd := exec.Command("gcc", append(include, args...)...)
		cmd.Dir = f.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return f, fmt.Errorf("%w\n%s", err, out)
		}
	}
	return f, nil
}

// options are for a run of the application.
func (f fakeDriver) options(what string, observe bool, env ...string) Options {
	env = append(append(os.Environ(), "CUBIN="+filepath.Join(f.dir, "cubin"), "LD_PRELOAD="+
		filepath.Join(f.dir, "libfake.so")), env...)
	return Options{Argv: []string{filepath.Join(f.dir, "app"), what}, Agent: f.agent, Env: env,
		Observe: observe}
}

// run runs the application; FAIL and BAD say what fails.
func (f fakeDriver) run(t testing.TB, h Decider, what string, observe bool,
	env ...string) (Exit, string) {
	t.Helper()
	var log strings.Builder
	var mu sync.Mutex
	o := f.options(what, observe, env...)
	o.Log = func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&log, format+"\n", args...)
	}
	exit, err := Run(context.Background(), o, h)
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	return exit, log.String()
}

// TestCallbackRefused: where CUPTI does not tell of a call, its memory would not be saved. The
// agent says so and is off.
func TestCallbackRefused(t *testing.T) {
	f := newFakeDriver(t)
	for bad, want := range map[string]string{
		"none": "", "cuMemAlloc_v2": "calls of cuMemAlloc_v2",
		"cuMemcpyHtoD_v2": "calls of cuMemcpyHtoD_v2", "resource 4": "modules, streams and contexts",
		"cuStreamAttachMemAsync": "calls of cuStreamAttachMemAsync",
	} {
		h := &scripted{}
		exit, _ := f.run(t, h, "start", false, "BAD="+bad)
		if exit.Code != 7 || len(h.starts) != 1 {
			t.Fatalf("%s: %+v, %q", bad, exit, h.events)
		}
		if got := h.starts[0].Trouble; (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: the agent says %q, want %q", bad, got, want)
		}
	}
}

// TestDriverFails: whichever of the driver's functions fails, a session ends in an error or does
// not begin, or nothing depends on it. No time is made up, and the application's launch is done
// once.
func TestDriverFails(t *testing.T) {
	f := newFakeDriver(t)
	// What may fail without a word, and why.
	harmless := map[string]string{
		"cuGetErrorString":     "the error has its number",
		"cuDriverGetVersion":   "it is for people",
		"cuCtxGetCurrent":      "not called",
		"cuMemHostRegister_v2": "copies are slower then",
		"cuMemHostUnregister":  "so",
		"cuMemFree_v2":         "what is left goes with the process",
		"cuEventDestroy_v2":    "so",
		"cuModuleUnload":       "so",
		"cuKernelGetFunction":  "then it is the function itself",
		"cuKernelGetAttribute": "then the function's is asked for",
		"cuKernelGetName":      "the function's name is known",
		"cuFuncGetModule":      "then its cubin is not known, and the launch is not of a kernel that was built",
		"cuFuncGetName":        "the kernel's name is asked for then",
		"cuFuncGetParamInfo":   "then it has no parameters that are known: all memory is saved, whatever they point to",
		"cuLibraryGetModule":   "then a module is found by its kernel's name",
		"cuMemHostGetFlags":    "no memory of the host here", "cuCtxGetLimit": "for captures",
		"cuCtxGetCacheConfig":               "for captures",
		"cuLaunchKernelEx":                  "not used here",
		"cuPointerGetAttribute":             "it knows no pointer here either",
		"cuStreamIsCapturing":               "no stream is captured",
		"cuThreadExchangeStreamCaptureMode": "no stream is captured",
		"cuMemcpyHtoD_v2":                   "for memory that is kept on the host",
		"cuGraphLaunch":                     "no graph here",
		"cuGraphGetNodes":                   "so",
		"cuGraphNodeGetType":                "so",
		"cuGraphNodeSetEnabled":             "so",
		"cuGraphNodeGetEnabled":             "so",
		"cuGraphKernelNodeGetAttribute":     "so",
		"cuStreamWaitEvent":                 "so",
		"cuMemcpy3DAsync_v2":                "no array here",
	}
	session := func(fail string) (string, Exit) {
		h := &scripted{}
		var said []string
		note := func(what string, err error) {
			if err != nil {
				said = append(said, what+": "+err.Error())
			}
		}
		h.tune = func(l *Launch, s Session) Verdict {
			_, err := s.Golden()
			note("golden", err)
			c, _, err := s.Load("/some/cubin", "")
			note("load", err)
			for _, c := range []Candidate{Original, c} {
				for _, m := range []Measurement{{}, {Cold: true}, {Again: true}} {
					times, err := s.Measure(c, 3, m)
					note("measure", err)
					for _, ns := range times {
						if math.Abs(ns-5e5) > 1 { // without what events take themselves
							t.Errorf("%s: a time of %g ns", fail, ns)
						}
					}
				}
				for _, o := range []Schedule{{}, {Cold: true}, {Dynamic: 4096}} {
					_, err := s.CheckUnder(c, o)
					note("check", err)
				}
			}
			counts, err := s.Read(c, "counts", 16)
			note("read", err)
			if err == nil && (counts[0] != 5 || counts[8] != 7) {
				t.Errorf("%s: the variable is %v", fail, counts)
			}
			for _, bad := range []func() ([]byte, error){
				func() ([]byte, error) { return s.Read(c, "counts", 8) },
				func() ([]byte, error) { return s.Read(c, "another", 16) },
				func() ([]byte, error) { return s.Read(Original, "counts", 16) },
				func() ([]byte, error) { return s.Read(c+7, "counts", 16) },
			} {
				if b, err := bad(); err == nil {
					t.Errorf("%s: %v is read of what is not there", fail, b)
				}
			}
			return Verdict{}
		}
		exit, log := f.run(t, h, "launch", false, "FAIL="+fail)
		for _, p := range h.starts {
			said = append(said, p.Trouble)
		}
		for _, e := range h.events {
			if strings.HasPrefix(e, "left alone") || strings.HasPrefix(e, "launch 1 ") {
				said = append(said, strings.TrimPrefix(e, "launch 1 "))
			}
		}
		if len(h.launch) == 0 {
			said = append(said, "no launch is reported")
		}
		return strings.TrimSpace(strings.Join(said, "\n") + log), exit
	}
	if said, exit := session(""); said != "" || exit.Code != 7 {
		t.Fatalf("nothing fails: %q, %+v", said, exit)
	}
	for _, symbol := range driverSymbols(t, "agent/source/driver.h") {
		said, exit := session(symbol)
		if said == "" && harmless[symbol] == "" {
			t.Errorf("%s fails, and nobody says so", symbol)
		}
		if exit.Code != 7 && !strings.Contains(exit.Killed, "its results can't be trusted") {
			t.Errorf("%s fails: the application ends with %+v (%s)", symbol, exit, said)
		}
	}
}

// driverSymbols lists the driver's functions in a header's table.
func driverSymbols(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		if parts := strings.Split(line, `"`); strings.HasPrefix(line, "  X(") && len(parts) == 3 {
			out = append(out, parts[1])
		}
	}
	if len(out) < 20 {
		t.Fatalf("only %q", out)
	}
	return out
}

// TestSchedules: with more shared memory it is the same kernel that runs, and what it leaves then
// is compared with what it left before; what the kernel may be launched with is as it was, and so
// is the program's memory. What the driver refuses is reported, and the session goes on.
func TestSchedules(t *testing.T) {
	h := &scripted{}
	h.tune = func(l *Launch, s Session) Verdict {
		c, _, err := s.Load("/some/cubin", "")
		if err != nil {
			t.Error(err)
		}
		for _, c := range []Candidate{Original, c} {
			for _, o := range []struct {
				Schedule
				same bool
			}{{Schedule{}, true}, {Schedule{Cold: true}, true}, {Schedule{Dynamic: 1000}, true},
				{Schedule{Dynamic: 4096}, false}, {Schedule{true, 4096}, false}, {Schedule{}, true}} {
				d, err := s.CheckUnder(c, o.Schedule)
				if err != nil || d.Same != o.same || !d.Same && (d.Words != 1 || d.Want^d.Got != 0x40<<40) {
					t.Errorf("candidate %d, %+v: %+v, %v", c, o, d, err)
				}
			}
			var refused *CandidateError
			if _, err := s.CheckUnder(c, Schedule{Dynamic: 228 << 10}); !errors.As(err, &refused) {
				t.Errorf("candidate %d with too much shared memory: %v", c, err)
			}
			if d, err := s.Check(c); err != nil || !d.Same {
				t.Errorf("candidate %d after that: %+v, %v", c, d, err)
			}
		}
		return Verdict{}
	}
	if exit, log := newFakeDriver(t).run(t, h, "schedules", false); exit.Code != 7 || log != "" {
		t.Errorf("%+v, %s", exit, log)
	}
}

// TestTimesFail: a launch's time that can't be read is reported.
func TestTimesFail(t *testing.T) {
	f := newFakeDriver(t)
	for fail, want := range map[string]string{"": "", "cuEventQuery": "could not be read",
		"cuEventElapsedTime": "could not be read"} {
		h := &quiet{}
		exit, log := f.run(t, h, "times", true, "FAIL="+fail)
		if len(h.sums) != 1 || len(h.sums[0].Kernels) != 1 {
			t.Fatalf("%s: %+v", fail, h.sums)
		}
		k := h.sums[0].Kernels[0]
		if said := strings.Join(h.sums[0].Notes, "\n") + log; exit.Code != 7 ||
			(want == "") != (said == "") || !strings.Contains(said, want) {
			t.Errorf("%s: %+v, says %q, want %q", fail, exit, said, want)
		}
		if (k.Sampled > 0) != (want == "") || k.Sampled > 0 && k.Seconds == 0 {
			t.Errorf("%s: %d times, %g s", fail, k.Sampled, k.Seconds)
		}
	}
}

// quiet is a host that wants nothing.
type quiet struct {
	scripted
	verdict Verdict
}

func (h *quiet) Launch(l *Launch) Verdict {
	h.scripted.Launch(l)
	return h.verdict
}

// TestUnnoticed: what the application must not notice of the agent. A stream capture is not ended
// by the agent's questions, a thread that is to be cancelled goes on until it is where it can be,
// errno stays, a forked child ends as it wants to, no signal comes for a file that is too large.
func TestUnnoticed(t *testing.T) {
	f := newFakeDriver(t)
	for _, what := range []string{"graph", "cancel", "errno", "fork", "small files", "no function",
		"another's capture"} {
		h := &quiet{}
		if what == "small files" {
			h.verdict.Capture, h.verdict.Limit = filepath.Join(t.TempDir(), "capture"), 1<<30
		}
		exit, log := f.run(t, h, what, true)
		if exit.Code != 7 {
			t.Errorf("%s: %+v, %q, %s", what, exit, h.events, log)
		}
		if what == "small files" {
			if _, err := os.Stat(h.verdict.Capture); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a part of a capture is left: %v", err)
			}
		}
	}
}

// TestInterrupted: a signal's handler calls exit, at each place at which the agent has a lock, and
// in the midst of a captured launch while another thread is held, for whose end the program waits.
func TestInterrupted(t *testing.T) {
	f := newFakeDriver(t)
	for n := range 25 {
		if exit, log := f.run(t, &quiet{}, "interrupted", true, fmt.Sprintf("INTERRUPT=%d",
			n+1)); exit.Code != 7 {
			t.Errorf("lock %d: %+v, %s", n+1, exit, log)
		}
	}
	h := &capturing{}
	h.verdict.Capture, h.verdict.Limit = filepath.Join(t.TempDir(), "capture"), 1<<30
	if exit, log := f.run(t, h, "interrupted launch", true, "INTERRUPT=0"); exit.Code != 7 {
		t.Errorf("in a launch: %+v, %s", exit, log)
	}
}

// TestTakesNumbers: a program that closes the descriptor of a capture, and gets its number for a
// file of its own, does not find the capture in that.
func TestTakesNumbers(t *testing.T) {
	dir := t.TempDir()
	h := &capturing{}
	h.verdict.Capture, h.verdict.Limit = filepath.Join(dir, "capture"), 1<<30
	exit, log := newFakeDriver(t).run(t, h, "takes numbers", true, "CAPTURE="+h.verdict.Capture,
		"KEPT="+filepath.Join(dir, "kept"))
	if exit.Code != 7 {
		t.Errorf("%+v, %s", exit, log)
	}
	var all int64
	for n := range 20 {
		info, err := os.Stat(filepath.Join(dir, fmt.Sprintf("kept.%d", n)))
		if err != nil {
			t.Fatal(err)
		}
		all += info.Size()
	}
	// Of 200 MB: one write may have been about to begin when the program took its number.
	if all > 20<<20 {
		t.Errorf("the program's files have %d bytes", all)
	}
}

// TestAsks: the host is told for which kernels the application asks for registers or occupancy,
// before their launch or after it.
func TestAsks(t *testing.T) {
	f := newFakeDriver(t)
	for what, want := range map[string]string{"asks": "k", "asks first": "other"} {
		h := &quiet{}
		f.run(t, h, what, true)
		for _, s := range h.sums {
			for _, k := range s.Kernels {
				if k.Launch.Asked != (k.Launch.Kernel == want) {
					t.Errorf("%s: %s: %v", what, k.Launch.Kernel, k.Launch.Asked)
				}
			}
			if len(s.Kernels) != 2 {
				t.Errorf("%s: %d kernels", what, len(s.Kernels))
			}
		}
	}
}

// TestRows: the host is told how many launches came directly behind one of the same.
func TestRows(t *testing.T) {
	h := &quiet{}
	if exit, log := newFakeDriver(t).run(t, h, "rows", true); exit.Code != 7 || len(h.sums) != 1 {
		t.Fatalf("%+v, %d summaries, %s", exit, len(h.sums), log)
	}
	want := map[string][2]int{"k": {6, 3}, "other": {2, 0}}
	for _, k := range h.sums[0].Kernels {
		if got := [2]int{k.Launch.Count, k.Rows}; got != want[k.Launch.Kernel] {
			t.Errorf("%s: %v launches and rows, want %v", k.Launch.Kernel, got, want[k.Launch.Kernel])
		}
		delete(want, k.Launch.Kernel)
	}
	if len(want) != 0 {
		t.Errorf("not seen: %v", want)
	}
}
