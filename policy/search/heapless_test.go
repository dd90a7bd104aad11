package search

import (
	"errors"
	"strings"
	"testing"

	"gnvcc/rewrite"
)

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
		k := &simKernel{trouble: fails("heapless=on", c.trouble, 0)}
		k.Allocates = true
		g := newSim(t, k)
		made := 0
		if !c.plain {
			g.heapless = func() error {
				if made++; c.refuse {
					return errors.New("it isn't known")
				}
				return nil
			}
		}
		g.read = func(variable string, size int) ([]byte, error) {
			if variable != rewrite.Allocated || size != 4 {
				t.Errorf("%s: %s is read, %d bytes", name, variable, size)
			}
			if c.takes {
				return []byte{1, 0, 0, 0}, nil
			}
			return make([]byte, 4), nil
		}
		results, _ := g.run(simOptions(), app{launches: on(4, 100, 256)})
		alone := results[0].Alone
		if c.want == "" {
			if len(alone) != 0 || results[0].Decision == nil || made != 1 {
				t.Errorf("%s: %+v, made %d times", name, alone, made)
			}
		} else if len(alone) != 1 || !strings.Contains(alone[0], c.want) {
			t.Errorf("%s: %+v, want %q", name, alone, c.want)
		}
	}
}
