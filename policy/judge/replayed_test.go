package judge

import (
	"errors"
	"strings"
	"testing"

	"gnvcc/profile"
	"gnvcc/profile/profiletest"
	"gnvcc/profile/replay"
	"gnvcc/sim/cubin"
)

// A fake is a session in which nothing runs; what an edit does there is told.
type fake struct {
	checks            int
	differs           func(check int) bool // from 1
	err               error                // of checks
	original, nothing bool                 // the original is not steady; changes nothing
	state             byte
	keeps             bool
	time              float64
}

func (f *fake) session() *profiletest.Session {
	s := &profiletest.Session{Wrote: profile.Written{Allocations: 1, Bytes: 8}}
	if f.nothing {
		s.Wrote = profile.Written{}
	}
	n := 0
	s.Time = func(c profile.Candidate, _ profile.Measurement) float64 {
		n++
		if c != profile.Original {
			return (1e6 + float64(n%3)) * f.time
		}
		return 1e6 + float64(n%3)
	}
	s.Leaves = func(c profile.Candidate, _ profile.Schedule) (profile.Difference, error) {
		if c == profile.Original {
			return profile.Difference{Same: !f.original}, nil
		}
		f.checks++
		if f.keeps {
			f.state++
		}
		return profile.Difference{Same: f.differs == nil || !f.differs(f.checks), Words: 3,
			Where: "allocation 1", Offset: 8, Want: 1, Got: 2, Relative32: 1e-6, Relative64: 1e-15}, f.err
	}
	s.Reads = func(profile.Candidate, string, int) ([]byte, error) { return []byte{f.state}, nil }
	return s
}

// TestReplayed: what an edit may do on a GPU, and what is said of it.
func TestReplayed(t *testing.T) {
	for _, c := range []struct {
		name, numbers string
		f             fake
		within        Within
		how, why      string
	}{
		{"equal", "", fake{time: 0.8}, Within{}, Same, ""},
		{"other bits", "", fake{differs: func(int) bool { return true }}, Within{}, Different,
			"allocation 1 at byte 8"},
		{"near", "float", fake{time: 1, differs: func(int) bool { return true }}, Within{Relative: 1e-5},
			Near, ""},
		{"near by a type that is not its own", "float", fake{differs: func(int) bool { return true }},
			Within{Relative: 1e-9}, Different, "words differ"},
		{"near by no type", "", fake{differs: func(int) bool { return true }}, Within{Relative: 1},
			Different, "words differ"},
		{"work skipped when data repeats", "", fake{time: 0.1, differs: func(n int) bool { return n > 1 }},
			Within{}, Different, "words differ"},
		{"something kept", "", fake{time: 0.5, keeps: true}, Within{}, Different, "in its variable done"},
		{"no end", "", fake{err: profile.ErrHung}, Within{}, Hangs, "did not end"},
		{"a fault", "", fake{err: &profile.Fault{Candidate: 1, Text: "an illegal address"}}, Within{},
			Faults, "illegal address"},
		{"the process is lost", "", fake{err: errors.New("gone")}, Within{}, Refused, "gone"},
		{"an original that is not steady", "", fake{original: true}, Within{}, Refused,
			"two runs of the original"},
	} {
		r := &Replayed{Within: c.within, Numbers: c.numbers, Timed: true,
			Variables: []cubin.Global{{Name: "done", Size: 1}}}
		on := c.f.session()
		r.stop(&replay.Stop{Session: on, Launch: &profile.Launch{Capture: "a"}})
		if !r.Done || r.How != c.how || r.Equal != (c.how == Same || c.how == Near) ||
			!strings.Contains(r.Why, c.why) {
			t.Errorf("%s: %+v, want %s (%s)", c.name, r.Verdict, c.how, c.why)
		}
		if more := r.stop(&replay.Stop{Session: on, Launch: &profile.Launch{}, Variation: 1}); more != r.Equal {
			t.Errorf("%s: varied data wanted: %v", c.name, more)
		}
		if c.how == Same && (r.Speed.Ratio.Estimate < 0.79 || r.Speed.Ratio.High > 0.81 || !r.Better) {
			t.Errorf("%s: %+v", c.name, r.Speed)
		}
	}
	r := &Replayed{}
	r.stop(&replay.Stop{Session: (&fake{nothing: true}).session(), Launch: &profile.Launch{}})
	if r.Changes || !r.Equal {
		t.Errorf("an original that changes nothing: %+v", r)
	}
	// the rule is tune's: a gain that is a loss in the other state of the L2 cache is none
	for other, better := range map[float64]bool{0.8: true, 1.2: false} {
		on := (&fake{time: 0.8}).session()
		same := on.Time
		on.Time = func(c profile.Candidate, m profile.Measurement) float64 {
			if m.Other && c != profile.Original {
				return 1e6 * other
			}
			return same(c, m)
		}
		r := &Replayed{Timed: true}
		r.stop(&replay.Stop{Session: on, Launch: &profile.Launch{Either: true}})
		if !r.Equal || r.Better != better {
			t.Errorf("%g in the other state of the cache: %+v, better %v", other, r.Speed, r.Better)
		}
	}
	// varied data on which the original does not repeat itself proves nothing
	r = &Replayed{}
	r.stop(&replay.Stop{Session: (&fake{}).session(), Launch: &profile.Launch{}})
	if !r.stop(&replay.Stop{Session: (&fake{original: true}).session(), Launch: &profile.Launch{}, Variation: 1}) || !r.Equal {
		t.Errorf("data on which the original is not steady: %+v", r)
	}
	r = new(Replayed)
	if r.stop(&replay.Stop{Launch: &profile.Launch{}, Alone: "it prints"}); !r.Done || r.Equal {
		t.Errorf("a launch that can't be repeated: %+v", r)
	}
}
