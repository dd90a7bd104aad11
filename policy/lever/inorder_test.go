package lever

import (
	"testing"

	"gnvcc/policy"
)

// TestInorderTried: two loads that have an order, and a store.
func TestInorderTried(t *testing.T) {
	for _, c := range []struct {
		ordered, stores, want int
	}{{2, 1, 1}, {1, 1, 0}, {0, 8, 0}, {2, 0, 0}} {
		s := &Situation{Kernel: &policy.Kernel{Loads: 8, Ordered: c.ordered, Stores: c.stores}}
		if got := levers()["inorder"].Try(s); len(got) != c.want {
			t.Errorf("%d loads in order, %d stores: %v", c.ordered, c.stores, got)
		}
	}
}
