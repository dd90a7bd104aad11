package search

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/source"
)

// A compiler whose drafts are there at once, while what a build makes of a variant of the source
// takes long.
type late struct {
	*simGPU
	whole time.Duration
	heard *outcomes
}

// outcomes is a Progress that keeps what it hears of configurations.
type outcomes struct {
	policy.Silent
	open []string
}

func (o *outcomes) Tuned(_ *policy.Kernel, _ policy.Shape, is policy.Outcome) {
	o.open = append(o.open, is.Open)
}

func (l *late) Draft(ctx context.Context, k *policy.Kernel, r recipe.Recipe) (*policy.Candidate,
	error) {
	c, err := l.simGPU.Compile(ctx, k, r)
	if c != nil && get(r, "unroll") != "" {
		c.Draft = true
	}
	return c, err
}

func (l *late) Compile(ctx context.Context, k *policy.Kernel, r recipe.Recipe) (*policy.Candidate, error) {
	c, err := l.simGPU.Compile(ctx, k, r)
	if c == nil || get(r, "unroll") == "" {
		return c, err
	}
	select {
	case <-time.After(l.whole):
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// search runs one on a launch of 10 ms that is replayed, which lasts longer than its budget.
func (l *late) search(t *testing.T, grace time.Duration) (d *cache.Decision, took time.Duration) {
	k := &simKernel{Kernel: policy.Kernel{Loads: 40, Stores: 8, Loops: []source.Loop{{Site: "1",
		Kind: "for"}}}, time: 10e6, noise: 0.0005, speed: func(r recipe.Recipe, s policy.Shape) float64 {
		f := 1.0
		if get(r, "unroll") == "4" {
			f = 0.6
		}
		if get(r, "ld") == "cs" {
			f *= 0.9
		}
		return f
	}}
	l.simGPU = newSim(t, k)
	l.takes = true
	l.heard = &outcomes{}
	l.bubble(func(t *testing.T) {
		tuner := NewRun(context.Background(), simOptions(), l, l, l, l.heard)
		l.plan = &Plan{Budget: 3 * time.Second, Grace: grace}
		begun := time.Now()
		p, _, tuned := l.replays(tuner, 1)
		took = time.Since(begun)
		if !tuned {
			t.Error("it is not searched")
		}
		d = l.finish(tuner, p)
	})
	return d, took
}

// TestGrace: where the best that was measured is not compiled in time as a build compiles it, the
// search of a replayed launch ends a little later.
func TestGrace(t *testing.T) {
	for grace, want := range map[time.Duration]string{0: "ld=cs", 5 * time.Second: "unroll=4"} {
		l := &late{whole: 3 * time.Second}
		d, took := l.search(t, grace)
		if !strings.Contains(d.Recipe, want) || took > 3500*time.Millisecond+grace {
			t.Errorf("decided %q after %v: %+v", d.Recipe, took, d.Evidence.Tried[0])
		}
	}
}

// TestOpen: of the best that was measured it is said why it is not adopted; what could be adopted
// is, in its place; and the next run goes on.
func TestOpen(t *testing.T) {
	l := &late{whole: time.Hour}
	d, _ := l.search(t, 0)
	best := d.Evidence.Tried[0]
	if d.Recipe != "ld=cs" || !strings.Contains(best.Recipe, "unroll=4") ||
		best.Open != "it was not compiled as a build compiles it in time" {
		t.Errorf("decided %q, of the best is said %+v", d.Recipe, best)
	}
	if said := fmt.Sprint(*l.heard); !strings.Contains(said, "unroll=4 took 0.5") ||
		!strings.Contains(said, best.Open) {
		t.Errorf("the run says %s", said)
	}
	if !strings.Contains(d.Evidence.Note, best.Recipe) ||
		!strings.Contains(d.Evidence.Note, best.Open) {
		t.Errorf("the note is %q", d.Evidence.Note)
	}
}
