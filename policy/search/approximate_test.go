package search

import (
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// A kernel with divisions: approximate ones are twice as fast, and 1e-4 off.
func divisions() *simKernel {
	all := func(r recipe.Recipe) bool { return get(r, "approx") == "all" } // other forms change nothing here
	return &simKernel{
		Kernel: policy.Kernel{Loads: 4, Writes: "f32", SFU: map[string]int{"div": 3}},
		speed: func(r recipe.Recipe, s policy.Shape) float64 {
			if all(r) {
				return 0.5
			}
			return 1
		},
		off: func(r recipe.Recipe) float64 {
			if all(r) {
				return 1e-4
			}
			return 0
		},
	}
}

func approximately(within string) policy.Options {
	o := simOptions()
	o.Exact = rewrite.Approximate
	if err := o.Within.Set(within); err != nil {
		panic(err)
	}
	return o
}

func TestApproximatesWithinTheBound(t *testing.T) {
	for _, c := range []struct{ within, recipe string }{
		{"1e-3", "approx=all"},
		{"mean:1e-5", "approx=all"},
		{"5.1e-5", ""},
		{"mean:2.6e-6", ""},
	} {
		g := newSim(t, divisions())
		results, _ := g.run(approximately(c.within), one("_Z1aPfi", shape(1000, 256)))
		d := results[0].Decision
		if d == nil || d.Recipe != c.recipe {
			t.Errorf("within %s: decided %s; want %s", c.within, d.Recipe, c.recipe)
			continue
		}
		if c.recipe != "" && (d.Exactness != "approximate" || !strings.Contains(d.Evidence.Note,
			"results differ by up to")) {
			t.Errorf("within %s: %s, %q", c.within, d.Exactness, d.Evidence.Note)
		}
	}
}

// TestApproximatesOnlyIfAsked: without leave no approximation is compiled, measured or taken from
// an earlier run that had leave.
func TestApproximatesOnlyIfAsked(t *testing.T) {
	g := newSim(t, divisions())
	asked := func() (n int) {
		for what := range g.compiled {
			if strings.Contains(what, "approx=") || strings.Contains(what, "fastmath=") {
				n++
			}
		}
		return n
	}
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	if d := results[0].Decision; d == nil || d.Recipe != "" || asked() > 0 {
		t.Fatalf("decided %+v, compiled %v", d, g.compiled)
	}
	within := simOptions() // a bound is no leave
	within.Within = policy.Bound{Value: 1}
	if results, _ = g.run(within,
		one("_Z1aPfi", shape(1000, 256))); results[0].Decision.Recipe != "" || asked() > 0 {
		t.Fatalf("decided %+v, compiled %v", results[0].Decision, g.compiled)
	}
	if results, _ = g.run(approximately("1e-3"),
		one("_Z1aPfi", shape(1000, 256))); results[0].Decision.Recipe != "approx=all" {
		t.Fatalf("decided %s", results[0].Decision.Recipe)
	}
	before := g.measured["approx=all"]
	results, _ = g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	if d := results[0].Decision; d == nil || d.Recipe != "" || d.Exactness == "approximate" ||
		g.measured["approx=all"] != before {
		t.Errorf("after a run that approximated: %s", d.Recipe)
	}
	// The other way round, a smaller bound than before.
	if results, _ = g.run(approximately("1e-6"),
		one("_Z1aPfi", shape(1000, 256))); results[0].Decision.Recipe != "" {
		t.Errorf("with a smaller bound: %+v", results[0].Decision)
	}
}

// TestBoundNeedsValues: a kernel that writes more than one type is held to the same bits.
func TestBoundNeedsValues(t *testing.T) {
	k := divisions()
	k.Writes = ""
	g := newSim(t, k)
	results, _ := g.run(approximately("1e-1"), one("_Z1aPfi", shape(1000, 256)))
	d := results[0].Decision
	if d == nil || d.Recipe != "" || !strings.Contains(reasons(d.Evidence.Tried),
		"not all f32 or all f64") {
		t.Errorf("decided %+v", d)
	}
}

func reasons(tried []cache.Trial) string {
	var out []string
	for _, t := range tried {
		out = append(out, t.Refused)
	}
	return strings.Join(out, "\n")
}

// TestFastMathLever: the functions of the source are tried as a whole, one by one, and beside
// divisions.
func TestFastMathLever(t *testing.T) {
	k := divisions()
	k.Math = map[string]int{"sin": 1, "exp": 2}
	k.speed = func(r recipe.Recipe, s policy.Shape) float64 {
		f := 1.0
		if strings.HasPrefix(get(r, "approx"), "all.ftz") {
			f -= 0.1
		}
		if strings.HasPrefix(get(r, "fastmath"), "all.ftz") {
			f -= 0.3
		}
		return f
	}
	k.off = func(r recipe.Recipe) float64 {
		e := 2 * (1 - k.speed(r, policy.Shape{})) * 1e-4
		return e
	}
	for within, want := range map[string]string{"1e-3": "approx=all.ftz fastmath=all.ftz", "6.1e-5": "fastmath=all.ftz",
		"1e-5": ""} {
		g := newSim(t, k)
		results, _ := g.run(approximately(within), one("_Z1aPfi", shape(1000, 256)))
		if d := results[0].Decision; d == nil || d.Recipe != want {
			t.Errorf("within %s: decided %s, want %s", within, d.Recipe, want)
		}
	}
}
