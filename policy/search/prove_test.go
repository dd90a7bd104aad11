package search

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// A compiler that doubts every factor, and proves those but 8.
type doubting struct {
	*simGPU
	mu     sync.Mutex
	proofs map[string]int
}

func (d *doubting) Compile(ctx context.Context, k *policy.Kernel, r recipe.Recipe,
	plain bool) (*policy.Candidate, error) {
	c, err := d.simGPU.Compile(ctx, k, r, plain)
	factor := get(r, "unroll")
	if c == nil || factor == "" {
		return c, err
	}
	out := *c
	out.Prove = func(context.Context) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.proofs[r.String()]++
		if factor == "8" {
			return errors.New("a sum may be contracted")
		}
		return nil
	}
	return &out, err
}

// TestProves: what would be adopted is proved; what is not proved makes room for the next best, and
// nothing is built upon it. The others are not proved.
func TestProves(t *testing.T) {
	k := &simKernel{Kernel: sources(policy.Kernel{Loads: 8}),
		speed: func(r recipe.Recipe, s policy.Shape,
			plain bool) float64 {
			f := map[string]float64{"8": 0.5, "4": 0.7, "2": 0.8}[get(r, "unroll")]
			if f == 0 {
				f = 1
			}
			if get(r, "ld") == "cs" {
				f *= 0.9
			}
			return f
		}}
	g := newSim(t, k)
	c := &doubting{simGPU: g, proofs: map[string]int{}}
	o := simOptions()
	o.Levers = []string{"unroll", "ld"}
	for range 2 { // what was found stands in the notebook
		results, _ := g.runWith(c, o, one("_Z1aPfi", shape(1000, 256)))
		if d := results[0].Decision; d.Recipe != "ld=cs unroll=4" || !d.Evidence.Proved {
			t.Errorf("decided %q, proved: %v", d.Recipe, d.Evidence.Proved)
		}
	}
	// once a run, by the compiler from what it keeps
	if c.proofs["unroll=8"] != 1 || c.proofs["unroll=4"] != 1 || c.proofs["ld=cs unroll=4"] != 2 ||
		c.proofs["unroll=2"] > 1 { // asked for beside the one after unroll=8 fails
		t.Errorf("proofs: %v", c.proofs)
	}
	for r := range g.measured {
		if strings.Contains(r, "ld") && strings.Contains(r, "unroll=8") {
			t.Errorf("%s was built upon what is not proved", r)
		}
	}
}

// A compiler that can prove nothing, slowly.
type hopeless struct {
	*simGPU
	mu        sync.Mutex
	now, most int
}

func (h *hopeless) Compile(ctx context.Context, k *policy.Kernel, r recipe.Recipe,
	plain bool) (*policy.Candidate, error) {
	c, err := h.simGPU.Compile(ctx, k, r, plain)
	if c == nil || r.IsDefault() {
		return c, err
	}
	out := *c
	out.Prove = func(context.Context) error {
		h.mu.Lock()
		h.now++
		h.most = max(h.most, h.now)
		h.mu.Unlock()
		time.Sleep(50 * time.Millisecond)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.now--
		return errors.New("a sum may be contracted")
	}
	return &out, err
}

// Where proofs fail, the next ones are made beside each other.
func TestProofsBeside(t *testing.T) {
	k := &simKernel{Kernel: sources(policy.Kernel{Loads: 8}),
		speed: func(r recipe.Recipe, s policy.Shape, plain bool) float64 {
			return 0.9
		}}
	c := &hopeless{simGPU: newSim(t, k)}
	o := simOptions()
	o.Levers, o.Jobs = []string{"unroll", "spec"}, 8
	results, _ := c.runWith(c, o, one("_Z1aPfi", shape(1000, 256)))
	if d := results[0].Decision; d.Recipe != "" {
		t.Errorf("decided %q, which nobody proved", d.Recipe)
	}
	if c.most < 3 {
		t.Errorf("at most %d proofs beside each other", c.most)
	}
}

// A compiler whose proof of one factor takes long, and succeeds.
type thorough struct {
	*simGPU
	slow string
}

func (h *thorough) Compile(ctx context.Context, k *policy.Kernel, r recipe.Recipe,
	plain bool) (*policy.Candidate, error) {
	c, err := h.simGPU.Compile(ctx, k, r, plain)
	if c == nil || get(r, "unroll") == "" {
		return c, err
	}
	out := *c
	out.Prove = func(context.Context) error {
		if r.String() == h.slow {
			time.Sleep(500 * time.Millisecond)
		}
		return nil
	}
	return &out, err
}

// TestProofPatience: what is not proved yet does not keep the search from going on, and when it is
// proved the search goes on around it, too.
func TestProofPatience(t *testing.T) {
	defer func(d time.Duration) { proofPatience = d }(proofPatience)
	proofPatience = 20 * time.Millisecond
	k := &simKernel{Kernel: sources(policy.Kernel{Loads: 8}),
		speed: func(r recipe.Recipe, s policy.Shape, plain bool) float64 {
			f := map[string]float64{"8": 0.5, "4": 0.7}[get(r, "unroll")]
			if f == 0 {
				f = 1
			}
			if get(r, "ld") == "cs" {
				f *= 0.9
			}
			return f
		}}
	c := &thorough{newSim(t, k), "unroll=8"}
	o := simOptions()
	o.Levers, o.Jobs = []string{"unroll", "ld"}, 8
	results, _ := c.runWith(c, o, one("_Z1aPfi", shape(1000, 256)))
	if d := results[0].Decision; d.Recipe != "ld=cs unroll=8" || !d.Evidence.Proved {
		t.Errorf("decided %q, proved: %v", d.Recipe, d.Evidence.Proved)
	}
	if c.measured["ld=cs unroll=4"] == 0 {
		t.Error("it waited, though there was something else to try")
	}
}
