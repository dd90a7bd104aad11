package lever

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
)

// TestLevers: every lever's file has entered the table with what reports need, and rewrite knows
// it; and each of rewrite's levers has a file.
func TestLevers(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		here := strings.Count(string(text), "\nvar _ = register(")
		n += here
		if here > 0 && levers()[strings.TrimSuffix(f, ".go")] == nil {
			t.Errorf("%s: no such lever in the table, or rewrite does not know it", f)
		}
	}
	for _, l := range All() {
		if l.Idea == "" || l.Gain < 1 || l.Try == nil || l.Stage == 0 {
			t.Errorf("%+v", l)
		}
	}
	for _, p := range rewrite.Levers() {
		if levers()[p.Lever] == nil {
			t.Errorf("%s stands in rewrite's list, and no file here says what to try", p.Lever)
		}
	}
	if n != len(levers()) {
		t.Errorf("%d files, %d levers", n, len(levers()))
	}
	for i, l := range All()[1:] {
		if l.Gain > All()[i].Gain {
			t.Error("the table is not in the order of promise")
		}
	}
}

// TestRecipesOfLevers: what the levers say is well formed, and rewrite takes it.
func TestRecipesOfLevers(t *testing.T) {
	k := sources(policy.Kernel{Name: "k", Loads: 4, Stores: 2,
		Ptxas:   "13.0.88",
		Default: cache.Build{Registers: 80, Spill: 16}})
	k.Values = append(k.Values, lowered.Value{Name: "s.scale", Type: "float", Argument: 2, Bits: 32,
		Class: lowered.Float})
	Ordered.Put(&k, 2)
	for _, second := range []string{"", "device code is linked"} {
		k.NoSecond = second
		o := policy.Defaults()
		d, _ := sim.Lookup(90)
		sit := &Situation{Kernel: &k, Shape: shape(50, 512), Device: d, Known: true,
			Region: Region{Min: 40, Max: 255}, Largest: 512, Options: &o,
			Values: slices.Concat(valuesOf(t, policy.BlockDim, "blockDim.x=512,blockDim.y=1,blockDim.z=1"),
				valuesOf(t, policy.GridDim, "gridDim.x=50"),
				valuesOf(t, policy.Scalar, "#1=1024"), valuesOf(t, policy.Alignment, "align(#0)=16")),
			Trial: func(text string) *policy.Trial {
				return &policy.Trial{Text: text, Ratio: 0.9, Build: cache.Build{Registers: 64, Spill: 8}}
			}}
		n := 0
		for _, l := range All() {
			tries := l.Try(sit)
			for _, best := range tries {
				if l.Around != nil {
					tries = append(tries, l.Around(sit, policy.Trial{Recipe: best, Text: best.String(), Ratio: 0.8,
						Build: cache.Build{Registers: 90, Spill: 8}})...)
				}
			}
			for _, r := range tries {
				n++
				if err := rewrite.Check(r); err != nil {
					t.Errorf("%s: %v", l.Name, err)
				}
				if Words(&k, r) == "" {
					t.Errorf("%s: no words for %s", l.Name, r)
				}
			}
		}
		if n < 40 {
			t.Errorf("only %d recipes", n)
		}
	}
}

// TestIntegersAlone: where a launch has integers and floats, a copy for the integers alone is
// tried, too.
func TestIntegersAlone(t *testing.T) {
	k := sources(policy.Kernel{Name: "k"})
	k.Values = []lowered.Value{
		{Name: "x", Type: "float", Argument: 0, Bits: 32, Class: lowered.Float},
		{Name: "n", Type: "int", Argument: 1, Bits: 32, Class: lowered.Integer},
		{Name: "m", Type: "int", Argument: 2, Bits: 32, Class: lowered.Integer}}
	for _, c := range []struct {
		values, recipe string
		want           bool
	}{
		{"#0=0.5,#1=8,#2=9", "spec{#1=8,#2=9}", true},
		{"#0=0.5,#1=8,#2=9", "spec{#0=0.5,#1=8,#2=9}", true},
		{"#1=8,#2=9", "spec{#1=8,#2=9}", true},
		{"#0=0.5", "spec{}", false},
	} {
		var got []string
		for _, r := range specs(&Situation{Kernel: &k, Values: valuesOf(t, policy.Scalar, c.values)}) {
			got = append(got, r.String())
		}
		if slices.Contains(got, c.recipe) != c.want {
			t.Errorf("%s: %q", c.values, got)
		}
	}
}

// TestAlignmentAlone: a copy for alignments knows no block.
func TestAlignmentAlone(t *testing.T) {
	k := sources(policy.Kernel{Name: "k"})
	var got []string
	for _, r := range specs(&Situation{Kernel: &k, Values: slices.Concat(
		valuesOf(t, policy.BlockDim, "blockDim.x=64"),
		valuesOf(t, policy.Alignment, "align(#0)=16"))}) {
		got = append(got, r.String())
	}
	if !slices.Contains(got, "spec{align(#0)=16}") {
		t.Errorf("tried are %q", got)
	}
}

// TestAllowsAll: which recipes a user's choice of levers allows.
func TestAllowsAll(t *testing.T) {
	for _, c := range []struct {
		only, without, recipe string
		want                  bool
	}{
		{"", "", "hint@ld=cs maxnreg=40", true},
		{"hint", "", "hint@ld=cs", true},
		{"hint", "", "hint@ld=cs maxnreg=40", false},
		{"", "maxnreg", "hint@ld=cs maxnreg=40", false},
		{"demote", "", "demote=8:loops maxnreg=40", true},
		{"demote", "maxnreg", "demote=8:loops maxnreg=40", false},
		{"demote", "", "demote=8:loops hint@ld=cs", false},
		{"demote", "", "demote=spill maxnreg=40", true},
		{"demote", "", "maxnreg=40", false},
		{"throttle", "", "spec{host(block)=256x1x1,host(dynamic)=0} throttle=2", true},
		{"throttle", "", "spec{#1=4} throttle=2", false},
	} {
		o := policy.Options{}
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
		if got := Allowed(&o, &policy.Kernel{}, r); got != c.want {
			t.Errorf("-levers %q -without %q: %s: %v", c.only, c.without, r, got)
		}
	}
}

// TestWordsOfSites: one hint on many loads is reported once.
func TestWordsOfSites(t *testing.T) {
	for text, want := range map[string]string{
		"hint@ld=cs hint@ld3=none":                                                      "loads with cs; load 3 without",
		"hint@ld0=L1::no_allocate hint@ld2=L1::no_allocate maxnreg=40":                  "loads 0, 2 with L1::no_allocate; register cap 40",
		"hint@ld0=cs hint@ld1=cs hint@ld2=cs hint@ld3=cs hint@ld4=cs hint@ld5=L2::128B": "5 loads with cs; load 5 with L2::128B",
	} {
		r, err := recipe.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Words(&policy.Kernel{}, r); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestExactness: a copy for values is checked, and not for those alone who allow other results.
func TestExactness(t *testing.T) {
	for name, want := range map[string]rewrite.Exactness{recipe.Second: rewrite.Checked,
		"unroll": rewrite.Checked, "hint": rewrite.ByConstruction,
		"fastmath": rewrite.Approximate, "no such lever": rewrite.Approximate} {
		if got := ExactnessOf(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
