package search

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// A heaplessSim is a simulated GPU whose compiler makes builds that do not allocate, too.
type heaplessSim struct {
	*simGPU
	made   int
	refuse bool
}

func (g *heaplessSim) Heapless(_ context.Context, k *policy.Kernel) (*policy.Candidate, error) {
	if g.made++; g.refuse {
		return nil, errors.New("it isn't known")
	}
	return &policy.Candidate{Path: k.Name + "|heapless=on"}, nil
}

// TestHeapless: a kernel that may allocate is tuned where no launch looked at does, and else left
// alone.
func TestHeapless(t *testing.T) {
	for name, c := range map[string]struct {
		refuse, plain, takes bool
		trouble, want        string
	}{
		"never":        {},
		"no such":      {plain: true, want: "it may allocate memory on the device"},
		"not made":     {refuse: true, want: "isn't known"},
		"allocates":    {takes: true, want: "it allocates memory on the device"},
		"by its bits":  {trouble: "bits", want: "its results differ"},
		"by its fault": {trouble: "fault", want: "it may allocate memory on the device"},
		"not loaded":   {trouble: "load", want: "it may allocate memory on the device"},
	} {
		k := &simKernel{trouble: func(r recipe.Recipe, launch int) string {
			if r.String() == "heapless=on" {
				return c.trouble
			}
			return ""
		}}
		k.Allocates = true
		g := &heaplessSim{simGPU: newSim(t, k), refuse: c.refuse}
		g.read = func(variable string, size int) ([]byte, error) {
			if variable != rewrite.Allocated || size != 4 {
				t.Errorf("%s: %s is read, %d bytes", name, variable, size)
			}
			if c.takes {
				return []byte{1, 0, 0, 0}, nil
			}
			return make([]byte, 4), nil
		}
		var compiler policy.Compiler = g
		if c.plain {
			compiler = g.simGPU
		}
		results, _ := g.runWith(compiler, simOptions(), app{launches: appLaunch{kernel: k.Name,
			shape: shape(100, 256)}.times(4)})
		alone := results[0].Alone
		if c.want == "" {
			if len(alone) != 0 || results[0].Decision == nil || g.made != 1 {
				t.Errorf("%s: %+v, made %d times", name, alone, g.made)
			}
		} else if len(alone) != 1 || !strings.Contains(alone[0].Reason, c.want) {
			t.Errorf("%s: %+v, want %q", name, alone, c.want)
		}
	}
}
