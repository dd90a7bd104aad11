package policy

import (
	"fmt"
	"strings"
	"testing"

	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// thrashing is a kernel that is fastest with 3 blocks on a multiprocessor, whose throttled entries have the default's code.
func thrashing() *simKernel {
	return &simKernel{Kernel: Kernel{Loads: 3}, code: func(r recipe.Recipe) string {
		return "code of " + r.Without("throttle").Without("spec").String()
	}, speed: func(r recipe.Recipe, s Shape, plain bool) float64 {
		if n := rewrite.Throttle(r); n > 0 {
			return []float64{0, 1.5, 0.9, 0.7, 0.8, 0.9, 0.95, 1}[min(n, 7)]
		}
		return 1
	}}
}

func TestThrottleIsFoundAndKeptToItsLaunches(t *testing.T) {
	g := newSim(t, thrashing())
	small := shape(4000, 256)
	other := small
	other.Dynamic = 2048 // takes the kernel itself
	a := one("_Z1aPfi", small)
	a.launches = append(a.launches, appLaunch{kernel: "_Z1aPfi", shape: other, n: 1024}.times(1)...)
	o := simOptions()
	o.Levers = []string{"throttle", "ld"} // not spec: the copy belongs to throttle
	o.Exact = rewrite.ByConstruction
	o.Full = 1
	results, _ := g.run(o, a)
	d := results[0].Decision
	if d == nil || d.Recipe != "spec{host(block)=256x1x1,host(dynamic)=0} throttle=3" {
		t.Fatalf("decided %+v", d)
	}
	if d.Exactness != "construction" {
		t.Errorf("the kernel's own code is exact by %s", d.Exactness)
	}
	e := NewEntry(*d)
	if !strings.Contains(e.Words, "at most 3 blocks") || strings.Contains(e.Words, "host(") {
		t.Errorf("in words: %s", e.Words)
	}
	levels := 0
	for _, tr := range d.Evidence.Tried {
		if strings.Contains(tr.Recipe, "throttle=") && tr.Ratio > 0 {
			levels++
		}
	}
	if levels < 5 { // 40 registers: 6 blocks of 256
		t.Errorf("%d levels measured: %+v", levels, d.Evidence.Tried)
	}
	if e.Occupancy[1] >= e.Occupancy[0] || e.Occupancy[1] != 0.375 {
		t.Errorf("occupancy %v, want 3 blocks of 8 warps in the second", e.Occupancy)
	}
}

func TestThrottleStaysAway(t *testing.T) {
	for name, change := range map[string]func(*simKernel){
		"no loads":        func(k *simKernel) { k.Loads = 0 },
		"waits":           func(k *simKernel) { k.NoThrottle = "its blocks may wait for each other" },
		"no second entry": func(k *simKernel) { k.NoSecond = "with -rdc=true a second entry can't be had" },
	} {
		k := thrashing()
		change(k)
		g := newSim(t, k)
		results, _ := g.run(simOptions(), one("_Z1aPfi", shape(4000, 256)))
		for _, tr := range results[0].Decision.Evidence.Tried {
			if strings.Contains(tr.Recipe, "throttle") {
				t.Errorf("%s: tried %s", name, tr.Recipe)
			}
		}
	}
	k := thrashing()
	k.speed = func(recipe.Recipe, Shape, bool) float64 { return 1 }
	g := newSim(t, k)
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(4000, 256)))
	if d := results[0].Decision; d.Recipe != "" {
		t.Errorf("adopted %s, which gains nothing", d.Recipe)
	}
}

// A copy for values and a throttled one are one entry: a launch takes one.
func TestThrottleWithOthers(t *testing.T) {
	host := "host(block)=256x1x1,host(dynamic)=0"
	for _, c := range [][3]string{
		{"spec{" + host + "} throttle=3", "ld=cs", "ld=cs spec{" + host + "} throttle=3"},
		{"maxnreg=40", "spec{" + host + "} throttle=3", "maxnreg=40 spec{" + host + "} throttle=3"},
		{"spec{#1=8} unroll=2", "spec{" + host + "} throttle=3", "spec{#1=8," + host + "} throttle=3 unroll=2"},
		{"spec{" + host + "} throttle=3", "spec{#1=8} unroll=2", "spec{#1=8," + host + "} throttle=3 unroll=2"},
		{"spec{#1=8," + host + "} throttle=3", "spec{" + host + "} throttle=2", "spec{#1=8," + host + "} throttle=2"},
		{"spec{#1=8}", "maxnreg=40", "maxnreg=40 spec{#1=8}"},
	} {
		got := join(recipeOf(t, c[0]), recipeOf(t, c[1]))
		if got.String() != c[2] {
			t.Errorf("%s and %s: %s, want %s", c[0], c[1], got, c[2])
		}
		if err := rewrite.Check(got); err != nil {
			t.Error(err)
		}
	}
	if n, ok := guardedBlock(recipeOf(t, "spec{#1=8,host(block)=64x2x1}")); n != 128 || !ok {
		t.Errorf("a block of %d, %v", n, ok)
	}
	for resident, want := range map[int]string{0: "[]", 1: "[1]", 2: "[2 1]", 8: "[8 7 6 5 4 3 2 1]", 16: "[16 14 12 10 8 6 4 2 1]", 32: "[28 24 20 16 12 8 4 2 1]"} {
		if got := fmt.Sprint(levelsFrom(resident)); got != want {
			t.Errorf("levels below %d: %s, want %s", resident, got, want)
		}
	}
}

func recipeOf(t *testing.T, text string) recipe.Recipe {
	t.Helper()
	r, err := recipe.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBypassValues: thresholds for L1 as long as some warps are on either side, for L2 from none on, where policies are known.
func TestBypassValues(t *testing.T) {
	for _, c := range []struct {
		threads, cc int
		want        string
	}{
		{256, 90, "1 2 3 4 6 L2:0 L2:2 L2:4 L2:6"},
		{1024, 80, "1 2 3 4 8 16 24 L2:0 L2:8 L2:16 L2:24"},
		{256, 75, "1 2 3 4 6"},
		{64, 90, "1 L2:0 L2:1"},
		{32, 90, "L2:0"},
		{32, 75, ""},
	} {
		var got []string
		for _, r := range levers["bypass"].Try(&Situation{Kernel: &Kernel{Loads: 1, CC: c.cc}, Shape: shape(10, c.threads)}) {
			got = append(got, get(r, "bypass"))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("sm_%d, %d threads: %v, want %s", c.cc, c.threads, got, c.want)
		}
	}
}
