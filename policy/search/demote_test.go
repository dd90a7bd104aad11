package search

import (
	"fmt"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/report"
	"gnvcc/rewrite/recipe"
)

// TestDemoteWinsOverSpilling: where demotion gains more than a cap alone, it is what is adopted,
// for blocks of that size only.
func TestDemoteWinsOverSpilling(t *testing.T) {
	k := &simKernel{
		Kernel: policy.Kernel{Loads: 2, Default: cache.Build{Registers: 78}},
		regs: func(r recipe.Recipe) int {
			n := 78
			if v := get(r, "maxnreg"); v != "" {
				fmt.Sscan(v, &n)
			}
			return min(n, 78)
		},
		speed: func(r recipe.Recipe, s policy.Shape) float64 {
			switch demoted := get(r, "demote"); {
			case demoted == "31:static":
				return 0.7
			case demoted != "":
				return 0.8
			case get(r, "maxnreg") == "48":
				return 0.9
			}
			return 1
		},
	}
	g := newSim(t, k)
	o := simOptions()
	o.Levers = []string{"demote", "maxnreg"}
	results, _ := g.run(o, one("_Z1aPfi", shape(8192, 128)))
	d := results[0].Decision
	if d == nil || !strings.HasPrefix(d.Recipe, "demote=31:static ") || !strings.Contains(d.Recipe,
		"spec{host(block)=128x1x1,") {
		t.Fatalf("decided %+v", d)
	}
	if d.Exactness != "checked" {
		t.Errorf("exact by %s", d.Exactness)
	}
	if e := report.NewEntry(*d); !strings.Contains(e.Words,
		"31 words of each thread kept in shared memory") {
		t.Errorf("in words: %s", e.Words)
	}
}
