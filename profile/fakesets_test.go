package profile

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestSetsOfValues: the agent tells launches with other sizes apart, not those with another buffer
// or in another step; counts and times are whole, and it asks about each set.
func TestSetsOfValues(t *testing.T) {
	f := newFakeDriver(t)
	h := &doubling{}
	exit, log := f.run(t, h, "sets", true)
	if exit.Code != 7 || log != "" || len(h.sums) != 1 || len(h.sums[0].Kernels) != 1 {
		t.Fatalf("%+v, %q, %+v", exit, log, h.sums)
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
	if launches != 301 || k.Launch.Count != 301 || counts[1] != 100 || counts[2] != 100 ||
		counts[3] != 100 || counts[-1] != 1 {
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
		h := &doubling{}
		var gone atomic.Int64
		begun := time.Now()
		o := f.options("long", true)
		o.For, o.Gone = wanted, func() { gone.Store(int64(time.Since(begun))) }
		exit, err := Run(context.Background(), o, h)
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

// TestFreeFails: memory whose free has failed lives on, and is saved with all other.
func TestFreeFails(t *testing.T) {
	f := newFakeDriver(t)
	for what, want := range map[string]uint64{"frees": 1, "unmap fails": 2} {
		h := &scripted{}
		if exit, log := f.run(t, h, what, false); exit.Code != 7 || len(h.launch) != 1 {
			t.Fatalf("%s: %+v, %q", what, exit, log)
		}
		if got := uint64(h.launch[0].Allocations); got != want {
			t.Errorf("%s: %d allocations, want %d", what, got, want)
		}
	}
}

// TestClosedSocket: where the program closes the agent's socket, and has one of its own at the
// number, it is the program's alone.
func TestClosedSocket(t *testing.T) {
	f := newFakeDriver(t)
	for _, observe := range []bool{false, true} {
		h := &scripted{}
		if exit, log := f.run(t, h, "closes files", observe); exit.Code != 7 || len(h.launch) != 0 {
			t.Errorf("observing %v: %+v, %q, %q", observe, exit, log, h.events)
		}
	}
}

// TestHostMemory: a search inside the program is refused where it can't read and write the
// program's host memory without harm: where threads write it meanwhile, where the program has
// protected its pages, where reading takes for ever.
func TestHostMemory(t *testing.T) {
	f := newFakeDriver(t)
	for what, want := range map[string]string{"quiet host": "", "combined host": "",
		"COMBINED=1":     "write-combined memory, which is very slow to read",
		"busy host":      "CPU threads write to host memory of the program's",
		"protected host": "protected by the program, or gone",
		"read-only host": "protected by the program, or gone",
		"unmapped host":  "protected by the program, or gone"} {
		run, env := what, []string{}
		if strings.Contains(what, "=") {
			run, env = "combined host", []string{what}
		}
		for tries := 1; ; tries++ { // on a busy machine the thread may not have run meanwhile
			h := &scripted{}
			exit, log := f.run(t, h, run, false, env...)
			events := strings.Join(h.events, "\n")
			if exit.Code == 7 && strings.Contains(events, "\ntune") == (want == "") &&
				strings.Contains(events, "left alone: ") == (want != "") && strings.Contains(events, want) {
				break
			}
			if what != "busy host" || tries == 10 {
				t.Errorf("%s: %+v, %s, %q", what, exit, log, events)
				break
			}
		}
	}
}

// TestBusy: a search inside the program does not wait again and again for work that waits itself.
func TestBusy(t *testing.T) {
	f := newFakeDriver(t)
	h := &scripted{}
	begun := time.Now()
	exit, log := f.run(t, h, "three grids", false, "BUSY=60000")
	took := time.Since(begun)
	events := strings.Join(h.events, "\n")
	if exit.Code != 7 || strings.Count(events, "left alone: the device is busy with work that waits") != 3 ||
		took < 4*time.Second || took > 20*time.Second {
		t.Errorf("%+v, %s, after %v: %q", exit, log, took, events)
	}
}

// doubling asks again when there were twice as many launches of a set.
type doubling struct{ scripted }

func (h *doubling) Launch(l *Launch) Verdict {
	h.scripted.Launch(l)
	n := 1
	if l.SoFar != nil {
		if i := l.SoFar.Sets.Find(l.Values); i >= 0 {
			n = l.SoFar.Sets.List[i].Count
		}
	}
	return Verdict{Again: n}
}
