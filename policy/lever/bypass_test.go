package lever

import (
	"strings"
	"testing"

	"gnvcc/policy"
)

// TestBypassValues: thresholds for L1 as long as some warps are on either side, for L2 from none
// on, where policies are known.
func TestBypassValues(t *testing.T) {
	for _, c := range []struct {
		threads, cc int
		want        string
	}{
		{256, 90, "1 2 3 4 6 L2:0 L2:2 L2:4 L2:6"},
		{1024, 80, "1 2 3 4 8 16 24 L2:0 L2:8 L2:16 L2:24"},
		{256, 75, "1 2 3 4 6"},
		{64, 90, "1 L2:0 L2:1"},
		{32, 90, "L2:0"},
		{32, 75, ""},
	} {
		var got []string
		for _, r := range levers()["bypass"].Try(&Situation{Kernel: &policy.Kernel{Loads: 1, CC: c.cc},
			Shape: shape(10, c.threads)}) {
			value, _ := r.Get("bypass", "")
			got = append(got, value)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("sm_%d, %d threads: %v, want %s", c.cc, c.threads, got, c.want)
		}
	}
}
