package decide

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		name  string
		sizes []int
		error func(s []int) float64
		want  []int
		most  int // questions
	}{
		{"nothing to choose", []int{0, 0}, func([]int) float64 { panic("asked") }, []int{0, 0}, 0},
		{"all is right", []int{4, 0, 3}, func([]int) float64 { return 1 }, []int{4, 0, 3}, 1},
		{"one kernel, in part", []int{8}, func(s []int) float64 {
			return float64(s[0]) * 2
		}, []int{5}, 4},
		{"the first spoils it", []int{2, 2}, func(s []int) float64 {
			return float64(100*s[0] + s[1])
		}, []int{0, 2}, 4},
		{"errors add up", []int{3, 3}, func(s []int) float64 {
			return float64(3*s[0] + 2*s[1])
		}, []int{3, 0}, 5},
		{"nothing is right", []int{3, 2}, func(s []int) float64 { return 1000 }, []int{0, 0}, 6},
		{"yes and no", []int{4}, func(s []int) float64 {
			if s[0] > 2 {
				return 1e9
			}
			return 0
		}, []int{2}, 3},
	} {
		seen := map[string]bool{}
		got, err := Choose(c.sizes, 10, func(s []int) (float64, error) {
			if key := fmt.Sprint(s); seen[key] {
				t.Errorf("%s: %v was judged twice", c.name, s)
			} else {
				seen[key] = true
			}
			return c.error(s), nil
		})
		if err != nil || !slices.Equal(got, c.want) || len(seen) > c.most {
			t.Errorf("%s: %v, %v, %d questions; want %v by %d", c.name, got, err, len(seen), c.want, c.most)
		}
		if some := slices.Max(got) > 0; some && (c.error(got) > 10 || !seen[fmt.Sprint(got)]) {
			t.Errorf("%s: %v was not judged, or is wrong", c.name, got)
		}
	}
	lost := errors.New("lost")
	if _, err := Choose([]int{2}, 1, func([]int) (float64, error) { return 0, lost }); err != lost {
		t.Error(err)
	}
}
