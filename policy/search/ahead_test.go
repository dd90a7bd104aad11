package search

import (
	"context"
	"strings"
	"testing"
	"time"

	"gnvcc/policy"
	"gnvcc/profile"
	"gnvcc/rewrite/recipe"
)

// What a search asks for first can be compiled before it, by half of the workers: it is what the
// search then asks for, nothing is compiled twice, and what may not be tried is not compiled.
func TestCompiledAhead(t *testing.T) {
	for _, jobs := range []int{1, 4} {
		g := newSim(t, &simKernel{Kernel: sources(policy.Kernel{Loads: 8, Banned: []string{"hint"},
			Stores: 3}), speed: func(recipe.Recipe, policy.Shape) float64 { return 1 }})
		o := simOptions()
		o.Jobs = jobs
		tuner := NewRun(context.Background(), o, g, g, g, nil)
		at := shape(1000, 256)
		p := &profile.Process{PID: 1}
		l := g.launched(p, "_Z1aPfi", "module", at, []byte{9, 0, 0, 0})
		l.Count = 40
		tuner.Saw([]profile.Seen{{Launch: l, Seconds: 1}})
		tuner.Ahead(Captured{"module", "_Z1aPfi", shape(5, 32), simDevice.Name}, &Plan{}) // not a launch of the program's
		tuner.Ahead(Captured{"module", "_Z1aPfi", at, simDevice.Name}, &Plan{})
		compiled := func() (n int, twice string) {
			g.mu.Lock()
			defer g.mu.Unlock()
			for r, times := range g.compiled {
				if times > 1 || strings.Contains(r, "hint") {
					twice = r
				}
			}
			return len(g.compiled), twice
		}
		before := 0
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			tuner.pool.mu.Lock()
			left, busy := len(tuner.pool.queue), tuner.pool.ahead
			tuner.pool.mu.Unlock()
			if busy > jobs/2 {
				t.Fatalf("%d of %d workers compile ahead", busy, jobs)
			}
			if before, _ = compiled(); jobs == 1 && before == 0 && left > 0 || left+busy == 0 {
				break
			}
		}
		if jobs == 1 && before > 0 || jobs > 1 && before < 10 {
			t.Errorf("%d workers compiled %d recipes ahead", jobs, before)
		}
		on := g.session(g.kernels["_Z1aPfi"], at, 0)
		if err := tuner.Search(context.Background(), l, on, &Plan{}); err != nil {
			t.Fatal(err)
		}
		all, twice := compiled()
		if twice != "" {
			t.Errorf("%s was compiled twice, or is banned", twice)
		}
		asked := 0
		for _, tr := range tuner.kernels["id-_Z1aPfi"+simDevice.Name].configs[at].Notebook.Trials {
			if !strings.Contains(tr.Text, "maxnreg") {
				asked++
			}
		}
		if jobs > 1 && (before > asked+3 || all < before) {
			t.Errorf("%d recipes were compiled ahead, of which the search wanted %d", before, asked)
		}
		tuner.Ahead(Captured{"module", "_Z1aPfi", at, simDevice.Name}, &Plan{}) // it has been searched
		tuner.Finish()
	}
}
