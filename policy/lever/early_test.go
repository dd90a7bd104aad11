package lever

import (
	"slices"
	"testing"

	"gnvcc/policy"
	"gnvcc/rewrite/source"
)

// TestEarlyTried: where a load stands behind a store; in a loop with more turns at once, too.
func TestEarlyTried(t *testing.T) {
	loop := []source.Loop{{Kind: "for", Inner: true}}
	for _, c := range []struct {
		early int
		loops []source.Loop
		want  []string
	}{
		{0, loop, nil},
		{3, nil, []string{"early=on"}},
		{3, loop, []string{"early=on", "early=on unroll=8", "early=on unroll=16"}},
	} {
		s := &Situation{Kernel: &policy.Kernel{Loads: 8, Stores: 8, Early: c.early, Loops: c.loops}}
		var got []string
		for _, r := range levers()["early"].Try(s) {
			got = append(got, r.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%d loads, %d loops: %q, want %q", c.early, len(c.loops), got, c.want)
		}
	}
}
