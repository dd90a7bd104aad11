package search

import (
	"strings"
	"testing"

	"gnvcc/policy"
	"gnvcc/policy/report"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// thrashing is a kernel that is fastest with 3 blocks on a multiprocessor, whose throttled entries
// have the default's code.
func thrashing() *simKernel {
	return &simKernel{Kernel: policy.Kernel{Loads: 3}, code: func(r recipe.Recipe) string {
		return "code of " + r.Without("throttle").Without("spec").String()
	}, speed: func(r recipe.Recipe, s policy.Shape) float64 {
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
	o.Levers = []string{"throttle", "hint"} // not spec: the copy belongs to throttle
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
	e := report.NewEntry(*d)
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
		"no loads": func(k *simKernel) { k.Loads = 0 },
		"waits":    func(k *simKernel) { k.NoThrottle = "its blocks may wait for each other" },
		"no second entry": func(k *simKernel) {
			k.NoSecond = "with -rdc=true a second entry can't be had"
		},
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
	k.speed = func(recipe.Recipe, policy.Shape) float64 { return 1 }
	g := newSim(t, k)
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(4000, 256)))
	if d := results[0].Decision; d.Recipe != "" {
		t.Errorf("adopted %s, which gains nothing", d.Recipe)
	}
}
