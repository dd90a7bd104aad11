package lever

import (
	"testing"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
)

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
