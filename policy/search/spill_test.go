package search

import (
	"context"
	"testing"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// A compiler that knows of spills only when it compiles: what a build noted does not tell.
type spilling struct{ *simGPU }

func (s spilling) Compile(ctx context.Context, k *policy.Kernel, r recipe.Recipe) (*policy.Candidate, error) {
	c, err := s.simGPU.Compile(ctx, k, r)
	if c != nil && get(r, "demote") != "spill" {
		c.Build.Spill = 64
	}
	return c, err
}

// TestSpillsKnown: that the default spills is known from its own compile, so that levers for spills
// are tried.
func TestSpillsKnown(t *testing.T) {
	g := newSim(t, &simKernel{speed: func(r recipe.Recipe, s policy.Shape) float64 {
		if get(r, "demote") == "spill" {
			return 0.7
		}
		return 1
	}})
	results, _ := g.runWith(spilling{g}, simOptions(), one("_Z1aPfi", shape(1000, 256)))
	if d :=
		results[0].Decision; d.Recipe != "demote=spill spec{host(block)=256x1x1,host(dynamic)=0}" ||
		d.Evidence.Default.Spill != 64 {
		t.Errorf("decided %q; the default spills %d bytes", d.Recipe, d.Evidence.Default.Spill)
	}
}
