// Searches of all pairs, of all counts, and of single levers.

package search

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/rewrite/recipe"
)

func TestOnly(t *testing.T) {
	g := newSim(t, &simKernel{speed: func(r recipe.Recipe, s policy.Shape, plain bool) float64 {
		return 0.5
	}})
	o := simOptions()
	o.Levers = []string{"nosuch"}
	if err := (&policy.Options{Budget: 1, Total: -1}).Validate(lever.Names()); err == nil {
		t.Error("a negative budget for the run is taken")
	}
	if err := o.Validate(lever.Names()); err == nil || !strings.Contains(err.Error(), "maxnreg") {
		t.Errorf("unknown lever: %v", err)
	}
	o = simOptions()
	o.Only = regexp.MustCompile("^nothing$")
	if results, _ := g.run(o, one("_Z1aPfi", shape(100, 256))); len(results) != 0 ||
		len(g.measured) != 0 {
		t.Errorf("a kernel that was not asked for: %+v", results)
	}
}

// TestExhaustive: the benchmark mode finds a pair that the greedy search can't see, and says so.
func TestExhaustive(t *testing.T) {
	k := &simKernel{Kernel: policy.Kernel{Loads: 8, Stores: 2}, speed: func(r recipe.Recipe,
		s policy.Shape, plain bool) float64 {
		switch {
		case get(r, "ld") == "cs" && get(r, "st") == "cs":
			return 0.5
		case get(r, "ld") == "cs" || get(r, "st") == "cs":
			return 1.05 // neither alone
		}
		return 1
	}}
	g := newSim(t, k)
	o := simOptions()
	results, _ := g.run(o, one("_Z1aPfi", shape(1000, 256)))
	if d := results[0].Decision; d.Recipe != "" {
		t.Errorf("the search found %q", d.Recipe)
	}
	g = newSim(t, k)
	g.takes = true
	o.Exhaustive = true
	o.Budget = time.Minute // it ends when all is measured
	results, _ = g.run(o, one("_Z1aPfi", shape(1000, 256)))
	d := results[0].Decision
	if d.Recipe != "ld=cs st=cs" || !strings.Contains(d.Evidence.Note, " have 0.") {
		t.Errorf("decided %q: %s", d.Recipe, d.Evidence.Note)
	}
	e := d.Evidence.Launches[0].Exhaustive
	if e == nil || e.Cut || e.Search.Recipe != "" || e.Search.Ratio != 1 ||
		e.Best.Recipe != "ld=cs st=cs" || math.Abs(e.Best.Ratio-0.5) > 0.02 {
		t.Fatalf("%+v", e)
	}
	// The search's own cost is a part of the whole.
	if a, b := e.Search.Cost, e.Best.Cost; a.Candidates == 0 || b.Candidates <= a.Candidates ||
		b.Seconds <= a.Seconds || e.Wanted < b.Candidates-a.Candidates {
		t.Errorf("%+v", e)
	}
	if c := d.Evidence.Launches[0].Cost; c == nil || c.Candidates != e.Best.Cost.Candidates ||
		c.Seconds < e.Best.Cost.Seconds {
		t.Errorf("cost %+v", c)
	}
}

// TestEveryCount: with registers as the only lever, the benchmark mode finds a count that is no
// critical point.
func TestEveryCount(t *testing.T) {
	k := &simKernel{Kernel: policy.Kernel{Loads: 8}, regs: func(r recipe.Recipe) int {
		if n, err := strconv.Atoi(get(r, "maxnreg")); err == nil {
			return min(n, 90)
		}
		return 40
	}, speed: func(r recipe.Recipe, s policy.Shape, plain bool) float64 {
		if get(r, "maxnreg") == "51" {
			return 0.8
		}
		return 1
	}}
	g := newSim(t, k)
	o := simOptions()
	o.Levers, o.Exhaustive, o.Budget = []string{"maxnreg"}, true, time.Minute
	results, _ := g.run(o, one("_Z1aPfi", shape(1000, 256)))
	e := results[0].Decision.Evidence.Launches[0].Exhaustive
	if e == nil || e.Cut || e.Best.Recipe != "maxnreg=51" || e.Wanted < 60 {
		t.Errorf("%+v", e)
	}
}

// TestCopyAndCap: as in examples/stencil, a copy for values brings nothing to an unrolled kernel
// but with a lower cap.
func TestCopyAndCap(t *testing.T) {
	k := &simKernel{Kernel: sources(policy.Kernel{Loads: 8}),
		speed: func(r recipe.Recipe, s policy.Shape, plain bool) float64 {
			copied := strings.Contains(get(r, "spec"), "#1=")
			capped := get(r, "maxnreg") == "40" || get(r, "maxnreg") == "48" || get(r, "maxnreg") == "56"
			switch unrolled := get(r, "unroll") == "8"; {
			case unrolled && copied && capped:
				return 0.55
			case unrolled && capped:
				return 0.72
			case unrolled && copied:
				return 0.71
			case unrolled:
				return 0.70
			case copied:
				return 0.85
			}
			return 1
		},
		regs: func(r recipe.Recipe) int {
			if n, err := strconv.Atoi(get(r, "maxnreg")); err == nil {
				return n
			}
			if get(r, "unroll") == "8" {
				return 64
			}
			return 40
		}}
	g := newSim(t, k)
	results, _ := g.run(simOptions(), one("_Z1aPfi", shape(1000, 256)))
	if d := results[0].Decision; !strings.Contains(d.Recipe, "spec{#1=") || !strings.Contains(d.Recipe,
		"unroll=8") || !strings.Contains(d.Recipe, "maxnreg=") {
		t.Errorf("decided %q", d.Recipe)
	}
}

// TestExhaustiveCut: a budget ends it, the result says so, and a later run goes on with what the
// search itself had found.
func TestExhaustiveCut(t *testing.T) {
	k := &simKernel{Kernel: policy.Kernel{Loads: 8, Stores: 2}, speed: func(r recipe.Recipe,
		s policy.Shape, plain bool) float64 {
		switch {
		case get(r, "ld") == "cs" && get(r, "st") == "cs":
			return 0.5
		case get(r, "ld") == "L2::256B":
			return 0.9
		}
		return 1
	}}
	g := newSim(t, k)
	o := simOptions()
	plain, _ := g.run(o, one("_Z1aPfi", shape(1000, 256))) // the search itself is done
	if d := plain[0].Decision; d.Recipe != "ld=L2::256B" || d.Evidence.Launches[0].Exhaustive != nil {
		t.Fatalf("decided %q", d.Recipe)
	}
	k.compile = 10 * time.Millisecond
	o.Exhaustive, o.Budget, o.Jobs = true, 200*time.Millisecond, 1
	results, _ := g.run(o, one("_Z1aPfi", shape(1000, 256)))
	d := results[0].Decision
	e := d.Evidence.Launches[0].Exhaustive
	if e == nil || !e.Cut || !strings.Contains(d.Evidence.Note, "budget") {
		t.Fatalf("not cut: %+v; %s", e, d.Evidence.Note)
	}
	searched := e.Search
	o.Budget = time.Minute
	results, _ = g.run(o, one("_Z1aPfi", shape(1000, 256)))
	if e = results[0].Decision.Evidence.Launches[0].Exhaustive; e.Cut ||
		e.Best.Recipe != "ld=cs st=cs" || e.Search.Recipe != searched.Recipe ||
		e.Search.Cost != searched.Cost {
		t.Errorf("%+v", e)
	}
}
