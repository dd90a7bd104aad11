package profile

import (
	"encoding/binary"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAside: a capture holds the program up while its memory is copied within the device, and is
// written while the program runs on, and beyond its end for a time; the program gets the device's
// memory back when it needs it, or asks how much there is. READS is ms that a piece of 8 MiB takes on
// its way out.
func TestAside(t *testing.T) {
	f := newFakeDriver(t)
	const needed, ended = "the program needed the memory of the device in which it was kept",
		"the program ended before it was written"
	for _, c := range []struct {
		then, env string
		kept      bool   // the agent still has memory of the device when the program ends
		why       string // the capture is not kept
		least     time.Duration
	}{
		{"ends", "READS=30", true, "", 360 * time.Millisecond},
		{"ends", "READS=400", true, ended, 2 * time.Second},
		{"ends", "READS=400 ", true, "", 4500 * time.Millisecond}, // with patience
		{"rests", "READS=100", false, "", 2500 * time.Millisecond},
		{"asks", "READS=100", false, needed, 0},
		{"allocates", "READS=100", false, needed, 0},
		{"allocates little", "READS=10", true, "", 0},
		{"destroys", "READS=30", false, "", 360 * time.Millisecond},
		{"destroys", "READS=400", true, "its context ended", 2 * time.Second},
		{"ends", "LEFT=200", false, "", 0}, // MiB, of which a quarter is too little
		{"ends", "FAIL=cuStreamCreate", true, "can't be read", 0},
	} {
		h := &host{dir: t.TempDir()}
		if strings.HasSuffix(c.env, " ") {
			h.order.Patience = 8 * time.Second
		}
		begun := time.Now()
		exit, log := f.try(t, h, "aside", true, "THEN="+c.then, c.env)
		took := time.Since(begun)
		if want := map[bool]int{true: 21, false: 20}[c.kept]; exit.Code != want && !strings.HasPrefix(c.env, "FAIL") || log != "" ||
			len(h.got) != 1 || h.got[0].Why != "" || took < c.least || took > c.least+4*time.Second {
			t.Errorf("%+v: %+v after %v, %q, %+v %q", c, exit, took, log, h.got, h.why)
			continue
		}
		// Here hashes take the processor some tenths of a second. To write it takes 4.8 s.
		if c.env == "READS=400" && h.got[0].Before+h.got[0].After > 4*time.Second {
			t.Errorf("%+v: held up for %v and %v", c, h.got[0].Before, h.got[0].After)
		}
		if lost := strings.Join(h.lost, ", "); (lost == "") != (c.why == "") || !strings.Contains(lost, c.why) {
			t.Errorf("%+v: lost, because %q", c, lost)
		}
		if c.why != "" {
			left(t, h.dir)
			continue
		}
		found := map[float64]bool{}
		for _, r := range records(t, h.paths[0]) {
			if r.kind == recData && len(r.body) == 8+1<<20 {
				found[math.Float64frombits(binary.LittleEndian.Uint64(r.body[8:]))] = true
			}
		}
		for m := range 96 {
			if !found[float64(m+1)] {
				t.Errorf("%+v: MiB %d is not as it was", c, m)
			}
		}
	}
	for then, want := range map[string]Exit{"is killed": {Code: 137, Signal: syscall.SIGKILL}, "leaves": {Code: 7}} {
		h := &host{dir: t.TempDir()}
		begun := time.Now()
		exit, _ := f.try(t, h, "aside", true, "THEN="+then, "READS=400")
		if exit != want || len(h.written) > 0 || time.Since(begun) > 2*time.Second {
			t.Errorf("%s: %+v after %v, %v", then, exit, time.Since(begun), h.written)
		}
	}
}

// TestOtherStreams: a launch is captured by itself. Where other streams have work at the time, what
// they are waited for holds the program up, and is bounded; work of its own stream that comes before
// it does not.
func TestOtherStreams(t *testing.T) {
	f := newFakeDriver(t)
	for _, c := range []struct {
		env         []string
		stand       time.Duration
		why         string
		least, most time.Duration // that it was held up
	}{
		{[]string{"BUSY=400", "OTHERS=1"}, 2 * time.Second, "", 300 * time.Millisecond, 2 * time.Second},
		{[]string{"BUSY=5000", "OTHERS=1"}, 100 * time.Millisecond, TooSlow, 0, 0},
		{[]string{"BUSY=800"}, 500 * time.Millisecond, "", 0, 500 * time.Millisecond},
	} {
		begun := time.Now()
		h := f.captured(t, Order{Stand: c.stand}, "launch", c.env...)
		if took := time.Since(begun); strings.Join(h.why, "\n") != c.why || took > 2500*time.Millisecond {
			t.Errorf("%+v: %q after %v", c, h.why, took)
		}
		for _, g := range h.got {
			if held := g.Before + g.After; c.why != "" || held < c.least || held > c.most {
				t.Errorf("%+v: held up for %v", c, held)
			}
		}
	}
}

// TestSlowTools: the driver compiles the agent's own kernels for longer than a capture may take; that
// is counted, once, and is no reason to give a small capture up.
func TestSlowTools(t *testing.T) {
	h := &host{dir: t.TempDir(), order: Order{Stand: 250 * time.Millisecond}, again: func(*Launch) int { return 1 }}
	newFakeDriver(t).run(t, h, "times", true, "LOADS=400")
	if len(h.got) != 6 || len(h.why) > 0 || h.got[0].Before < 400*time.Millisecond {
		t.Fatalf("%+v, %q", h.got, h.why)
	}
	for _, g := range h.got[1:] {
		if g.Why != "" || g.Before > 300*time.Millisecond {
			t.Errorf("%+v: the kernels were compiled again", g)
		}
	}
}

// TestTimedAtMost: however often times are collected, as at each question, no more launches are timed
// than there is time for.
func TestTimedAtMost(t *testing.T) {
	h := &host{again: doubling}
	newFakeDriver(t).run(t, h, "many", true, "COUNT=3000")
	if count, sampled := h.launches(); count != 3000 || sampled > 600 || sampled < 100 {
		t.Errorf("%d of %d launches are timed", sampled, count)
	}
}
