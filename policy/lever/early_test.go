package lever

import (
	"slices"
	"testing"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
)

// TestEarlyTried: where a load stands behind a store; where that is in a loop, several turns, many
// of them in a second entry or under a cap.
func TestEarlyTried(t *testing.T) {
	texts := func(list []recipe.Recipe) (out []string) {
		for _, r := range list {
			out = append(out, r.String())
		}
		return out
	}
	const second = " spec{host(block)=32x1x1,host(dynamic)=0}"
	for _, c := range []struct {
		early int
		turns bool
		want  []string
	}{
		{0, false, nil},
		{3, false, []string{"early=on"}},
		{3, true, []string{"early=on", "early=2", "early=4" + second, "early=8" + second}},
		// the next turn's loads, behind this one's store
		{0, true, []string{"early=2", "early=4" + second, "early=8" + second}},
	} {
		s := &Situation{Kernel: &policy.Kernel{Loads: 8, Stores: 8, Early: c.early, EarlyTurns: c.turns}}
		s.Values = []policy.Value{
			{Kind: policy.HostValue, Is: recipe.Condition{Kind: recipe.HostBlock, Size: [3]int{32, 1, 1}}},
			{Kind: policy.HostValue, Is: recipe.Condition{Kind: recipe.HostDynamic}}}
		if got := texts(levers()["early"].Try(s)); !slices.Equal(got, c.want) {
			t.Errorf("%d loads, turns %v: %q, want %q", c.early, c.turns, got, c.want)
		}
	}
}

// TestMoreTurns: twice as many where the most that were tried won.
func TestMoreTurns(t *testing.T) {
	for value, want := range map[string]string{"on": "", "4": "", "8": "early=16 hint@ld=cs", "16": ""} {
		best := policy.Trial{Recipe: Join(Term("early", value), Term("hint@ld", "cs"))}
		got := ""
		for _, r := range levers()["early"].Around(&Situation{Kernel: &policy.Kernel{}}, best) {
			got += r.String()
		}
		if got != want {
			t.Errorf("around early=%s: %q, want %q", value, got, want)
		}
	}
}

// TestManyTurns: without a second entry there is a cap, so that the largest block still has room.
func TestManyTurns(t *testing.T) {
	device, known := sim.Lookup(90)
	if !known {
		t.Fatal("no sm_90 in the table")
	}
	s := &Situation{Kernel: &policy.Kernel{NoSecond: "-"}, Device: device, Known: true, Largest: 1024,
		Options: &policy.Options{}}
	if got := manyTurns(s, "4").String(); got != "early=4 maxnreg=64" {
		t.Error(got)
	}
	s.Kernel.Bounds, s.Options.Keep = "__launch_bounds__(1024, 1)", true
	if got := manyTurns(s, "4").String(); got != "early=4" {
		t.Error(got)
	}
}

// TestSpilling: lower caps of a kernel with more local memory than every context has are for a
// second entry, which alone may have more of it; higher ones, and those of other kernels, are not.
func TestSpilling(t *testing.T) {
	s := &Situation{Kernel: &policy.Kernel{}, Options: &policy.Options{},
		Values: valuesOf(t, policy.HostValue, "host(block)=256x1x1,host(dynamic)=0")}
	for _, c := range []struct {
		stack, cap int
		noSecond   string
		second     bool
	}{{1328, 128, "", true}, {1024, 128, "", false}, {1328, 255, "", false}, {1328, 128, "-rdc", false}} {
		s.Kernel.Default.Registers, s.Kernel.Default.Stack, s.Kernel.NoSecond = 255, c.stack, c.noSecond
		if r := s.spilling(recipe.Recipe{}, c.cap); r.HasSecond() != c.second {
			t.Errorf("%+v: %q", c, r)
		}
	}
}
