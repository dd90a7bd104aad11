package search

import (
	"context"
	"testing"

	"gnvcc/policy"
	"gnvcc/profile"
)

// TestTogetherStays: a configuration of which a launch is cooperative counts as such, also where
// another process, or the last one, launched it as any other.
func TestTogetherStays(t *testing.T) {
	tuner := NewTuner(context.Background(), policy.Defaults(), nil, nil, nil, nil)
	launch := func(attributes ...string) profile.Seen {
		return profile.Seen{Launch: &profile.Launch{Kernel: "k", Grid: [3]int{8, 1, 1},
			Block: [3]int{32, 1, 1}, Device: simDevice, LaunchAttributes: attributes, Count: 1}}
	}
	for i, s := range []profile.Seen{launch(), launch("cooperative"), launch(), launch("priority")} {
		tuner.End(&profile.Process{}, profile.Summary{Whole: true, Kernels: []profile.Seen{s}})
		if got := tuner.order[0].Configs[0].Launch.Together(); got != (i > 0) {
			t.Errorf("after launch %d: %v", i, got)
		}
	}
}

// TestOwns: what launches waited for others is no time of their own, however often that is said.
func TestOwns(t *testing.T) {
	tuner := NewTuner(context.Background(), policy.Defaults(), nil, nil, nil, nil)
	l := &profile.Launch{Kernel: "k", Grid: [3]int{8, 1, 1}, Block: [3]int{32, 1, 1}, Device: simDevice, Count: 4}
	tuner.End(&profile.Process{}, profile.Summary{Whole: true,
		Kernels: []profile.Seen{{Launch: l, Seconds: 8}}})
	for _, part := range []float64{0, 0.25, 0.25} {
		tuner.Owns(capturedOf(l, policy.ShapeOf(l)), part)
	}
	if got := tuner.order[0].Configs[0].Seconds; got != 2 {
		t.Errorf("%g seconds", got)
	}
}
