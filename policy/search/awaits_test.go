package search

import (
	"strings"
	"testing"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// TestAwaits: where blocks may wait for each other, a recipe that takes more registers could leave
// a block out for which the others wait for ever, on a launch that nobody has tried.
func TestAwaits(t *testing.T) {
	for awaits, want := range map[string]string{"": "maxnreg=64", "ld.volatile.global.u32": "hint@ld=cs"} {
		k := &simKernel{Kernel: policy.Kernel{Loads: 4, Awaits: awaits},
			speed: func(r recipe.Recipe, _ policy.Shape) float64 {
				switch {
				case get(r, "maxnreg") == "64" && get(r, "hint@ld") == "":
					return 0.5
				case get(r, "hint@ld") == "cs":
					return 0.8
				}
				return 1
			},
			regs: func(r recipe.Recipe) int {
				if get(r, "maxnreg") == "64" {
					return 64
				}
				return 40
			}}
		g := newSim(t, k)
		results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
		d := results[0].Decision
		if d.Recipe != want {
			t.Errorf("awaits %q: adopted %q, want %q", awaits, d.Recipe, want)
		}
		refused := false
		for _, tr := range d.Evidence.Tried {
			refused = refused || tr.Recipe == "maxnreg=64" && strings.Contains(tr.Refused,
				"wait for each other")
		}
		if refused != (awaits != "") {
			t.Errorf("awaits %q: maxnreg=64 refused: %v", awaits, refused)
		}
	}
}
