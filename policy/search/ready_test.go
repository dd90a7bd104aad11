package search

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// A compiler that takes for ever for the whole text of source variants.
type endless struct {
	*drafting
	whole bool
	asked []string // in this order: drafts, and "whole" before recipes compiled as in a build
}

func (e *endless) Compile(ctx context.Context, k *policy.Kernel, r recipe.Recipe) (*policy.Candidate, error) {
	if get(r, "unroll") != "" {
		e.note("whole " + r.String())
		if e.whole {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}
	return e.drafting.Compile(ctx, k, r)
}

func (e *endless) Draft(ctx context.Context, k *policy.Kernel,
	r recipe.Recipe) (*policy.Candidate, error) {
	e.note(r.String())
	return e.drafting.Draft(ctx, k, r)
}

func (e *endless) note(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, what)
}

// unrolled is a kernel that unrolling makes much faster, and ld=cs somewhat.
func unrolled(t *testing.T) *endless {
	k := &simKernel{Kernel: sources(policy.Kernel{Loads: 8}),
		speed: func(r recipe.Recipe, s policy.Shape) float64 {
			f := map[string]float64{"16": 0.45, "8": 0.5, "4": 0.6, "2": 0.7}[get(r, "unroll")]
			if f == 0 {
				f = 1
			}
			if get(r, "ld") == "cs" {
				f *= 0.8
			}
			return f
		}}
	g := newSim(t, k)
	g.between = time.Millisecond // compilers go on beside the program
	return &endless{drafting: &drafting{g, "", "", map[string]int{}}}
}

// TestReady: what can be compared at the end of the budget is adopted, where what is faster is not
// compiled as a build compiles it by then.
func TestReady(t *testing.T) {
	e := unrolled(t)
	e.whole = true
	o := simOptions()
	o.Levers, o.Budget = []string{"unroll", "ld"}, 3*time.Second
	results, _ := e.runWith(e, o, one("_Z1aPfi", shape(1000, 256)))
	if got := results[0].Decision; got == nil || got.Recipe != "ld=cs" {
		t.Errorf("decided %+v", got)
	}
	if e.stood > o.Budget+o.Budget/10 {
		t.Errorf("it took %v", e.stood)
	}
}

// TestAhead: what the best so far needs to be adopted is compiled beside the rest of the search.
func TestAhead(t *testing.T) {
	e := unrolled(t)
	o := simOptions()
	o.Levers = []string{"unroll", "ld"}
	results, _ := e.runWith(e, o, one("_Z1aPfi", shape(1000, 256)))
	if got := results[0].Decision; got == nil || got.Recipe != "ld=cs unroll=16" {
		t.Errorf("decided %+v", got)
	}
	isWhole := func(what string) bool { return strings.HasPrefix(what, "whole ") }
	first := slices.IndexFunc(e.asked, isWhole)
	if first < 0 || !slices.ContainsFunc(e.asked[first:], func(s string) bool { return !isWhole(s) }) {
		t.Errorf("asked for, in this order: %v", e.asked)
	}
}
