package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
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
		{"one kernel, in part", []int{8}, func(s []int) float64 { return float64(s[0]) * 2 }, []int{5}, 4},
		{"many degrees", []int{64}, func(s []int) float64 { return float64(s[0]) }, []int{10}, 6},
		{"the first spoils it", []int{2, 2}, func(s []int) float64 { return float64(100*s[0] + s[1]) }, []int{0, 2}, 4},
		{"errors add up", []int{3, 3}, func(s []int) float64 { return float64(3*s[0] + 2*s[1]) }, []int{3, 0}, 5},
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

// TestJudgedRun: for a judge, a run decides on the same bits, and gives approximations with their times to choose from.
func TestJudgedRun(t *testing.T) {
	k := divisions()
	speed := k.speed
	off := k.off
	k.off = func(r recipe.Recipe) float64 {
		if get(r, "approx") == "div.full" {
			return 1e-7
		}
		return off(r)
	}
	k.speed = func(r recipe.Recipe, s Shape, plain bool) float64 {
		if get(r, "approx") == "div.full" {
			return 0.8
		}
		if get(r, "ld") == "cs" {
			return 0.9 * speed(r, s, plain)
		}
		return speed(r, s, plain)
	}
	g := newSim(t, k)
	o := simOptions()
	o.Exact, o.Judged = rewrite.Approximate, true
	results, _ := g.run(o, one("_Z1aPfi", shape(1000, 256)))
	r := results[0]
	if r.Decision == nil || r.Decision.Recipe != "ld=cs" || r.Decision.Exactness == "approximate" || g.decisions["id-_Z1aPfi"].Recipe != "ld=cs" {
		t.Errorf("decided %+v", r.Decision)
	}
	// What the values are need not be known for a judge.
	mixed := divisions()
	mixed.Writes = ""
	other, _ := newSim(t, mixed).run(o, one("_Z1aPfi", shape(1000, 256)))
	if n := len(other[0].Approximate); n == 0 || !strings.Contains(other[0].Approximate[n-1].Evidence.Note, "not known how far") {
		t.Errorf("a kernel with values of several types: %d approximations", n)
	}
	var degrees []string
	for _, d := range r.Approximate {
		if d.Exactness != "approximate" || !strings.Contains(d.Recipe, "approx=") || d.Identity != "id-_Z1aPfi" {
			t.Errorf("%s, %s", d.Recipe, d.Exactness)
		}
		degrees = append(degrees, d.Recipe)
	}
	if !slices.Contains(degrees, "approx=div.full") {
		t.Errorf("to choose from: %v, not the other form", degrees)
	}
	if len(degrees) < 4 || degrees[len(degrees)-1] != "approx=all ld=cs" || !strings.Contains(degrees[1], ":warps<2") || r.Saves <= 0 {
		t.Errorf("to choose from: %v, saving %g", degrees, r.Saves)
	}
}
