package search

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/rewrite/counters"
)

// TestCounted: each configuration is counted once, behind everything else, and the counts stand in
// the decision; a build that was noticed, or can't be had, gives none.
func TestCounted(t *testing.T) {
	for name, c := range map[string]struct {
		refuse bool
		bits   bool
		cold   bool
		time   float64
		want   *cache.Counts
	}{
		"warm": {want: &cache.Counts{Blocks: []uint64{5, 6}, Sectors: []uint64{100},
			L2: []uint64{100}, Memory: []uint64{100}, Lines: []uint64{100}}},
		"refused": {refuse: true},
		"noticed": {bits: true},
		"long":    {time: 1e9},
	} {
		k := &simKernel{time: c.time}
		if c.bits {
			k.trouble = fails("counting=on", "bits", 0)
		}
		g := newSim(t, k)
		asked, reads, caches := 0, 0, counters.Caches{}
		g.counting = func(found counters.Caches) (out counters.Counters, err error) {
			if asked, caches = asked+1, found; c.refuse {
				err = errors.New("it can't be counted")
			}
			return counters.Counters{Blocks: 2, Accesses: make([]counters.Access, 1)}, err
		}
		g.read = func(variable string, size int) ([]byte, error) {
			reads++
			if variable != counters.Table {
				t.Errorf("%s: %s is read", name, variable)
			}
			b := make([]byte, size)
			for i, v := range []uint64{5, 6, 100, 100, 100, 100, 40} { // counters go on from run to run
				binary.LittleEndian.PutUint64(b[8*i:], v*uint64(reads))
			}
			return b, nil
		}
		o := simOptions()
		if c.time > 0 {
			o.Budget = 5 * time.Minute
		}
		l := appLaunch{kernel: k.Name, shape: shape(100, 256)}
		results, _ := g.run(o, app{launches: l.times(4)})
		got := results[0].Decision.Evidence.Launches[0].Counts
		if c.want == nil {
			if got != nil {
				t.Errorf("%s: %+v", name, got)
			}
			continue
		}
		if asked != 1 || reads != 2 || got == nil || got.Blocks[1] != 6 || len(got.Sectors) != 1 ||
			got.Sectors[0] != 100 || got.Memory[0] != 100 || got.Lines[0] != 100 ||
			got.Written[0] != 40 || got.Cold {
			t.Errorf("%s: asked %d times, %d reads, %+v", name, asked, reads, got)
		}
		if caches.L1 < 1<<17 {
			t.Errorf("%s: an L1 of %d bytes", name, caches.L1)
		}
		// Another run finds the counts in the notebook.
		g.run(o, app{launches: l.times(4)})
		if asked != 1 {
			t.Errorf("%s: counted again", name)
		}
	}
}
