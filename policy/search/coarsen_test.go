package search

import (
	"strings"
	"testing"

	"gnvcc/policy"
	"gnvcc/policy/report"
	"gnvcc/rewrite/recipe"
)

// coarse is a kernel that is fastest where a block does the work of four neighbours in x.
func coarse() *simKernel {
	return &simKernel{Kernel: policy.Kernel{Loads: 3, Coarsenable: [3]bool{true, true, false}},
		speed: func(r recipe.Recipe, s policy.Shape) float64 {
			switch value, _ := r.Get("coarsen", ""); value {
			case "4x1x1":
				return 0.7
			case "2x1x1":
				return 0.8
			case "":
				return 1
			}
			return 1.2
		}}
}

// TestCoarsenIsFound: for launches whose grid the winner divides; the others take the kernel
// itself.
func TestCoarsenIsFound(t *testing.T) {
	g := newSim(t, coarse())
	a := one("_Z1aPfi", shape(20000, 256))
	odd := policy.Shape{Grid: [3]int{20001, 1, 1}, Block: [3]int{256, 1, 1}}
	a.launches = append(a.launches, appLaunch{kernel: "_Z1aPfi", shape: odd, n: 1024}.times(40)...)
	o := simOptions()
	o.Levers = []string{"coarsen"}
	o.Full = 1
	results, _ := g.run(o, a)
	d := results[0].Decision
	if d == nil || d.Recipe != "coarsen=4x1x1 spec{host(block)=256x1x1,host(dynamic)=0}" ||
		d.Exactness != "checked" {
		t.Fatalf("decided %+v", d)
	}
	var text strings.Builder
	report.Explain(&text, report.NewEntry(*d))
	for _, want := range []string{"each block does the work of 4 neighbouring blocks in x",
		"shape       each block does the work of 4: 5000 blocks, not 20000"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("explain does not say %q:\n%s", want, text.String())
		}
	}
}

// TestCoarsenOddGrid: a grid that is no multiple has code of its own.
func TestCoarsenOddGrid(t *testing.T) {
	g := newSim(t, coarse())
	o := simOptions()
	o.Levers = []string{"coarsen"}
	results, _ := g.run(o, one("_Z1aPfi", shape(20001, 256)))
	const want = "coarsen=4x1x1 spec{host(block)=256x1x1,host(dynamic)=0,host(grid)=20001x1x1}"
	if d := results[0].Decision; d == nil || d.Recipe != want {
		t.Fatalf("decided %+v", d)
	}
}

// TestCoarsenStaysAway: from grids that would not fill the GPU, and from kernels that can't be.
func TestCoarsenStaysAway(t *testing.T) {
	for name, change := range map[string]func(*simKernel) int{
		"too few blocks": func(k *simKernel) int { return 2000 },
		"shared memory": func(k *simKernel) int {
			k.Coarsenable, k.NoCoarsen = [3]bool{}, "it uses shared memory"
			return 20000
		},
		"no second entry": func(k *simKernel) int { k.NoSecond = "x"; return 20000 },
	} {
		k := coarse()
		blocks := change(k)
		g := newSim(t, k)
		results, _ := g.run(simOptions(), one("_Z1aPfi", shape(blocks, 256)))
		for _, tr := range results[0].Decision.Evidence.Tried {
			if strings.Contains(tr.Recipe, "coarsen=") {
				t.Errorf("%s: tried %s", name, tr.Recipe)
			}
		}
	}
}

// TestCoarsenUnmeasured: launches that nobody could measure, and whose grid the winner does not
// divide, take the kernel itself: they don't count.
func TestCoarsenUnmeasured(t *testing.T) {
	for blocks, want := range map[int]bool{30001: true, 30000: false} {
		g := newSim(t, coarse())
		a := one("_Z1aPfi", shape(20000, 256))
		a.launches = append(a.launches, appLaunch{kernel: "_Z1aPfi", shape: shape(blocks, 256), n: 1024,
			alone: "it is captured"}.times(40)...)
		o := simOptions()
		o.Levers = []string{"coarsen"}
		results, _ := g.run(o, a)
		if d := results[0].Decision; (d.Recipe != "") != want {
			t.Errorf("%d blocks: decided %q, note %q", blocks, d.Recipe, d.Evidence.Note)
		}
	}
}
