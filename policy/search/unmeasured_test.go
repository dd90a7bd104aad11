package search

import (
	"strings"
	"testing"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// TestUnmeasured: a recipe that won on one configuration is not for others that nobody measured,
// unless these take little of the time, the host keeps it from them, or it can't give other bits and
// was slower on none.
func TestUnmeasured(t *testing.T) {
	measured, other := shape(1000, 256), shape(1000, 128)
	launches := func(n int, s policy.Shape, alone string) []appLaunch {
		return appLaunch{kernel: "_Z1aPfi", shape: s, n: 7, alone: alone}.times(n)
	}
	unrolled, values := takes(map[string]float64{"unroll=4": 0.7}), takes(map[string]float64{"blockDim.x=256": 0.7})
	cached := takes(map[string]float64{"hint@ld=cs": 0.7}) // by construction
	few := func(o *policy.Options) { o.Full, o.Verify = 4, 0 }
	// a launch each of some grids, and of 98 more from 399 blocks downward that can't be measured
	family := func(grids ...int) (out []appLaunch) {
		for _, n := range grids {
			out = append(out, launches(20, shape(n, 512), "")...)
		}
		for n := 399; n > 300; n-- {
			if n%50 != 0 {
				out = append(out, launches(20, shape(n, 512), "it is captured")...)
			}
		}
		return out
	}
	// the same of sizes in which blocks have as many threads as the grid has blocks
	front := func(sizes ...int) (out []appLaunch) {
		for _, n := range sizes {
			out = append(out, launches(20, shape(n, n), "")...)
		}
		for n := 9; n < 64; n++ {
			if n != 32 {
				out = append(out, launches(20, shape(n, n), "it is captured")...)
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		speed func(r recipe.Recipe, s policy.Shape) float64
		lever string
		o     func(o *policy.Options)
		more  []appLaunch
		want  bool
		note  string
	}{
		"too many": {unrolled, "unroll", func(o *policy.Options) {
			o.Full, o.Verify = 1, 0
		}, launches(20, other, ""), false, "more than 1 configurations"},
		"too many, few": {unrolled, "unroll", func(o *policy.Options) {
			o.Full, o.Verify = 1, 0
		}, launches(1, other, ""), true, ""},
		"captured": {unrolled, "unroll", nil, launches(20, other, "it is captured"), false,
			"it is captured"},
		"larger": {unrolled, "unroll", nil, launches(1, shape(100000, 256), "it is captured"), false,
			"it is captured"},
		"by construction, captured": {cached, "hint", nil, launches(20, other, "it is captured"), true, ""},
		"by construction, larger":   {cached, "hint", nil, launches(1, shape(100000, 256), "it is captured"), true, ""},
		"by construction, much more": {cached, "hint", nil, launches(3, shape(100000, 256), "it is captured"), false,
			"it is captured"},
		"by construction, slower on one": {func(r recipe.Recipe, s policy.Shape) float64 {
			if s.Grid[0] == 200 {
				return 1 + 0.008*(1-cached(r, s))/0.3
			}
			return cached(r, s)
		}, "hint", few, family(400, 200, 100), false, "that were not measured"},
		"the host's":    {values, "spec", nil, launches(20, other, "it is captured"), true, ""},
		"all are known": {unrolled, "unroll", nil, launches(20, other, ""), true, ""},
		"between": {unrolled, "unroll", few, family(400, 200, 100), true,
			"measured at some sizes, and also used for 98 sizes in between"},
		"between, of two": {unrolled, "unroll", few, family(400, 200), false, "that were not measured"},
		"between, but slower on one": {func(r recipe.Recipe, s policy.Shape) float64 {
			if s.Grid[0] == 200 {
				return 1 + 0.005*(1-unrolled(r, s))/0.3
			}
			return unrolled(r, s)
		}, "unroll", few, family(400, 200, 100), false, "that were not measured"},
		"blocks between":           {unrolled, "unroll", few, front(64, 32, 8), true, "also used for 54 sizes in between"},
		"blocks between, of three": {unrolled, "unroll", few, front(64, 8), false, "that were not measured"},
		"blocks beyond":            {unrolled, "unroll", few, front(62, 50, 40), false, "that were not measured"},
		"blocks between, slower on one": {func(r recipe.Recipe, s policy.Shape) float64 {
			if s.Grid[0] == 8 {
				return 1 + 0.008*(1-unrolled(r, s))/0.3
			}
			return unrolled(r, s)
		}, "unroll", few, front(64, 32, 8), false, "that were not measured"},
		"beyond": {unrolled, "unroll", few, family(150, 120, 100), false, "that were not measured"},
		"the host's not": {values, "spec", nil, launches(20, with(shape(1000, 256), 8), "it is captured"),
			false, "it is captured"},
	} {
		t.Run(name, func(t *testing.T) {
			k := &simKernel{Kernel: sources(policy.Kernel{Loads: 8}), speed: c.speed}
			g := newSim(t, k)
			o := simOptions()
			o.Levers = []string{c.lever}
			if c.o != nil {
				c.o(&o)
			}
			results, _ := g.run(o, app{launches: append(launches(20, measured, ""), c.more...)})
			d := results[0].Decision
			if (d.Recipe != "") != c.want || !strings.Contains(d.Evidence.Note, c.note) {
				t.Errorf("decided %q, note %q", d.Recipe, d.Evidence.Note)
			}
		})
	}
}

// with is a shape with dynamic shared memory.
func with(s policy.Shape, dynamic int) policy.Shape { s.Dynamic = dynamic; return s }
