package lever

import (
	"fmt"
	"testing"

	"gnvcc/policy"
)

// An order is tried where it is asked for, and the grid has rows and columns.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		levers []string
		grid   [3]int
		awaits string
		want   string
	}{
		{[]string{"order"}, [3]int{9, 16, 1}, "", "[order=transposed order=groups.4 order=groups.8]"},
		{[]string{"order"}, [3]int{9, 2, 5}, "", "[order=transposed]"},
		{nil, [3]int{9, 16, 1}, "", "[]"},
		{[]string{"order"}, [3]int{99, 1, 9}, "", "[]"},
		{[]string{"order"}, [3]int{1, 99, 9}, "", "[]"},
		{[]string{"order"}, [3]int{9, 16, 1}, "atom.global.add", "[]"},
	} {
		got := Named("order").Try(&Situation{Kernel: &policy.Kernel{Name: "k", Awaits: c.awaits},
			Options: &policy.Options{Levers: c.levers}, Shape: policy.Shape{Grid: c.grid}})
		if fmt.Sprint(got) != c.want {
			t.Errorf("--levers %v, %v, %q: %v, want %s", c.levers, c.grid, c.awaits, got, c.want)
		}
	}
}
