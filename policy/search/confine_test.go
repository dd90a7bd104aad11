package search

import (
	"strings"
	"testing"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// A kernel whose remainder no launch ran: what unrolling gains is for the launches that were checked
// alone, each in an entry of its own; where all blocks ran it is for all launches, and without a
// second entry for none.
func TestConfined(t *testing.T) {
	for name, c := range map[string]struct {
		blocks []uint64
		none   string // why it has no second entry
		data   bool   // memory decides what runs
		want   []string
		not    []string
		note   string
	}{
		"covered":             {blocks: []uint64{9, 1}, want: []string{"unroll=4"}, not: []string{"spec"}},
		"by data, and it ran": {blocks: []uint64{9, 1}, data: true, want: []string{"unroll=4"}, not: []string{"spec"}},
		"by data": {blocks: []uint64{9, 0}, data: true,
			note: "unroll=4 is faster, but 2 of 4 places in its code that compute, store or select did not run in the checked launches, " +
				"and data alone decides whether they do"},
		"uncovered": {blocks: []uint64{9, 0}, want: []string{"unroll=4", "host(#1:4)=1}", "host(#1:4)=2}",
			"host(grid)=1000x1x1", "host(block)=256x1x1", "host(dynamic)=0"}, not: []string{"#1:4)=3"}},
		"no entry": {blocks: []uint64{9, 0}, none: "-rdc=true: no",
			note: "2 of 4 places in its code that compute, store or select did not run in the checked launches, and no " +
				"second entry can be made for such launches only: -rdc=true: no"},
	} {
		k := &simKernel{Kernel: sources(policy.Kernel{NoSecond: c.none}), blocks: c.blocks, data: c.data,
			speed: func(r recipe.Recipe, s policy.Shape) float64 {
				if get(r, "unroll") == "4" && s.Set != "n3" {
					return 0.5
				}
				return 1
			},
			code: func(r recipe.Recipe) string { return r.Without(recipe.Second).String() + "." }}
		g := newSim(t, k)
		a := app{}
		for range 30 {
			for n := int32(1); n <= 3; n++ {
				a.launches = append(a.launches, appLaunch{kernel: "_Z1aPfi", shape: of(shape(1000, 256), n), n: n})
			}
		}
		o := simOptions()
		o.Levers, o.Full = []string{"unroll"}, 8
		results, _ := g.run(o, a)
		d := results[0].Decision
		for _, w := range c.want {
			if !strings.Contains(d.Recipe, w) {
				t.Errorf("%s: no %s in %q", name, w, d.Recipe)
			}
		}
		for _, w := range c.not {
			if strings.Contains(d.Recipe, w) {
				t.Errorf("%s: %s in %q", name, w, d.Recipe)
			}
		}
		if c.note != "" && (d.Recipe != "" || !strings.Contains(d.Evidence.Note, c.note)) {
			t.Errorf("%s: %q, %s", name, d.Recipe, d.Evidence.Note)
		}
		for r, n := range g.measured {
			if strings.Contains(r, "spec{") && n > 0 {
				t.Errorf("%s: %s has the code of what won, and was measured", name, r)
			}
		}
		for _, l := range d.Evidence.Launches {
			if faster := l.After.Median < 0.6*l.Before.Median; faster != (d.Recipe != "" && l.Set != "n3") {
				t.Errorf("%s: %+v", name, l)
			}
		}
	}
}
