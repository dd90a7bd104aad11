package profile

import (
	"fmt"
	"math"
	"os"
	"testing"
	"time"
)

// TestWork: launches that differ in work alone are counted by what they take, few as they may be, in
// programs of a few launches and of thousands.
func TestWork(t *testing.T) {
	f := newFakeDriver(t)
	for _, c := range []struct {
		kind, count string
		seconds     float64 // of all but the first launch
		unlike      bool
		long, took  float64 // launches of classes above half of the longest, and their part of the time
	}{
		{"even", "75", 74e-4, false, 74, 1},
		{"frontier", "75", 15*0.2e-3 + 59*0.016e-3, true, 15, 0.76},
		{"frontier", "6000", 1200*0.2e-3 + 4799*0.016e-3, true, 1200, 0.76},
		{"triangle", "100", 50.49e-3, true, 59, 0.83},
		{"convergence", "40", 0.9e-3 * (1 - math.Pow(0.9, 39)) / 0.1, true, 8, 0.58},
		{"queue", "250", 12*0.8e-3 + 237*0.02e-3, true, 12, 0.67},
	} {
		h := &host{again: doubling}
		f.run(t, h, "work", true, "WORK="+c.kind, "COUNT="+c.count)
		k := h.sums[0].Kernels[0]
		classes := k.Classes
		near := func(a, b, within float64) bool { return math.Abs(a-b) <= within*b }
		var whole float64
		all, most := 0, classes[len(classes)-1].Mean()
		var long Class
		for _, x := range classes {
			all, whole = all+x.Launches, whole+x.Seconds
			if 2*x.Mean() > most {
				long.Launches, long.Seconds = long.Launches+x.Launches, long.Seconds+x.Seconds
			}
		}
		within := 0.05
		if c.count == "6000" {
			within = 0.1
		}
		if !near(whole, c.seconds, within) || !near(k.Seconds, c.seconds, within+0.05) ||
			!near(float64(all), float64(k.Launch.Count), 0.05) || Unlike(classes) != c.unlike ||
			!near(float64(long.Launches), c.long, within+0.1) || !near(long.Seconds/whole, c.took, within+0.05) {
			t.Errorf("%+v: %g s of %d, %g s, %v, long: %+v", c, whole, all, k.Seconds, classes, long)
		}
	}
}

// TestWanted: of launches that are captured those are kept that take what was asked for, and say
// what they took; of the others no file is left.
func TestWanted(t *testing.T) {
	h := &host{dir: t.TempDir(), order: Order{Want: []Span{{1, 2}, {1.5e-4, 3e-4}}}, again: func(*Launch) int { return 1 }}
	newFakeDriver(t).run(t, h, "work", true, "WORK=frontier", "COUNT=30")
	kept, first := 0, 0
	for i, c := range h.got {
		_, err := os.Stat(h.paths[i])
		switch {
		case c.Why == Unwanted && c.Took < 1.5e5 && err != nil:
		case c.Why == "" && err == nil && i == 0 && c.Took == 0: // the driver loads the kernel
			first++
		case c.Why == "" && err == nil && c.Took > 1.9e5 && c.Took < 2.1e5:
			kept++
		default:
			t.Errorf("launch %d: %+v, %v", i+1, c, err)
		}
	}
	if kept != 6 || first != 1 || len(h.got) != 30 || len(h.why)+len(h.lost) > 0 {
		t.Errorf("%d and %d of %d are kept, %q, %q", first, kept, len(h.got), h.why, h.lost)
	}
}

// BenchmarkLaunch: what a launch costs the program's thread in the agent, observed.
func BenchmarkLaunch(b *testing.B) {
	f := newFakeDriver(b)
	for b.Loop() {
		var took [2]time.Duration
		for i, n := range []int{1000, 2001000} {
			begun := time.Now()
			f.run(b, &host{}, "many", true, fmt.Sprint("COUNT=", n))
			took[i] = time.Since(begun)
		}
		b.ReportMetric(float64(took[1]-took[0])/2e6, "ns/launch")
	}
}

// TestNormal: a captured launch's arguments as its set has them: an address as whether there is one,
// in the words that the agent has, of which the last may be longer than the arguments.
func TestNormal(t *testing.T) {
	mask := []byte{1, 1, 1, 1, 1, 1, 1, 1, 255, 255, 255, 255, 255, 255, 255, 255}
	for _, c := range []struct{ args, want string }{
		{"\x00\x00\x20\x7f\x01\x00\x00\x00\x07\x00\x00\x00\x03", "\x01\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x03\x00\x00\x00"},
		{"\x00\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x03\x02\x01\x00", "\x00\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x03\x02\x01\x00"},
	} {
		if got := Normal(mask, []byte(c.args)); string(got) != c.want {
			t.Errorf("%x, want %x", got, c.want)
		}
	}
	if got := Normal(nil, []byte{1, 2}); string(got) != "\x01\x02" {
		t.Errorf("without a mask: %x", got)
	}
}
