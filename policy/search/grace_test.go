package search

import (
	"strings"
	"testing"
	"time"

	"gnvcc/policy"
	"gnvcc/policy/measure"
	"gnvcc/policy/stats"
	"gnvcc/rewrite/recipe"
)

// TestGrace: the comparisons at a search's end may exceed its budget by what the run can spare.
func TestGrace(t *testing.T) {
	now := time.Now()
	for grace, want := range map[time.Duration]bool{0: false, time.Second: true} {
		s := &search{t: &Run{now: func() time.Time { return now }}, p: &Plan{Grace: grace},
			ctx: t.Context(), end: now, on: measure.Launch{First: []float64{1e6}, Plan: stats.Standard.Plan([]float64{1e6})}}
		if s.grant(); s.affords() != want {
			t.Errorf("with %v a comparison is affordable: %v", grace, s.affords())
		}
	}
}

// TestOpen: of the best that was measured it is said why it is not adopted.
func TestOpen(t *testing.T) {
	s := &search{c: &Config{k: &kernel{}}}
	r, _ := recipe.Parse("unroll=4")
	tr := &policy.Trial{Recipe: r, Text: "unroll=4", Ratio: 0.54}
	s.c.Notebook.Trials = []*policy.Trial{tr}
	if s.leave(tr, "no time was left") != later {
		t.Error("it is no candidate for a later run")
	}
	if got := s.c.outcome().Open; !strings.Contains(got, "unroll=4 took 0.54x the default's time, but no time") {
		t.Errorf("said: %q", got)
	}
}

// TestSlow: a kernel of which ptxas takes seconds gets the most promising values first, as one of long
// launches does; what its budget left over is counted.
func TestSlow(t *testing.T) {
	s := &search{t: &Run{pool: &pool{n: 2}}, p: &Plan{Budget: time.Minute}, c: &Config{k: &kernel{}},
		on: measure.Launch{First: []float64{1e5}}, asked: map[string]bool{"unroll=4": true, "unroll=8": true}}
	for compile, want := range map[time.Duration]bool{0: false, 20 * time.Millisecond: false, 2400 * time.Millisecond: true} {
		if s.oneCompile = compile; s.slow(50) != want {
			t.Errorf("50 values of %v are too many: %v", compile, !want)
		}
	}
	s.c.Notebook.Trials = []*policy.Trial{{Text: "unroll=4"}}
	s.c.left, s.c.cut = s.open(), true
	if s.c.Left() != 1 {
		t.Errorf("%d candidates not tried", s.c.Left())
	}
	if s.c.cut = false; s.c.Left() != 0 {
		t.Error("a search that was not cut off has left some over")
	}
}
