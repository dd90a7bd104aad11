package lever

import (
	"testing"

	"gnvcc/policy"
)

// TestDivideTried: where the pass takes a division.
func TestDivideTried(t *testing.T) {
	for divided, want := range map[int]int{0: 0, 1: 1, 12: 1} {
		s := &Situation{Kernel: &policy.Kernel{Divided: divided}}
		if got := levers()["divide"].Try(s); len(got) != want {
			t.Errorf("%d divisions: %v", divided, got)
		}
	}
}
