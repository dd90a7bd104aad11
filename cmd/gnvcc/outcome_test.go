package main

import (
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/watch"
)

// TestOutcome: an edited kernel of which no launch could be measured is left alone for a reason,
// also where that was decided: one that faults, say.
func TestOutcome(t *testing.T) {
	s := &editedSearch{job: watch.Job{Kernel: watch.Kernel{Identity: "a"}}, trouble: "it faulted"}
	of := func(e cache.Evidence) watch.Outcome {
		return s.outcome([]decide.Result{{Kernel: policy.Kernel{Identity: "a"},
			Decision: &cache.Decision{Identity: "a", Evidence: e}}})
	}
	if out := of(cache.Evidence{}); out.Why != "it faulted" {
		t.Errorf("%+v", out)
	}
	if out := of(cache.Evidence{Note: "noted"}); out.Why != "noted" {
		t.Errorf("%+v", out)
	}
	if out := of(cache.Evidence{Launches: make([]cache.Launch, 1)}); out.Why != "" {
		t.Errorf("%+v", out)
	}
}

// TestSummary: a kernel is best as it is where that was measured, and nowhere else.
func TestSummary(t *testing.T) {
	of := func(recipe string, launches int) decide.Result {
		return decide.Result{Decision: &cache.Decision{Recipe: recipe,
			Evidence: cache.Evidence{Launches: make([]cache.Launch, launches), Note: "noted"}}}
	}
	var said strings.Builder
	summary(&said, []decide.Result{of("maxnreg=32", 1), of("", 2), of("", 0), of("", 0), {}},
		"nothing was compiled", time.Second)
	if want := "5 kernels: 1 can be faster, 1 best as nvcc builds them, 3 left alone"; !strings.Contains(
		said.String(), want) {
		t.Errorf("said %q; want %q", said.String(), want)
	}
}
