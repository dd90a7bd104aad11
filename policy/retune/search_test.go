package retune

import (
	"testing"

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
