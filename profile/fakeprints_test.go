package profile

import (
	"math"
	"strings"
	"testing"
)

// TestPrints: in a replay a candidate must print the lines that the original prints, as many of
// each, in any order; whatever else it leaves, and however often it was timed before. Elsewhere
// nobody reads what is printed.
func TestPrints(t *testing.T) {
	f := newFakeDriver(t)
	for what, same := range map[string]bool{
		"one\ntwo\ntwo\n": true, "two\none\ntwo\n": true,
		"": false, "one\ntwo\n": false, "one\none\ntwo\n": false, "one\ntwo\ntwo": false,
		"one\ntwo\nten\n": false, "one\ntwo\ntwo\n\n": false,
	} {
		h := &scripted{}
		h.tune = func(l *Launch, s Session) Verdict {
			c, _, err := s.Load("/some/cubin", "")
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := s.Measure(c, 3, Measurement{}); err != nil {
					t.Error(err)
				}
				own, err := s.Check(Original)
				if err != nil || !own.Same {
					t.Errorf("%q: the original differs from itself: %v, %v", what, own, err)
				}
				d, err := s.Check(c)
				if err != nil || d.Same != same {
					t.Errorf("%q: %v, %v; want %v", what, d, err, same)
				}
				if !same && (!math.IsInf(d.Relative32, 1) || !math.IsInf(d.Mean64, 1) ||
					!strings.Contains(d.String(), "what it printed")) {
					t.Errorf("%q: %v: %+v", what, d, d)
				}
			}
			return Verdict{}
		}
		if exit, log := f.run(t, h, "replay", false, "PRINTS="+what); exit.Code != 7 || log != "" {
			t.Errorf("%q: %+v, %q", what, exit, log)
		}
		if len(h.launch) != 1 {
			t.Fatalf("%q: %d launches", what, len(h.launch))
		}
	}
}
