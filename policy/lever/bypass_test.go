package lever

import (
	"strings"
	"testing"

	"gnvcc/policy"
)

// TestBypassValues: thresholds as long as some warps are on either side.
func TestBypassValues(t *testing.T) {
	for _, c := range []struct {
		threads int
		want    string
	}{
		{256, "1 2 3 4 6"},
		{1024, "1 2 3 4 8 16 24"},
		{64, "1"},
		{32, ""},
	} {
		var got []string
		for _, r := range levers()["bypass"].Try(&Situation{Kernel: &policy.Kernel{Loads: 1},
			Shape: shape(10, c.threads)}) {
			value, _ := r.Get("bypass", "")
			got = append(got, value)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%d threads: %v, want %s", c.threads, got, c.want)
		}
	}
}
