package search

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// A compiler of which some part takes for ever: the whole text of source variants, or their proofs.
type endless struct {
	*drafting
	whole, proof bool
	asked        []string // in this order: drafts, and "whole" before recipes compiled as in a build
}

func (e *endless) Compile(ctx context.Context, k *policy.Kernel, r recipe.Recipe,
	plain bool) (*policy.Candidate, error) {
	if get(r, "unroll") != "" {
		e.note("whole " + r.String())
		if e.whole {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}
	c, err := e.drafting.Compile(ctx, k, r, plain)
	return e.doubted(c, r), err
}

func (e *endless) Draft(ctx context.Context, k *policy.Kernel,
	r recipe.Recipe) (*policy.Candidate, error) {
	e.note(r.String())
	c, err := e.drafting.Draft(ctx, k, r)
	return e.doubted(c, r), err
}

func (e *endless) note(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, what)
}

func (e *endless) doubted(c *policy.Candidate, r recipe.Recipe) *policy.Candidate {
	if c == nil || !e.proof || get(r, "unroll") == "" {
		return c
	}
	out := *c
	out.Prove = func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Minute): // or a search that waits for it would never end
			return errors.New("it took too long")
		}
	}
	return &out
}

// unrolled is a kernel that unrolling makes much faster, and ld=cs somewhat.
func unrolled(t *testing.T) *endless {
	k := &simKernel{Kernel: sources(policy.Kernel{Loads: 8}),
		speed: func(r recipe.Recipe, s policy.Shape, plain bool) float64 {
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
// compiled as a build compiles it by then, or not proved.
func TestReady(t *testing.T) {
	for name, set := range map[string]func(*endless){
		"compiling": func(e *endless) { e.whole = true },
		"proving":   func(e *endless) { e.proof = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := unrolled(t)
			set(e)
			o := simOptions()
			o.Levers, o.Budget = []string{"unroll", "ld"}, 3*time.Second
			results, _ := e.runWith(e, o, one("_Z1aPfi", shape(1000, 256)))
			if got := results[0].Decision; got == nil || got.Recipe != "ld=cs" {
				t.Errorf("decided %+v", got)
			}
			if e.stood > o.Budget+o.Budget/10 {
				t.Errorf("it took %v", e.stood)
			}
		})
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
