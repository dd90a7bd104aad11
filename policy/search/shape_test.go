package search

import (
	"strings"
	"testing"

	"gnvcc/policy"
	"gnvcc/policy/report"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// uneven is a kernel that is fastest in blocks of 128, and faster still with a cap beside them; its
// shaped entries have the default's code.
func uneven() *simKernel {
	return &simKernel{Kernel: policy.Kernel{Loads: 3, Shapeable: true},
		code: func(r recipe.Recipe) string {
			return "code of " + r.Without("shape").Without("throttle").Without("spec").String()
		}, speed: func(r recipe.Recipe, s policy.Shape) float64 {
			f := 1.0
			switch rewrite.Shape(r)[0] {
			case 0:
			case 64:
				f = 0.85
			case 128:
				f = 0.8
			default:
				f = 1.1
			}
			if rewrite.Throttle(r) > 0 {
				f *= 1.3
			}
			return f
		}}
}

// TestShapeIsFound: exact by construction, for the launches whose threads it divides; the others
// take the kernel itself.
func TestShapeIsFound(t *testing.T) {
	g := newSim(t, uneven())
	odd := policy.Shape{Grid: [3]int{333, 1, 1}, Block: [3]int{100, 1, 1}}
	a := one("_Z1aPfi", shape(4000, 256))
	a.launches = append(a.launches, appLaunch{kernel: "_Z1aPfi", shape: odd, n: 1024}.times(1)...)
	o := simOptions()
	o.Levers = []string{"shape", "throttle"}
	o.Exact = rewrite.ByConstruction
	o.Full = 1
	results, _ := g.run(o, a)
	d := results[0].Decision
	if d == nil || d.Recipe != "shape=128x1x1 spec{host(block)=256x1x1,host(dynamic)=0}" ||
		d.Exactness != "construction" {
		t.Fatalf("decided %+v", d)
	}
	var text strings.Builder
	report.Explain(&text, report.NewEntry(*d))
	for _, want := range []string{"meaning     blocks of 128 threads",
		"shape       blocks of 128: 8000 blocks, not 4000"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("explain does not say %q:\n%s", want, text.String())
		}
	}
	if g.measured["shape=256x1x1 spec{host(block)=256x1x1,host(dynamic)=0}"] > 0 {
		t.Error("its own block was tried as another")
	}
}

// TestShapeStaysAway: from kernels that see their blocks, and from those that can't have a second
// entry.
func TestShapeStaysAway(t *testing.T) {
	for name, change := range map[string]func(*simKernel){
		"sees its blocks": func(k *simKernel) {
			k.Shapeable, k.NoShape = false, "it may see its launch shape"
		},
		"no second entry": func(k *simKernel) {
			k.NoSecond = "with -rdc=true a second entry can't be had"
		},
		"no such block": func(k *simKernel) { k.MaxThreads = 31 },
	} {
		k := uneven()
		change(k)
		block := 256
		if name == "no such block" {
			block = 25
		}
		g := newSim(t, k)
		results, _ := g.run(simOptions(), one("_Z1aPfi", shape(4000, block)))
		for _, tr := range results[0].Decision.Evidence.Tried {
			if strings.Contains(tr.Recipe, "shape=") {
				t.Errorf("%s: tried %s", name, tr.Recipe)
			}
		}
	}
}
