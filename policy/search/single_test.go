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
	"gnvcc/rewrite/source"
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

// TestForeign: where no levers but caps and cache hints are allowed, no other one is compiled, and
// the report says why.
func TestForeign(t *testing.T) {
	g := newSim(t, &simKernel{Kernel: policy.Kernel{Loads: 8, Stores: 2, External: "of another file",
		Loops: []source.Loop{{Site: "1", Kind: "for"}}},
		speed: func(r recipe.Recipe, s policy.Shape) float64 {
			switch {
			case lever.Has(r, "unroll"):
				return 0.3
			case lever.Has(r, "hint@ld"):
				return 0.5
			}
			return 1
		}})
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	d := results[0].Decision
	if !strings.HasPrefix(d.Recipe, "hint@ld=") || d.Evidence.Untried["unroll"] != "of another file" {
		t.Errorf("decided %q; untried: %v", d.Recipe, d.Evidence.Untried)
	}
	for _, tr := range d.Evidence.Tried {
		if r, err := recipe.Parse(tr.Recipe); err != nil || !rewrite.Neutral(r) {
			t.Errorf("%s was tried", tr.Recipe)
		}
	}
}

// TestBanned: a lever that the user banned is not tried, and the report says why.
func TestBanned(t *testing.T) {
	g := newSim(t, &simKernel{Kernel: policy.Kernel{Loads: 8, Banned: []string{"hint"}},
		speed: func(r recipe.Recipe, s policy.Shape) float64 {
			if lever.Has(r, "hint@ld") {
				return 0.5
			}
			return 1
		}})
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	d := results[0].Decision
	if d.Recipe != "" || !strings.Contains(d.Evidence.Untried["hint"], "banned") {
		t.Errorf("decided %q; hint: %q", d.Recipe, d.Evidence.Untried["hint"])
	}
	for _, tr := range d.Evidence.Tried {
		if strings.Contains(tr.Recipe, "ld=") {
			t.Errorf("%s was tried", tr.Recipe)
		}
	}
}
