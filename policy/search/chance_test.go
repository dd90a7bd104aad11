package search

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/profile"
	"gnvcc/rewrite/recipe"
)

// notes is a Progress that keeps what it hears beside the rest.
type notes struct {
	policy.Progress
	said []string
}

func (n *notes) Note(text string) { n.said = append(n.said, text) }

// varied replays a launch of a kernel that maxnreg=48 makes faster, and which leaves other bits
// with it on data of ours; then eight variations. It gives the decision, and what was said.
func varied(t *testing.T, k *simKernel) (*cache.Decision, string) {
	t.Helper()
	g := newSim(t, k)
	said := &notes{Progress: policy.Silent{}}
	tuner := NewRun(context.Background(), caps(), g, g, g, said)
	p, s, _ := g.replays(tuner, 1)
	for v := 1; v <= 8; v++ {
		s = g.session(s.k, s.shape, ours+v)
		if !tuner.Vary(context.Background(), v, p, s, &Plan{}) {
			break
		}
	}
	return g.finish(tuner, p), strings.Join(said.said, "\n")
}

const ours = 100 // launches from here on have data of ours

func otherBits(r recipe.Recipe, launch int) string {
	if launch > ours && launch%2 == 1 && is48(r) { // variations 1, 3, 5, 7
		return "bits"
	}
	return ""
}

// TestByChance: a recipe is not refused on a variation on which the original leaves other bits
// under another schedule, and such a variation does not count. On one on which it never does, the
// recipe is refused.
func TestByChance(t *testing.T) {
	throttled := func(o profile.Schedule, launch, _ int) bool { return o.Dynamic > 0 && launch > ours }
	for name, c := range map[string]struct {
		chance func(o profile.Schedule, launch, n int) bool
		change func(k *simKernel)
		kept   bool
		says   string
	}{
		"a deterministic kernel":            {says: "is refused"},
		"with fewer blocks":                 {chance: throttled, kept: true, says: "fewer resident blocks"},
		"with few data in the L2 cache":     {chance: func(o profile.Schedule, launch, _ int) bool { return o.Cold && launch > ours }, kept: true, says: "by chance"},
		"in its fourth run":                 {chance: func(_ profile.Schedule, launch, n int) bool { return launch > ours && n == 4 }, kept: true, says: "by chance"},
		"its blocks may wait":               {chance: throttled, change: func(k *simKernel) { lever.NoThrottle.Put(&k.Kernel, "they may wait") }, says: "is refused"},
		"it reads its shared memory":        {chance: throttled, change: func(k *simKernel) { lever.NoThrottle.Put(&k.Kernel, "it reads how much it has") }, says: "is refused"},
		"only on the data of the program":   {chance: func(o profile.Schedule, launch, _ int) bool { return launch == 1 && o.Dynamic > 0 }, says: "is refused"},
		"on one of the variations":          {chance: func(o profile.Schedule, launch, _ int) bool { return launch == ours+1 && o.Dynamic > 0 }, says: "(with varied data 3)"},
		"which takes too long if throttled": {chance: throttled, change: func(k *simKernel) { k.time = 240e6 }, says: "is refused"},
	} {
		k := capped(otherBits)
		k.chance = c.chance
		if c.change != nil {
			c.change(k)
		}
		d, said := varied(t, k)
		if got := is48(mustParse(t, d.Recipe)); got != c.kept || !strings.Contains(said, c.says) {
			t.Errorf("%s: decided %q, and says\n%s", name, d.Recipe, said)
		}
		if l := d.Evidence.Launches[0]; c.kept && l.Varied != 4 {
			t.Errorf("%s: %d variations count, want 4", name, l.Varied)
		}
	}
}

// TestChanceLostProcess: where the original, asked again, ends the process, the refusal stands.
func TestChanceLostProcess(t *testing.T) {
	k := capped(otherBits)
	k.hangs = true
	if d, said := varied(t, k); is48(mustParse(t, d.Recipe)) || !strings.Contains(said, "is refused") {
		t.Errorf("decided %q, and says\n%s", d.Recipe, said)
	}
}

// TestChanceInProgram: on the program's own data a candidate with other bits is refused whatever
// the original does then; where that leaves other bits as well, the kernel is nondeterministic, and
// only what it leaves as the program launches it counts.
func TestChanceInProgram(t *testing.T) {
	for name, c := range map[string]struct {
		chance func(o profile.Schedule, launch, n int) bool
		alone  bool
	}{
		"never":             {nil, false},
		"with fewer blocks": {func(o profile.Schedule, _, _ int) bool { return o.Dynamic > 0 }, false},
		"in a later run":    {func(_ profile.Schedule, _, n int) bool { return n == 3 }, true},
	} {
		k := capped(fails("maxnreg=48", "bits", 0))
		k.chance = c.chance
		g := newSim(t, k)
		tuner := NewRun(context.Background(), caps(), g, g, g, nil)
		p, _, _ := g.replays(tuner, 1)
		d := g.finish(tuner, p)
		text := fmt.Sprintf("%+v", d.Evidence)
		if is48(mustParse(t, d.Recipe)) || (d.Recipe == "") != c.alone || strings.Contains(text,
			"nondeterministic") != c.alone {
			t.Errorf("%s: decided %q\n%s", name, d.Recipe, text)
		}
	}
}
