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
