package profile

import (
	"context"
	"path/filepath"
	"testing"
)

// TestManyRanks: 64 processes at once are all heard; of those that are killed the counts so far
// stay, and nobody waits for them.
func TestManyRanks(t *testing.T) {
	f := newFakeDriver(t)
	o := f.options("times", true, "APP="+filepath.Join(f.dir, "app"))
	o.Argv = []string{"sh", "-c", `for i in 1 2 3 4; do
SLOW=60000 $APP launch >/dev/null & slow="$slow $!"; done
for i in $(seq 60); do $APP times >/dev/null & all="$all $!"; done
wait $all; kill -9 $slow; wait; exit 7`}
	h := &quiet{}
	exit, err := Run(context.Background(), o, h)
	if err != nil || exit.Code != 7 {
		t.Fatalf("%+v, %v", exit, err)
	}
	whole, count := 0, 0
	for _, s := range h.sums {
		for _, k := range s.Kernels {
			count += k.Launch.Count
		}
		if s.Whole {
			whole++
		}
	}
	if len(h.starts) != 64 || len(h.sums) != 64 || whole != 60 || count != 60*6+4 {
		t.Errorf("%d begin, %d end, %d in order, with %d launches", len(h.starts), len(h.sums), whole,
			count)
	}
}
