package lever

import (
	"fmt"
	"testing"

	"gnvcc/policy"
)

// TestLoadParts: the sets of loads that hints are tried on.
func TestLoadParts(t *testing.T) {
	for _, c := range []struct {
		k    *policy.Kernel
		want string
	}{
		{Streams.Put(&policy.Kernel{Loads: 3}, []int{0, 0, 1}), "[[0 1] [2] [0] [1]]"},
		{Streams.Put(&policy.Kernel{Loads: 9}, []int{0, 0, 0, 0, 0, 0, 0, 0, 0}), "[]"},
		{Streams.Put(&policy.Kernel{Loads: 2}, []int{-1, -1}), "[[0] [1]]"},
		{Streams.Put(&policy.Kernel{Loads: 1}, []int{0}), "[]"},
		{Streams.Put(&policy.Kernel{Loads: 8}, []int{0, 1, 2, 3, 4, 5, 6, 7}), "[]"},
	} {
		if got := fmt.Sprint(loadParts(c.k)); got != c.want {
			t.Errorf("%v: %s, want %s", Streams.Of(c.k), got, c.want)
		}
	}
}
