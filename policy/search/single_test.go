package search

import (
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/policy/report"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// TestEveryLever: after a search the report has a line for every lever of the table: a figure, a
// refusal, or why nothing was tried.
func TestEveryLever(t *testing.T) {
	for name, c := range map[string]struct {
		kernel  policy.Kernel
		options func(*policy.Options)
		want    map[string]string // lever -> a part of its reason
	}{
		"bare": {policy.Kernel{Default: cache.Build{Registers: 32}}, func(o *policy.Options) {},
			map[string]string{"hint": "no plain access to global memory",
				"unroll": "no loop"}},
		"bounds": {policy.Kernel{Bounds: "__maxnreg__(64)", Loads: 3, Stores: 1, Calls: true},
			func(o *policy.Options) {
				o.Without, o.Keep = []string{"hint"}, true
			},
			map[string]string{"maxnreg": "__maxnreg__(64) is kept", "hint": "excluded by this run's options"}},
		"exact": {policy.Kernel{Loads: 3}, func(o *policy.Options) {
			o.Exact = rewrite.ByConstruction
		},
			map[string]string{"bypass": "not exact by construction"}},
	} {
		g := newSim(t, &simKernel{Kernel: c.kernel, speed: func(r recipe.Recipe, s policy.Shape) float64 {
			return 1
		}})
		o := simOptions()
		c.options(&o)
		results, _ := g.run(o, one("_Z1aPfi", shape(1000, 256)))
		by := map[string]report.Single{}
		for _, s := range report.NewEntry(*results[0].Decision).Levers {
			by[s.Lever] = s
		}
		for _, l := range lever.All() {
			if s, ok := by[l.Name]; !ok || s.Measured == 0 && s.Why == "" {
				t.Errorf("%s: nothing is said of %s: %+v", name, l.Name, s)
			}
		}
		for lever, want := range c.want {
			if s := by[lever]; !strings.Contains(s.Why, want) {
				t.Errorf("%s: %s: %q, want %q", name, lever, s.Why, want)
			}
		}
	}
}
