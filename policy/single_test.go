package policy

import (
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/source"
)

// TestAllowsAll: which recipes a user's choice of levers allows.
func TestAllowsAll(t *testing.T) {
	for _, c := range []struct {
		only, without, recipe string
		want                  bool
	}{
		{"", "", "ld=cs maxnreg=40", true},
		{"ld", "", "ld=cs", true},
		{"ld", "", "ld=cs maxnreg=40", false},
		{"", "maxnreg", "ld=cs maxnreg=40", false},
		{"demote", "", "demote=8:loops maxnreg=40", true},
		{"demote", "maxnreg", "demote=8:loops maxnreg=40", false},
		{"demote", "", "demote=8:loops ld=cs", false},
		{"smemspill", "", "maxnreg=40 smemspill=on", true},
		{"smemspill", "", "maxnreg=40", false},
		{"throttle", "", "spec{host(block)=256x1x1,host(dynamic)=0} throttle=2", true},
		{"throttle", "", "spec{#1=4} throttle=2", false},
	} {
		o := Options{}
		if c.only != "" {
			o.Levers = []string{c.only}
		}
		if c.without != "" {
			o.Without = []string{c.without}
		}
		r, err := recipe.Parse(c.recipe)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.allowsAll(r); got != c.want {
			t.Errorf("-levers %q -without %q: %s: %v", c.only, c.without, r, got)
		}
	}
}

// TestEveryLever: after a search the report has a line for every lever of the table: a figure, a refusal, or why nothing was tried.
func TestEveryLever(t *testing.T) {
	for name, c := range map[string]struct {
		kernel  Kernel
		options func(*Options)
		want    map[string]string // lever -> a part of its reason
	}{
		"bare": {Kernel{Default: cache.Build{Registers: 32}}, func(o *Options) {}, map[string]string{"ld": noLoads, "st": "no plain store", "unroll": "no loop", "nounroll": "cicc left no such pragma", "smemspill": "nothing is spilled"}},
		"bounds": {Kernel{Bounds: "__maxnreg__(64)", Loads: 3, Stores: 1, Calls: true}, func(o *Options) { o.Without = []string{"st"} },
			map[string]string{"maxnreg": "__maxnreg__(64) is kept", "st": "left out by the options", "smemspill": "it calls functions"}},
		"exact": {Kernel{Loads: 3, NoUnrolls: 2}, func(o *Options) { o.Exact = rewrite.ByConstruction },
			map[string]string{"bypass": "not exact by construction", "ptxas": "not exact by construction", "nounroll": "not exact by construction"}},
		"pragmas": {Kernel{NoUnrolls: 2, Loops: []source.Loop{{Site: "1", Kind: "for", Pragma: true}}}, func(o *Options) {},
			map[string]string{"nounroll": "the source's own unroll pragmas are kept"}},
	} {
		g := newSim(t, &simKernel{Kernel: c.kernel, speed: func(r recipe.Recipe, s Shape, plain bool) float64 { return 1 }})
		o := simOptions()
		c.options(&o)
		results, _ := g.run(o, one("_Z1aPfi", shape(1000, 256)))
		by := map[string]Single{}
		for _, s := range NewEntry(*results[0].Decision).Levers {
			by[s.Lever] = s
		}
		for _, l := range Levers() {
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
	// Asked to tune over the source's directives, the pragmas are no reason.
	g := newSim(t, &simKernel{Kernel: Kernel{NoUnrolls: 2, Loops: []source.Loop{{Site: "1", Kind: "for", Pragma: true}}}, speed: func(r recipe.Recipe, s Shape, plain bool) float64 {
		if hasLever(r, "nounroll") {
			return 0.7
		}
		return 1
	}})
	o := simOptions()
	o.Over = true
	if results, _ := g.run(o, one("_Z1aPfi", shape(1000, 256))); results[0].Decision.Recipe != "nounroll=off" {
		t.Errorf("over the pragmas: %q", results[0].Decision.Recipe)
	}
}

// TestWordsOfSites: one hint on many loads is told once.
func TestWordsOfSites(t *testing.T) {
	for text, want := range map[string]string{
		"ld=cs ld@3=none": "loads with cs; load 3 without",
		"ld@0=L1::no_allocate ld@2=L1::no_allocate maxnreg=40":  "loads 0, 2 with L1::no_allocate; register cap 40",
		"ld@0=cs ld@1=cs ld@2=cs ld@3=cs ld@4=cs ld@5=L2::128B": "5 loads with cs; load 5 with L2::128B",
	} {
		r, err := recipe.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Words(&Kernel{}, r); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestBanned: a lever that the user banned is not tried, and the report says why.
func TestBanned(t *testing.T) {
	g := newSim(t, &simKernel{Kernel: Kernel{Loads: 8, Banned: []string{"ld"}}, speed: func(r recipe.Recipe, s Shape, plain bool) float64 {
		if hasLever(r, "ld") {
			return 0.5
		}
		return 1
	}})
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	d := results[0].Decision
	if d.Recipe != "" || !strings.Contains(d.Evidence.Untried["ld"], "banned") {
		t.Errorf("decided %q; ld: %q", d.Recipe, d.Evidence.Untried["ld"])
	}
	for _, tr := range d.Evidence.Tried {
		if strings.Contains(tr.Recipe, "ld=") {
			t.Errorf("%s was tried", tr.Recipe)
		}
	}
}
