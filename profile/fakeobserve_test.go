package profile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Programs that are observed, on the fake driver.

// TestCallbackRefused: where CUPTI does not tell of a call, its memory would not be known. The
// agent says so and is off.
func TestCallbackRefused(t *testing.T) {
	f := newFakeDriver(t)
	for bad, want := range map[string]string{
		"none": "", "cuMemAlloc_v2": "calls of cuMemAlloc_v2",
		"cuMemcpyHtoD_v2": "calls of cuMemcpyHtoD_v2", "resource 4": "modules, streams and contexts",
		"cuStreamAttachMemAsync": "calls of cuStreamAttachMemAsync",
	} {
		h := &host{}
		f.run(t, h, "start", false, "BAD="+bad)
		if got := h.starts[0].Trouble; (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: the agent says %q, want %q", bad, got, want)
		}
	}
}

// TestOldDriver: without a driver, or with a libcuda.so.1 that has nothing in it, the agent says
// what is missing and is off; the application does not notice.
func TestOldDriver(t *testing.T) {
	path, dir := newFakeDriver(t).agent, t.TempDir()
	for name, text := range map[string]string{
		"none.c": `int nothing;`,
		"app.c": `
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int n, char **argv) {
  void *driver = n > 1 ? dlopen(argv[1], RTLD_NOW) : 0;
  void *agent = dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_NOW);
  int (*start)(void) = agent ? (int (*)(void))dlsym(agent, "InitializeInjection") : 0;
  if (!start || (n > 1 && !driver)) return puts(dlerror()), 3;
  printf("%d\n", start());
  return 7;
}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	app, driver := filepath.Join(dir, "app"), filepath.Join(dir, "libcuda.so.1")
	for _, args := range [][]string{{"-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", driver, "none.c"},
		{"-o", app, "app.c", "-ldl"}} {
		cmd := exec.Command("gcc", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for want, argv := range map[string][]string{"no libcuda.so.1": {app}, "no cuGetErrorString": {app, driver}} {
		h := &host{}
		r := play(t, "", h, Options{Argv: argv, Agent: path})
		if r.err != nil || r.exit.Code != 7 || r.out != "1\n" {
			t.Fatalf("%+v", r)
		}
		if len(h.starts) != 1 || !strings.Contains(h.starts[0].Trouble, want) || len(h.sums) != 1 {
			t.Errorf("%+v, %q", h.starts[0], h.events)
		}
	}
}

// TestTimes: a launch's time that can't be read is reported; what a kernel takes is not what it
// waits for the blocks of other streams, and a launch is captured though the device has work for a
// second yet.
func TestTimes(t *testing.T) {
	f := newFakeDriver(t)
	for _, c := range []struct {
		what, env string
		each      float64 // seconds of a launch; 0: not known
		said      string
	}{
		{"times", "", 0.5e-3, ""}, {"times", "FAIL=cuEventQuery", 0, "could not be read"},
		{"times", "FAIL=cuEventElapsedTime", 0, "could not be read"},
		{"times", "BESIDE=1", 8e-3, ""}, {"streams", "BESIDE=1", 0.5e-3, ""},
	} {
		h := &host{}
		if c.env == "BESIDE=1" {
			h.dir = t.TempDir()
		}
		log := f.run(t, h, c.what, true, c.env, "BUSY=1000")
		k := h.sums[0].Kernels[0]
		if said := strings.Join(h.sums[0].Notes, "\n") + log; (c.said == "") != (said == "") ||
			!strings.Contains(said, c.said) {
			t.Errorf("%+v: says %q", c, said)
		}
		each := k.Seconds / float64(k.Launch.Count)
		if (k.Sampled >= 3) != (c.each > 0) || each < 0.9*c.each || each > 1.1*c.each {
			t.Errorf("%+v: %d times, %g s each", c, k.Sampled, each)
		}
		if h.dir != "" {
			h.whole(t)
		}
	}
}

// TestUnnoticed: what the application must not notice of the agent. A stream capture is not ended
// by the agent's questions, a thread that is to be cancelled goes on until it is where it can be,
// errno stays, a forked child ends as it wants to, no signal comes for a file that is too large.
func TestUnnoticed(t *testing.T) {
	f := newFakeDriver(t)
	for _, what := range []string{"graph", "cancel", "errno", "fork", "no function", "another's capture"} {
		f.run(t, &host{}, what, true)
	}
	h := f.captured(t, Order{}, "small files")
	left(t, h.dir)
}

// TestInterrupted: a signal's handler calls exit, at each place at which the agent has a lock, and
// in the midst of a captured launch while another thread is held, for whose end the program waits.
func TestInterrupted(t *testing.T) {
	f := newFakeDriver(t)
	for n := range 25 {
		if exit, log := f.try(t, &host{}, "interrupted", true, fmt.Sprintf("INTERRUPT=%d",
			n+1)); exit.Code != 7 {
			t.Errorf("lock %d: %+v, %s", n+1, exit, log)
		}
	}
	h := &host{dir: t.TempDir()}
	if exit, log := f.try(t, h, "interrupted launch", true, "INTERRUPT=0"); exit.Code != 7 {
		t.Errorf("in a launch: %+v, %s", exit, log)
	}
}

// TestAsks: the host is told for which kernels the application asks for registers or occupancy,
// before their launch or after it.
func TestAsks(t *testing.T) {
	f := newFakeDriver(t)
	for what, want := range map[string]string{"asks": "k", "asks first": "other"} {
		h := &host{}
		f.run(t, h, what, true)
		for _, k := range h.sums[0].Kernels {
			if k.Launch.Asked != (k.Launch.Kernel == want) {
				t.Errorf("%s: %s: %v", what, k.Launch.Kernel, k.Launch.Asked)
			}
		}
		if n := len(h.sums[0].Kernels); n != 2 {
			t.Errorf("%s: %d kernels", what, n)
		}
	}
}

// TestRows: the host is told how many launches came directly behind one of the same.
func TestRows(t *testing.T) {
	h := &host{}
	newFakeDriver(t).run(t, h, "rows", true)
	got := map[string][2]int{}
	for _, k := range h.sums[0].Kernels {
		got[k.Launch.Kernel] = [2]int{k.Launch.Count, k.Rows}
	}
	if want := "map[k:[6 3] other:[2 0]]"; fmt.Sprint(got) != want {
		t.Errorf("launches and rows: %v, want %s", got, want)
	}
}

// doubling asks again when there were twice as many launches of a set.
func doubling(l *Launch) int {
	if l.SoFar != nil {
		if i := l.SoFar.Sets.Find(l.Values); i >= 0 {
			return l.SoFar.Sets.List[i].Count
		}
	}
	return 1
}

// TestSetsOfValues: the agent tells launches with other sizes apart, not those with another buffer
// or in another step; counts and times are whole, and it asks about each set.
func TestSetsOfValues(t *testing.T) {
	h := &host{again: doubling}
	if log := newFakeDriver(t).run(t, h, "sets", true); log != "" || len(h.sums[0].Kernels) != 1 {
		t.Fatalf("%q, %+v", log, h.sums)
	}
	k := h.sums[0].Kernels[0]
	counts := map[int]int{}
	var launches int
	var seconds float64
	for _, x := range k.Sets.List {
		key := int(x.Values[8])
		if x.Values[0] == 0 {
			key = -key // without a buffer
		}
		if counts[key] > 0 {
			t.Errorf("n = %d is two sets", key)
		}
		counts[key] += x.Count
		launches += x.Count
		seconds += x.Seconds
		if x.Sampled == 0 && x.Count > 1 {
			t.Errorf("n = %d was not timed", key)
		}
	}
	if launches != 301 || k.Launch.Count != 301 || fmt.Sprint(counts) != "map[-1:1 1:100 2:100 3:100]" {
		t.Errorf("%v", counts)
	}
	if seconds < 0.15 || seconds > 0.151 || k.Seconds != seconds { // 301 of half a millisecond
		t.Errorf("%g s, %g in all", seconds, k.Seconds)
	}
	asked := map[byte]int{}
	for _, l := range h.launch {
		asked[l.Values[8]]++
	}
	for n := byte(1); n <= 3; n++ {
		if asked[n] < 5 || asked[n] > 40 {
			t.Errorf("asked %d times about n = %d", asked[n], n)
		}
	}
	if h.sums[0].Peak != 2<<20 {
		t.Errorf("%d bytes at most", h.sums[0].Peak)
	}
	same := k.Sets.Same(make([]byte, 16))
	if same[8] != 1 || same[0] != 0 || same[12] != 0 || !k.Sets.Varies() {
		t.Errorf("the same in all launches of a set: %v", same)
	}
	if k.Watched > 0 && k.Beside > k.Watched {
		t.Errorf("%g of %g s", k.Beside, k.Watched)
	}
}

// TestLetGo: after its time a program is let go: what was counted until then stands, and it runs on
// to its own end, asked or not.
func TestLetGo(t *testing.T) {
	f := newFakeDriver(t)
	for _, wanted := range []time.Duration{700 * time.Millisecond, time.Millisecond} {
		h := &host{again: doubling}
		var gone atomic.Int64
		begun := time.Now()
		o := f.options("long", true)
		o.For, o.Gone = wanted, func() { gone.Store(int64(time.Since(begun))) }
		exit, err := Run(context.Background(), o, h.host())
		if err != nil || exit.Code != 7 || exit.Killed != "" {
			t.Fatalf("%+v, %v", exit, err)
		}
		took := time.Duration(gone.Load())
		if took < wanted || took > 2900*time.Millisecond || time.Since(begun) < 3*time.Second {
			t.Errorf("let go after %v, ended after %v", took, time.Since(begun))
		}
		if wanted < 10*time.Millisecond {
			continue // it may not have connected
		}
		if len(h.sums) != 1 || !h.sums[0].Whole || len(h.sums[0].Kernels) != 1 {
			t.Fatalf("%+v", h.sums)
		}
		if n := h.sums[0].Kernels[0].Launch.Count; n < 100 || n >= 6000 {
			t.Errorf("%d launches counted", n)
		}
	}
}

// TestFreeFails: memory whose free has failed lives on, and counts with all other.
func TestFreeFails(t *testing.T) {
	f := newFakeDriver(t)
	for what, want := range map[string]int64{"frees": 1 << 20, "unmap fails": 2 << 20} {
		h := &host{}
		f.run(t, h, what, false)
		if got := h.launch[0].Bytes; got != want {
			t.Errorf("%s: %d bytes, want %d", what, got, want)
		}
	}
}

// TestClosedSocket: where the program closes the agent's socket, and has one of its own at the
// number, it is the program's alone.
func TestClosedSocket(t *testing.T) {
	f := newFakeDriver(t)
	for _, observe := range []bool{false, true} {
		h := &host{}
		if exit, log := f.try(t, h, "closes files", observe); exit.Code != 7 || len(h.launch) != 0 {
			t.Errorf("observing %v: %+v, %q, %q", observe, exit, log, h.events)
		}
	}
}

// TestManyRanks: 64 processes at once are all heard; of those that are killed the counts so far
// stay, and nobody waits for them.
func TestManyRanks(t *testing.T) {
	f := newFakeDriver(t)
	o := f.options("times", true, "APP="+filepath.Join(f.dir, "app"))
	o.Argv = []string{"sh", "-c", `for i in 1 2 3 4; do
SLOW=60000 $APP launch >/dev/null & slow="$slow $!"; done
for i in $(seq 60); do $APP times >/dev/null & all="$all $!"; done
wait $all; kill -9 $slow; wait; exit 7`}
	h := &host{}
	exit, err := Run(context.Background(), o, h.host())
	if err != nil || exit.Code != 7 {
		t.Fatalf("%+v, %v", exit, err)
	}
	whole := 0
	for _, s := range h.sums {
		if s.Whole {
			whole++
		}
	}
	if count, _ := h.launches(); len(h.starts) != 64 || len(h.sums) != 64 || whole != 60 || count != 60*6+4 {
		t.Errorf("%d begin, %d end, %d in order, with %d launches", len(h.starts), len(h.sums), whole, count)
	}
}

// TestReplaysAlone: in a program that is observed no session is held, whoever asks for one.
func TestReplaysAlone(t *testing.T) {
	f := newFakeDriver(t)
	var refused error
	exit, err := Run(context.Background(), f.options("launch", true), Host{
		Launch: func(_ context.Context, _ *Launch, h Held) int {
			refused = h.Session(0, func(Session) { t.Error("a session in the program") })
			return 0
		}})
	if err != nil || exit.Code != 7 || refused == nil || errors.Is(refused, ErrGone) {
		t.Errorf("%+v, %v, %v", exit, err, refused)
	}
}
