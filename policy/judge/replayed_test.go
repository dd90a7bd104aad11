package judge

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gnvcc/profile"
	"gnvcc/rewrite/manner"
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

func (f *fake) Golden() (profile.Written, error) {
	if f.nothing {
		return profile.Written{}, nil
	}
	return profile.Written{Allocations: 1, Bytes: 8}, nil
}
func (f *fake) Load(string, string) (profile.Candidate, profile.Attributes, error) {
	return 1, profile.Attributes{}, nil
}
func (f *fake) LoadAs(string, string, manner.Manner) (profile.Candidate, profile.Attributes,
	error) {
	return 1, profile.Attributes{}, nil
}
func (f *fake) Unload(profile.Candidate) error { return nil }
func (f *fake) Measure(c profile.Candidate, n int, _ profile.Measurement) ([]float64, error) {
	out := make([]float64, n)
	for i := range out {
		out[i] = 1e6 + float64(i%3)
		if c != profile.Original {
			out[i] *= f.time
		}
	}
	return out, nil
}
func (f *fake) Check(c profile.Candidate) (profile.Difference, error) {
	if c == profile.Original {
		return profile.Difference{Same: !f.original}, nil
	}
	f.checks++
	if f.keeps {
		f.state++
	}
	d := profile.Difference{Same: f.differs == nil || !f.differs(f.checks), Words: 3, Where: "allocation 1",
		Offset: 8, Want: 1, Got: 2, Relative32: 1e-6, Relative64: 1e-15}
	return d, f.err
}
func (f *fake) CheckUnder(c profile.Candidate, _ profile.Schedule) (profile.Difference, error) {
	return f.Check(c)
}
func (f *fake) Read(profile.Candidate, string, int) ([]byte, error) { return []byte{f.state}, nil }

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
			"the original itself"},
	} {
		r := &Replayed{Within: c.within, Numbers: c.numbers, Timed: true,
			Variables: []cubin.Global{{Name: "done", Size: 1}}}
		r.Search(context.Background(), &profile.Launch{Capture: "a"}, &c.f)
		if !r.Done || r.How != c.how || r.Equal != (c.how == Same || c.how == Near) ||
			!strings.Contains(r.Why, c.why) {
			t.Errorf("%s: %+v, want %s (%s)", c.name, r.Verdict, c.how, c.why)
		}
		if more := r.Vary(context.Background(), 1, &profile.Launch{}, &c.f); more != r.Equal {
			t.Errorf("%s: varied data wanted: %v", c.name, more)
		}
		if c.how == Same && (r.Speed.Ratio.Estimate < 0.79 || r.Speed.Ratio.High > 0.81) {
			t.Errorf("%s: %+v", c.name, r.Speed.Ratio)
		}
	}
	r := &Replayed{}
	r.Search(context.Background(), &profile.Launch{}, &fake{nothing: true})
	if r.Changes || !r.Equal {
		t.Errorf("an original that changes nothing: %+v", r)
	}
	r = new(Replayed)
	if r.Visit().Alone(&profile.Launch{}, "it prints"); !r.Done || r.Equal {
		t.Errorf("a launch that can't be repeated: %+v", r)
	}
}
