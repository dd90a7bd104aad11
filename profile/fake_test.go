package profile

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gnvcc/install/kits"
	"gnvcc/profile/agent"
)

// A fakeDriver is the agent with a driver and a CUPTI of the test's own, which fail where they are
// told to: the real ones never do, and are not on every machine. testdata/driver.c, cupti.c and
// app.c are the three.
type fakeDriver struct{ dir, agent string }

// fakeEnv has a fake driver's folder and agent, where a test has started this process.
const fakeEnv = "GNVCC_TEST_FAKE_DRIVER"

// fakes is built once for all tests, which write nothing into its folder; TestMain removes it.
var fakes struct {
	once   sync.Once
	driver fakeDriver
	err    error
}

func newFakeDriver(t testing.TB) fakeDriver {
	t.Helper()
	root := kits.Any(t).Dir
	fakes.once.Do(func() {
		dir, library, built := strings.Cut(os.Getenv(fakeEnv), " ")
		if fakes.driver = (fakeDriver{dir, library}); !built {
			fakes.driver, fakes.err = buildFakeDriver(root)
		}
	})
	if fakes.err != nil {
		t.Fatal(fakes.err)
	}
	return fakes.driver
}

func buildFakeDriver(root string) (f fakeDriver, err error) {
	if f.dir, err = os.MkdirTemp("", "gnvcc-fakedriver-"); err != nil {
		return f, err
	}
	if f.agent, err = agent.Build(context.Background(), root, kits.Kept()); err != nil {
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
	source := func(name string) string { return filepath.Join(here, "testdata", name) }
	include := []string{"-w", "-O2", "-I" + source(""), "-I" + filepath.Join(here, "agent", "source")}
	for _, dir := range cupti.Include {
		include = append(include, "-I"+dir)
	}
	if err := os.WriteFile(filepath.Join(f.dir, "cubin"), smallELF(), 0o600); err != nil {
		return f, err
	}
	for _, args := range [][]string{
		{"-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", "libcuda.so.1", source("driver.c")},
		{"-shared", "-fPIC", "-o", "libfake.so", source("cupti.c"), "-ldl"},
		{"-g", "-o", "app", source("app.c"), "libcuda.so.1", "libfake.so", "-Wl,-rpath," + f.dir, "-ldl",
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

// try runs the application; FAIL and BAD say what fails.
func (f fakeDriver) try(t testing.TB, h *host, what string, observe bool, env ...string) (Exit, string) {
	t.Helper()
	var log strings.Builder
	var mu sync.Mutex
	o := f.options(what, observe, env...)
	o.Replay = h.tune != nil
	o.Log = func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&log, format+"\n", args...)
	}
	exit, err := Run(context.Background(), o, h.host())
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	return exit, log.String()
}

// run is try for an application that ends well (7), in one process.
func (f fakeDriver) run(t testing.TB, h *host, what string, observe bool, env ...string) (log string) {
	t.Helper()
	exit, log := f.try(t, h, what, observe, env...)
	if exit.Code != 7 || len(h.sums) != 1 {
		t.Fatalf("%s, %q: %+v, %d summaries, %s, %q, %q", what, env, exit, len(h.sums), log, h.events, h.why)
	}
	return log
}

// captured runs the application with a host that captures each launch that it is asked about, one
// of each set of values.
func (f fakeDriver) captured(t testing.TB, o Order, what string, env ...string) *host {
	t.Helper()
	h := &host{dir: t.TempDir(), order: o}
	f.run(t, h, what, true, env...)
	return h
}

// A host does with launches what a test wants, and notes what it is told: it holds a session at
// each that it is asked about (tune), captures it (dir), or only counts.
type host struct {
	tune  func(*Launch, Session)
	dir   string // each capture is a file of its own in it
	order Order
	again func(*Launch) int // when to ask again; nil: never

	mu     sync.Mutex
	events []string
	launch []*Launch
	sums   []Summary
	starts []*Process
	paths  []string // of captures that were asked for
	got    []Captured
	why    []string // launches were not captured
	lost   []string // captures that were made were not written
	// bytes of files that are complete
	written map[string]int64
}

func (h *host) add(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, fmt.Sprintf(format, args...))
}

func (h *host) host() Host {
	return Host{Start: h.start, Launch: h.decide, Written: h.wrote, End: h.end}
}

func (h *host) wrote(_ *Process, path string, bytes int64, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.written == nil {
		h.written = map[string]int64{}
	}
	if h.written[path] = bytes; why != "" {
		h.lost = append(h.lost, why)
		delete(h.written, path)
	}
}

func (h *host) start(p *Process) {
	h.add("start")
	h.mu.Lock()
	defer h.mu.Unlock()
	h.starts = append(h.starts, p)
}

func (h *host) end(p *Process, s Summary) {
	h.add("end")
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sums = append(h.sums, s)
}

func (h *host) decide(_ context.Context, l *Launch, held Held) int {
	h.add("launch %d %s", l.Count, l.LeaveAlone)
	h.mu.Lock()
	h.launch = append(h.launch, l)
	h.mu.Unlock()
	if h.tune != nil {
		if err := held.Session(0, func(s Session) { h.add("tune"); h.tune(l, s) }); err != nil {
			h.add("left alone: %v", err)
		}
	}
	if h.dir != "" {
		h.capture(held)
	}
	if h.again == nil {
		return 0
	}
	return h.again(l)
}

func (h *host) capture(held Held) {
	h.mu.Lock()
	o := h.order
	o.Path, o.Limit = filepath.Join(h.dir, fmt.Sprint(len(h.paths))), cmp.Or(o.Limit, 1<<30)
	h.paths = append(h.paths, o.Path)
	h.mu.Unlock()
	c, err := held.Capture(o)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.why = append(h.why, err.Error())
	} else {
		h.got = append(h.got, c)
	}
}

// whole fails unless the first capture, and no other, came to its end.
func (h *host) whole(t testing.TB) {
	t.Helper()
	if len(h.got) != 1 || h.got[0].Why != "" || len(h.why)+len(h.lost) > 0 || len(h.written) != 1 {
		t.Fatalf("%+v, %q, %q, %q, %v", h.got, h.why, h.events, h.lost, h.written)
	}
}

// launches are how often kernels were launched in all, and how many of these were timed.
func (h *host) launches() (count, sampled int) {
	for _, s := range h.sums {
		for _, k := range s.Kernels {
			count, sampled = count+k.Launch.Count, sampled+k.Sampled
		}
	}
	return count, sampled
}

// A record is one of a capture's file; raw.go of profile/capture has the kinds.
type record struct {
	kind uint32
	body []byte
}

// u64 is a field of a record.
func (r record) u64(at int) uint64 { return binary.LittleEndian.Uint64(r.body[at:]) }

const (
	recRange  = 3
	recData   = 4
	recAfter  = 6
	recEnd    = 7
	recArray  = 11
	recObject = 12
	recBefore = 13
)

func records(t testing.TB, path string) (out []record) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for len(b) >= 16 {
		n := binary.LittleEndian.Uint64(b[8:])
		out = append(out, record{binary.LittleEndian.Uint32(b), b[16 : 16+n]})
		b = b[16+n:]
	}
	if len(out) == 0 || out[len(out)-1].kind != recEnd || len(b) > 0 {
		t.Fatalf("%s has no end", path)
	}
	return out
}

// left fails where a part of a capture is left.
func left(t testing.TB, dir string) {
	t.Helper()
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Errorf("a part of a capture is left: %v", files)
	}
}
