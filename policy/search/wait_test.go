package search

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// TestTakenMeanwhile: what is compiled is taken while others still compile, in the order of the
// list.
func TestTakenMeanwhile(t *testing.T) {
	jobs := make([]*job, 4)
	for i := range jobs {
		jobs[i] = &job{done: make(chan struct{})}
	}
	close(jobs[0].done)
	close(jobs[1].done)
	close(jobs[3].done)
	s := &search{t: &Tuner{now: time.Now}, ctx: t.Context(),
		compileBy: time.Now().Add(time.Minute)}
	var taken []int
	if err := s.gather(jobs, func() error {
		if taken = append(taken, len(taken)); len(taken) == 2 {
			if jobs[2].finished() {
				t.Error("the third is compiled")
			}
			close(jobs[2].done)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if !slices.Equal(taken, []int{0, 1}) {
		t.Errorf("taken: %v", taken)
	}
	open := []*job{{done: jobs[0].done}, {done: make(chan struct{})}}
	if err := s.gather(open, func() error { return errBudget }); err != errBudget {
		t.Errorf("an error ends it: %v", err)
	}
}

// A compiler whose proof of a factor ends when a recipe around it is compiled.
type presuming struct {
	*doubting
	proving, beside atomic.Bool
}

func (c *presuming) Compile(ctx context.Context, k *policy.Kernel, r recipe.Recipe,
	plain bool) (*policy.Candidate, error) {
	if c.proving.Load() && len(r.Terms) > 1 {
		c.beside.Store(true)
	}
	out, err := c.doubting.Compile(ctx, k, r, plain)
	if out == nil || out.Prove == nil || r.String() != "unroll=4" {
		return out, err
	}
	slow := *out
	slow.Prove = func(ctx context.Context) error {
		c.proving.Store(true)
		defer c.proving.Store(false)
		for end := time.Now().Add(proofPatience / 2); !c.beside.Load(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				return errors.New("nothing was compiled meanwhile")
			}
		}
		return out.Prove(ctx)
	}
	return &slow, err
}

// TestPresume: what is tried around the best is compiled while its proof is waited for.
func TestPresume(t *testing.T) {
	k := &simKernel{Kernel: sources(policy.Kernel{Loads: 8}),
		speed: func(r recipe.Recipe, s policy.Shape, plain bool) float64 {
			if get(r, "unroll") == "4" {
				return 0.7
			}
			return 1
		}}
	c := &presuming{doubting: &doubting{simGPU: newSim(t, k), proofs: map[string]int{}}}
	o := simOptions()
	o.Levers, o.Jobs = []string{"unroll", "ld"}, 4
	results, _ := c.runWith(c, o, one("_Z1aPfi", shape(1000, 256)))
	if d := results[0].Decision; d.Recipe != "unroll=4" || !d.Evidence.Proved {
		t.Errorf("decided %q, proved: %v", d.Recipe, d.Evidence.Proved)
	}
}
