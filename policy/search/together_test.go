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
	tuner := NewRun(context.Background(), policy.Defaults(), nil, nil, nil, nil)
	launch := func(attributes ...string) profile.Seen {
		return profile.Seen{Launch: &profile.Launch{Kernel: "k", Device: simDevice, Count: 1,
			Shape: profile.Shape{Grid: [3]int{8, 1, 1}, Block: [3]int{32, 1, 1}}, LaunchAttributes: attributes}}
	}
	for i, s := range []profile.Seen{launch(), launch("cooperative"), launch(), launch("priority")} {
		tuner.Saw([]profile.Seen{s})
		if got := tuner.order[0].Configs[0].Launch.Together(); got != (i > 0) {
			t.Errorf("after launch %d: %v", i, got)
		}
	}
}
