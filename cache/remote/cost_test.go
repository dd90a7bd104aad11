package remote

import (
	"encoding/json"
	"fmt"
	"syscall"
	"testing"

	"gnvcc/cache"
)

// TestCost: of what was pulled, each decision's text is read once. Reading it is most of what a
// pull of thousands costs.
func TestCost(t *testing.T) {
	var all []cache.Decision
	for i := range 1500 {
		d := decision(cache.Hash(fmt.Append(nil, i)), "NVIDIA H200", "maxnreg=40", i, 1)
		for j := range 40 {
			d.Evidence.Tried = append(d.Evidence.Tried,
				cache.Trial{Recipe: fmt.Sprint("maxnreg=", 24+8*j), Ratio: 1 / float64(j+3)})
		}
		all = append(all, d)
	}
	x, blobs := packed(t, "one", 1, all...)
	spent := func(do func()) float64 {
		var before, after syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &before)
		do()
		syscall.Getrusage(syscall.RUSAGE_SELF, &after)
		return float64(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() -
			before.Stime.Nano())
	}
	best := 1e9
	for range 3 { // other processes take caches away
		once := spent(func() {
			for _, d := range all {
				text, err := json.Marshal(d)
				var back cache.Decision
				if err != nil || json.Unmarshal(text, &back) != nil {
					t.Fatal(err)
				}
			}
		})
		_, r := opened(t)
		index := arrive(t, r, x, blobs)
		pulled := spent(func() {
			if _, _, err := r.Check("one", index, "", nil); err != nil {
				t.Fatal(err)
			}
			r.Tags["one"] = Tag{Index: index}
			if n, _, err := r.Publish(every); n != len(all) || err != nil {
				t.Fatal(n, err)
			}
		})
		best = min(best, pulled/once)
	}
	t.Logf("a pull costs %.2f times what it costs to write and read its decisions once", best)
	if best > 1.7 {
		t.Errorf("a pull costs %.2f times what it costs to write and read its decisions once, at most 1.7 are expected",
			best)
	}
}
