package search

import (
	"slices"
	"strings"
	"testing"

	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// TestJudgedRun: for a judge, a run decides on the same bits, and gives approximations with their
// times to choose from.
func TestJudgedRun(t *testing.T) {
	k := divisions()
	k.speed = takes(map[string]float64{"approx=all": 0.5, "approx=div.full": 0.8, "hint@ld=cs": 0.9})
	off := k.off
	k.off = func(r recipe.Recipe) float64 {
		if has(r, "approx=div.full") {
			return 1e-7
		}
		return off(r)
	}
	g := newSim(t, k)
	o := simOptions()
	o.Exact, o.Judged = rewrite.Approximate, true
	results, _ := g.run(o, one("_Z1aPfi", shape(1000, 256)))
	r := results[0]
	if r.Decision == nil || r.Decision.Recipe != "hint@ld=cs" || r.Decision.Exactness == "approximate" ||
		g.decisions["id-_Z1aPfi"].Recipe != "hint@ld=cs" {
		t.Errorf("decided %+v", r.Decision)
	}
	// What the values are need not be known for a judge.
	mixed := divisions()
	mixed.Writes = ""
	other, _ := newSim(t, mixed).run(o, one("_Z1aPfi", shape(1000, 256)))
	if n := len(other[0].Approximate); n == 0 ||
		!strings.Contains(other[0].Approximate[n-1].Evidence.Note, "by an unknown amount") {
		t.Errorf("a kernel with values of several types: %d approximations", n)
	}
	var choices []string
	for _, d := range r.Approximate {
		if d.Exactness != "approximate" || !strings.Contains(d.Recipe, "approx=") ||
			d.Identity != "id-_Z1aPfi" {
			t.Errorf("%s, %s", d.Recipe, d.Exactness)
		}
		choices = append(choices, d.Recipe)
	}
	if !slices.Contains(choices, "approx=div.full") {
		t.Errorf("to choose from: %v, not the other form", choices)
	}
	if choices[len(choices)-1] != "approx=all hint@ld=cs" || r.Saves <= 0 {
		t.Errorf("to choose from: %v, saving %g", choices, r.Saves)
	}
}
