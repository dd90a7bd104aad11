package profile

import (
	"slices"
	"testing"
)

func TestJoinClasses(t *testing.T) {
	a := []Class{{1e-6, 3, 3.5e-6}, {2e-6, 1, 2.25e-6}}
	b := []Class{{1.25e-6, 2, 2.6e-6}, {2e-6, 1, 2.25e-6}, {8e-6, 1, 9e-6}}
	want := []Class{{1e-6, 3, 3.5e-6}, {1.25e-6, 2, 2.6e-6}, {2e-6, 2, 4.5e-6}, {8e-6, 1, 9e-6}}
	if got := JoinClasses(a, b); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if a[1].Launches != 1 {
		t.Error("an argument was changed")
	}
}
