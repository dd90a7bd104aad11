package lever

import (
	"slices"
	"strings"
	"testing"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

func TestKnown(t *testing.T) {
	k := sources(policy.Kernel{NoSpec: "its source is not understood", NoUnrolls: 1})
	s := &Situation{Kernel: &k, Trial: func(string) *policy.Trial { return nil },
		Values: slices.Concat(valuesOf(t, policy.Scalar, "#1=64"),
			valuesOf(t, policy.BlockDim, "blockDim.x=256"),
			valuesOf(t, policy.Alignment, "align(#0)=16"))}
	l := Named(recipe.Known)
	texts := func(list []recipe.Recipe) (out []string) {
		for _, r := range list {
			out = append(out, r.String())
		}
		return out
	}
	if got, want := texts(l.Try(s)), []string{"known{#1=64,blockDim.x=256}", "known{blockDim.x=256}",
		"known{#1=64,blockDim.x=256}", "known{blockDim.x=256}"}; !slices.Equal(got, want) {
		t.Errorf("tried are %q, want %q", got, want)
	}
	parse := func(text string) recipe.Recipe {
		t.Helper()
		r, err := recipe.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	got := texts(l.Around(s, policy.Trial{Recipe: parse("known{#1=64,blockDim.x=256} repeat@1=4")}))
	if want := []string{"known{blockDim.x=256} repeat@1=4", "known{#1=64} repeat@1=4",
		"known{#1=64,blockDim.x=256} nounroll=off repeat@1=4"}; !slices.Equal(got, want) {
		t.Errorf("around it %q, want %q", got, want)
	}
	if got := l.Around(s, policy.Trial{Recipe: parse("unroll=4")}); got != nil {
		t.Errorf("with a lever on the source %q", texts(got))
	}
	for _, c := range [][3]string{
		{"known{#1=64}", "spec{#1=64,blockDim.x=256} ld=cs", "ld=cs spec{#1=64,blockDim.x=256}"},
		{"ld=cs spec{#1=64}", "known{#1=64}", "known{#1=64} ld=cs"},
		{"known{#1=64}", "spec{host(block)=256x1x1} shape=128x1x1",
			"known{#1=64,host(block)=256x1x1} shape=128x1x1"},
		{"known{#1=64}", "repeat@1=4", "known{#1=64} repeat@1=4"},
	} {
		if got := Join(parse(c[0]), parse(c[1])).String(); got != c[2] {
			t.Errorf("%s with %s is %q, want %q", c[0], c[1], got, c[2])
		}
	}
	k.NoSpec = "" // known is for what spec refuses
	ld := policy.Trial{Recipe: parse("ld=cs")}
	if got := l.Around(s, ld); l.Try(s) != nil || got != nil {
		t.Errorf("spec is not tried yet, and known is %q", texts(got))
	}
	s.Trial = func(text string) *policy.Trial {
		return &policy.Trial{Refused: map[bool]string{true: "no proof"}[strings.HasPrefix(text, "spec{")]}
	}
	if got, want := texts(l.Around(s, ld)), []string{"known{#1=64,blockDim.x=256} ld=cs",
		"known{blockDim.x=256} ld=cs", "known{#1=64,blockDim.x=256} ld=cs",
		"known{blockDim.x=256} ld=cs"}; !slices.Equal(got, want) {
		t.Errorf("where spec is refused, around ld=cs %q, want %q", got, want)
	}
	k.NoSecond = "no stub"
	if l.Try(s) != nil || l.Why(s) != "no stub" {
		t.Error("tried, though there can be no second entry")
	}
}
