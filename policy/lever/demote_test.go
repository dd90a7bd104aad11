package lever

import (
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/demote"
	"gnvcc/sim"
)

// demoteSituation is a kernel with 78 registers in blocks of 128 threads: 6 blocks are resident, 24
// of 64 warps.
func demoteSituation(t *testing.T, spill bool, change func(s *Situation)) []string {
	d, _ := sim.Lookup(90)
	s := &Situation{
		Kernel: &policy.Kernel{MaxThreads: 1024, Default: cache.Build{Registers: 78}, CC: 90,
			Ptxas: "13.0.88"}, Shape: shape(8192, 128), Device: d, Known: true,
		Options: &policy.Options{}, Values: valuesOf(t, policy.HostValue,
			"host(block)=128x1x1,host(dynamic)=0"),
	}
	if change != nil {
		change(s)
	}
	var out []string
	for _, r := range levers()["demote"].Try(s) {
		if value, _ := r.Get("demote", ""); (value == demote.Spill) != spill {
			continue
		}
		if rewrite.Check(r) != nil {
			panic(r.String())
		}
		out = append(out, r.String())
	}
	return out
}

// TestDemoteTries: as many words as a level needs, with the level's cap, by each strategy; and
// where it can't help, nothing.
func TestDemoteTries(t *testing.T) {
	const second = " spec{host(block)=128x1x1,host(dynamic)=0}"
	for _, x := range []struct {
		name   string
		change func(s *Situation)
		want   string // what stands behind demote=, "loops" only; "; " between recipes
	}{
		// 39 words a thread would fill the shared memory at 10 blocks
		{"registers limit it", nil, "15:loops maxnreg=64" + second + "; 31:loops maxnreg=48" + second},
		{"the source bounds blocks", func(s *Situation) {
			s.Kernel.MaxThreads, s.Kernel.NoSecond = 128, "with -rdc=true"
		}, ""},
		{"no second entry", func(s *Situation) {
			s.Kernel.NoSecond = "with -rdc=true a second entry can't be had"
		}, ""},
		{"shared memory of its own", func(s *Situation) {
			s.Kernel.Default.Shared = 20 << 10
		}, "15:loops maxnreg=64" + second},
		{"few blocks", func(s *Situation) { s.Shape, s.Device.SMs = shape(100, 128), 132 }, ""},
		{"few registers", func(s *Situation) { s.Kernel.Default.Registers = 32 }, ""},
		{"calls", func(s *Situation) { s.Kernel.Calls, s.Kernel.Functions = true, true }, ""},
		{"dynamic shared memory", func(s *Situation) {
			s.Kernel.Dynamic, s.Shape.Dynamic = true, 20<<10
		}, "15:loops maxnreg=64" + second},
		{"too much of it", func(s *Situation) { s.Kernel.Dynamic, s.Shape.Dynamic = true, 47<<10 }, ""},
		{"dynamic shared memory, no second entry", func(s *Situation) {
			s.Kernel.Dynamic, s.Kernel.MaxThreads, s.Kernel.NoSecond = true, 128, "-rdc"
		}, ""},
		{"a launch with dynamic shared memory, no second entry", func(s *Situation) {
			s.Shape.Dynamic, s.Kernel.MaxThreads, s.Kernel.NoSecond = 16, 128, "-rdc"
		}, ""},
		{"a bound of the user's", func(s *Situation) { s.Kernel.Bounds, s.Options.Keep = "__maxnreg__(78)", true }, ""},
		{"which spills", func(s *Situation) {
			s.Kernel.Bounds, s.Options.Keep, s.Kernel.Default.Spill = "__maxnreg__(78)", true, 40
		}, "11:loops" + second},
	} {
		var got []string
		all := demoteSituation(t, false, x.change)
		for _, r := range all {
			if value, ok := strings.CutPrefix(r, "demote="); ok && strings.Contains(r, ":loops") {
				got = append(got, value)
			}
		}
		if strings.Join(got, "; ") != x.want {
			t.Errorf("%s: tried %q, not %q", x.name, got, x.want)
		}
		if len(all) != len(got)*len(demote.Strategies) {
			t.Errorf("%s: %d recipes for %d amounts", x.name, len(all), len(got))
		}
	}
}

// TestSpillTries: ptxas' own spilling competes at the same levels, where ptxas knows the block.
func TestSpillTries(t *testing.T) {
	const second = " spec{host(block)=128x1x1,host(dynamic)=0}"
	for _, x := range []struct {
		name   string
		change func(s *Situation)
		want   string
	}{
		{"registers limit it", nil, "demote=spill maxnreg=64" + second + "; demote=spill maxnreg=48" +
			second},
		{"the source bounds blocks", func(s *Situation) {
			s.Kernel.MaxThreads, s.Kernel.NoSecond = 128, "no"
		}, ""},
		{"blocks of any size", func(s *Situation) { s.Kernel.NoSecond = "no" }, ""},
		{"it spills, and the user bounds it", func(s *Situation) {
			s.Kernel.Default.Spill, s.Kernel.Bounds, s.Options.Keep = 8, "__maxnreg__(78)", true
		}, "demote=spill" + second},
		{"few registers", func(s *Situation) { s.Kernel.Default.Registers = 32 }, ""},
		{"an older ptxas", func(s *Situation) { s.Kernel.Ptxas = "12.4.131" }, ""},
	} {
		if got := strings.Join(demoteSituation(t, true, x.change), "; "); got != x.want {
			t.Errorf("%s: tried %q, not %q", x.name, got, x.want)
		}
	}
}
