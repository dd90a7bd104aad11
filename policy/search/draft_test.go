package search

import (
	"context"
	"testing"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/source"
)

// A compiler with drafts of what has terms for the source. Those of one recipe are not what a build
// makes of it: they run as another one does.
type drafting struct {
	*simGPU
	other, as string
	wholes    map[string]int // compiles as a build does, by recipe
}

func (d *drafting) Compile(ctx context.Context, k *policy.Kernel, r recipe.Recipe) (*policy.Candidate, error) {
	if get(r, "unroll") != "" {
		d.mu.Lock()
		d.wholes[r.String()]++
		d.mu.Unlock()
	}
	return d.made(ctx, k, r, r.String())
}

func (d *drafting) Draft(ctx context.Context, k *policy.Kernel,
	r recipe.Recipe) (*policy.Candidate, error) {
	if r.String() != d.other {
		c, err := d.made(ctx, k, r, r.String())
		c.Draft = get(r, "unroll") != ""
		return c, err
	}
	as, err := recipe.Parse(d.as)
	if err != nil {
		return nil, err
	}
	c, err := d.made(ctx, k, as, d.as)
	c.Draft = true
	return c, err
}

func (d *drafting) made(ctx context.Context, k *policy.Kernel, r recipe.Recipe,
	normal string) (*policy.Candidate, error) {
	c, err := d.simGPU.Compile(ctx, k, r)
	if c != nil && get(r, "unroll") != "" {
		c.Normals = map[string]string{"source": normal}
	}
	return c, err
}

// TestDraft: what is adopted was compiled as a build compiles it, and has the figures of that code;
// the rest of a search needs no such compile.
func TestDraft(t *testing.T) {
	for _, other := range []string{"", "unroll=4"} {
		t.Run(other, func(t *testing.T) {
			k := &simKernel{Kernel: policy.Kernel{Loops: []source.Loop{{Site: "1",
				Kind: "for"}}}, speed: func(r recipe.Recipe, s policy.Shape) float64 {
				switch get(r, "unroll") {
				case "4":
					return 1.2
				case "2":
					return 0.8
				case "16": // what the draft of 4 runs as, where it is another one
					return 0.5
				}
				return 1
			}}
			d := &drafting{newSim(t, k), other, "unroll=16", map[string]int{}}
			o := simOptions()
			o.Levers = []string{"unroll"}
			results, _ := d.runWith(d, o, one("_Z1aPfi", shape(1000, 256)))
			got := results[0].Decision
			if got == nil || got.Recipe != "unroll=2" || got.Evidence.Normals["source"] != "unroll=2" {
				t.Fatalf("decided %+v", got)
			}
			if d.wholes["unroll=2"] != 1 || other != "" && d.wholes[other] != 1 {
				t.Errorf("compiled as in a build: %v", d.wholes)
			}
			if n := len(d.wholes); n > 2 {
				t.Errorf("%d recipes were compiled as in a build: %v", n, d.wholes)
			}
		})
	}
}
