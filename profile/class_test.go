package profile

import (
	"fmt"
	"math"
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

// TestClassOf: a time is in one class, whose launches it is less than 1.25 times as long as.
func TestClassOf(t *testing.T) {
	for s := 1e-9; s < 20; s *= 1.07 {
		low := ClassOf(s)
		if ClassOf(low) != low || low > s*(1+1e-6) && low > 1e-6 || low < 9 && s > 1.25*low*(1+1e-6) {
			t.Errorf("%g s is in the class from %g on", s, low)
		}
	}
}

// TestUnlike: few long launches among many short ones are seen by the time that they take, and what
// takes less than a twentieth of it is not.
func TestUnlike(t *testing.T) {
	of := func(list ...float64) (c []Class) { // launches, seconds each
		for i := 0; i < len(list); i += 2 {
			c = JoinClasses(c, classOf(list[i], list[i]*list[i+1]))
		}
		return c
	}
	for _, c := range []struct {
		of     []Class
		spread string
		unlike bool
	}{
		{nil, "0 0", false},
		{of(100, 16e-6), "1.6e-05 1.6e-05", false},
		{of(70, 16e-6, 5, 600e-6), "1.6e-05 0.0006", true},
		{of(1000, 16e-6, 1, 600e-6), "1.6e-05 1.6e-05", false},
		{of(50, 16e-6, 50, 19e-6), "1.6e-05 1.9e-05", false},
		{of(1, 1, 1, 2, 1, 3, 1, 4, 1, 5, 1, 6, 1, 7, 1, 8), "2 8", true},
		{of(1, math.Inf(1), 1, math.NaN(), -1, 1, 0.1, 1), "0 0", false},
	} {
		least, most := Between(c.of, 0.9)
		if got := fmt.Sprintf("%.3g %.3g", least, most); got != c.spread || Unlike(c.of) != c.unlike {
			t.Errorf("%v: %s, %v", c.of, got, Unlike(c.of))
		}
	}
}
