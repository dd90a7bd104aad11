package lever

import (
	"fmt"
	"testing"

	"gnvcc/policy"
)

// TestLoadParts: the sets of loads that hints are tried on.
func TestLoadParts(t *testing.T) {
	for _, c := range []struct {
		k    policy.Kernel
		want string
	}{
		{policy.Kernel{Loads: 3, Streams: []int{0, 0, 1}}, "[[0 1] [2] [0] [1]]"},
		{policy.Kernel{Loads: 9, Streams: []int{0, 0, 0, 0, 0, 0, 0, 0, 0}}, "[]"},
		{policy.Kernel{Loads: 2, Streams: []int{-1, -1}}, "[[0] [1]]"},
		{policy.Kernel{Loads: 1, Streams: []int{0}}, "[]"},
		{policy.Kernel{Loads: 8, Streams: []int{0, 1, 2, 3, 4, 5, 6, 7}}, "[]"},
	} {
		if got := fmt.Sprint(loadParts(&c.k)); got != c.want {
			t.Errorf("%v: %s, want %s", c.k.Streams, got, c.want)
		}
	}
}
