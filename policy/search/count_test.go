package search

import (
	"errors"
	"testing"
	"time"

	"gnvcc/policy"
	"gnvcc/policy/check"
	"gnvcc/rewrite/recipe"
)

// TestCounted: nvcc's own code is counted once for each configuration, behind everything else, what
// won once more, and the counts stand in the decision; a build that was noticed, or can't be had,
// gives none.
func TestCounted(t *testing.T) {
	for name, c := range map[string]struct {
		refuse bool
		bits   bool
		wins   bool
		time   float64
		want   int // tables read
	}{
		"counted": {want: 1},
		"won":     {wins: true, want: 2},
		"refused": {refuse: true},
		"noticed": {bits: true},
		"long":    {time: 1e9},
	} {
		k := &simKernel{time: c.time, blocks: []uint64{5, 6}}
		if c.wins {
			k.Kernel = sources(k.Kernel)
			k.speed = func(r recipe.Recipe, _ policy.Shape) float64 {
				if get(r, "unroll") == "4" {
					return 0.5
				}
				return 1
			}
		}
		if c.bits {
			k.trouble = fails("counting=on", "bits", 0)
		}
		g := newSim(t, k)
		asked := 0
		g.counting = func() (err error) {
			if asked++; c.refuse {
				err = errors.New("it can't be counted")
			}
			return err
		}
		o := simOptions()
		if c.wins {
			o.Levers = []string{"unroll"}
		}
		if c.time > 0 {
			o.Budget = 5 * time.Minute
		}
		l := appLaunch{kernel: k.Name, shape: shape(100, 256)}
		results, _ := g.run(o, app{launches: l.times(4)})
		got := results[0].Decision.Evidence.Launches[0]
		if g.reads != c.want || (got.Counts != nil) != (c.want > 0) || (got.Chosen != nil) != c.wins {
			t.Errorf("%s: asked %d times, %d reads, %+v", name, asked, g.reads, got)
		}
		if got.Counts == nil {
			continue
		}
		if b := append(got.Counts.Blocks, 0, 0); got.Counts.Rule != check.Rule || b[0] != 5 || b[1] != 6 {
			t.Errorf("%s: %+v", name, got.Counts)
		}
		// Another run finds the counts in the notebook.
		g.run(o, app{launches: l.times(4)})
		if g.reads != c.want {
			t.Errorf("%s: counted again", name)
		}
	}
}
