package search

import (
	"encoding/binary"
	"errors"
	"reflect"
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
		time   float64
		want   *cache.Counts
	}{
		"counted": {want: &cache.Counts{Blocks: []uint64{5, 6}}},
		"refused": {refuse: true},
		"noticed": {bits: true},
		"long":    {time: 1e9},
	} {
		k := &simKernel{time: c.time}
		if c.bits {
			k.trouble = fails("counting=on", "bits", 0)
		}
		g := newSim(t, k)
		asked, reads := 0, 0
		g.counting = func() (out counters.Counters, err error) {
			if asked++; c.refuse {
				err = errors.New("it can't be counted")
			}
			return make(counters.Counters, 2), err
		}
		g.read = func(variable string, size int) ([]byte, error) {
			reads++
			if variable != counters.Table {
				t.Errorf("%s: %s is read", name, variable)
			}
			b := make([]byte, size)
			for i, v := range []uint64{5, 6} {
				binary.LittleEndian.PutUint64(b[8*i:], v)
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
		if asked != 1 || reads != 1 || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: asked %d times, %d reads, %+v", name, asked, reads, got)
		}
		// Another run finds the counts in the notebook.
		g.run(o, app{launches: l.times(4)})
		if asked != 1 {
			t.Errorf("%s: counted again", name)
		}
	}
}
