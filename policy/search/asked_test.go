package search

import (
	"strings"
	"testing"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// TestAsked: a program that asks for a kernel's occupancy is told what it was told before; what
// leaves the answer as it is, is adopted.
func TestAsked(t *testing.T) {
	more := func(r recipe.Recipe) int {
		if r.IsDefault() {
			return 40
		}
		return 48
	}
	for name, c := range map[string]struct {
		lever, wins string
		regs        func(recipe.Recipe) int
		asks, want  bool
	}{
		"same registers":        {"hint", "hint@ld=cs", nil, true, true},
		"more registers":        {"hint", "hint@ld=cs", more, true, false},
		"nobody asks":           {"hint", "hint@ld=cs", more, false, true},
		"a kernel of their own": {"spec", "blockDim.x=256", more, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			k := &simKernel{Kernel: sources(policy.Kernel{Loads: 8}),
				speed: takes(map[string]float64{c.wins: 0.7}), regs: c.regs}
			g := newSim(t, k)
			o := simOptions()
			o.Levers = []string{c.lever}
			l := appLaunch{kernel: "_Z1aPfi", shape: shape(1000, 256), n: 7}
			if c.asks { // an earlier run of a program that does not
				g.run(o, app{launches: l.times(20)})
			}
			results, _ := g.run(o, app{launches: l.times(20), asks: c.asks})
			d := results[0].Decision
			if (d.Recipe != "") != c.want || strings.Contains(d.Evidence.Note, "asks the driver") == c.want {
				t.Errorf("decided %q, note %q", d.Recipe, d.Evidence.Note)
			}
		})
	}
}
