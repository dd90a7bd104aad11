package lever

import (
	"slices"
	"testing"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// TestEarlyTried: where a load stands behind a store; where that is in a loop, several turns, and
// more where those win.
func TestEarlyTried(t *testing.T) {
	texts := func(list []recipe.Recipe) (out []string) {
		for _, r := range list {
			out = append(out, r.String())
		}
		return out
	}
	for _, c := range []struct {
		early int
		turns bool
		want  []string
	}{
		{0, false, nil},
		{3, false, []string{"early=on"}},
		{3, true, []string{"early=on", "early=4", "early=2"}},
		{0, true, []string{"early=4", "early=2"}}, // the next turn's loads, behind this one's store
	} {
		s := &Situation{Kernel: &policy.Kernel{Loads: 8, Stores: 8, Early: c.early, EarlyTurns: c.turns}}
		if got := texts(levers()["early"].Try(s)); !slices.Equal(got, c.want) {
			t.Errorf("%d loads, turns %v: %q, want %q", c.early, c.turns, got, c.want)
		}
	}
	around := levers()["early"].Around
	for value, want := range map[string][]string{"on": nil, "2": nil, "8": nil,
		"4": {"early=8 maxnreg=64"}} {
		best := policy.Trial{Recipe: Join(Term("early", value), Term("maxnreg", "64"))}
		if got := texts(around(&Situation{Kernel: &policy.Kernel{}}, best)); !slices.Equal(got, want) {
			t.Errorf("around early=%s: %q, want %q", value, got, want)
		}
	}
}
