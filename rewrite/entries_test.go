package rewrite

import (
	"strings"
	"testing"
)

func TestEntries(t *testing.T) {
	for _, c := range []struct{ recipe, entries string }{
		{"maxnreg=40 unroll=2", ""},
		{"maxnreg=40 spec{n=1}", "maxnreg=40 spec{n=1}"},
		{"ld=cs spec{n=64} spec{n=1024}", "ld=cs spec{n=64}; ld=cs spec{n=1024}"},
		{"spec{n=64} spec{n=1024,blockDim.x=32|maxnreg=96 unroll=4}", "spec{n=64}; maxnreg=96 spec{n=1024,blockDim.x=32} unroll=4"},
		{"maxnreg=40 spec{n=64} spec{n=8|maxnreg=96}", "maxnreg=40 spec{n=64}; maxnreg=96 spec{n=8}"},
	} {
		r := mustRecipe(t, c.recipe)
		if r.String() != c.recipe {
			t.Errorf("%q prints as %q", c.recipe, r)
		}
		if err := r.Check(); err != nil {
			t.Error(err)
		}
		entries, err := r.Entries()
		if err != nil {
			t.Error(err)
		}
		var words []string
		for _, e := range entries {
			words = append(words, e.String())
		}
		if got := strings.Join(words, "; "); got != c.entries {
			t.Errorf("%s: entries %q, want %q", c.recipe, got, c.entries)
		}
		if len(entries) == 0 {
			continue
		}
		again, err := Join(entries).Entries()
		if err != nil || len(again) != len(entries) {
			t.Fatalf("%s joined again: %v, %v", c.recipe, again, err)
		}
		for i := range again {
			if again[i].String() != entries[i].String() {
				t.Errorf("%s joined again: entry %d is %s, was %s", c.recipe, i, again[i], entries[i])
			}
		}
	}
	for _, bad := range []string{"spec{n=1|maxnreg}", "spec{n=1|ptxas=-O1}", "spec{n=1|frobnicate=2}"} {
		if err := mustRecipe(t, bad).Check(); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
