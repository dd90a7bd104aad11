// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gnvcc/cache"
	"gnvcc/cache/lock"
	"gnvcc/driver/environment"
	"gnvcc/driver/standing"
	"gnvcc/policy"
	"gnvcc/policy/stats"
	"gnvcc/policy/tuner"
	"gnvcc/profile"
	"gnvcc/profile/capture"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// What a lock file claims that its recipes gain, held against what builds make of the captured
// kernels now.

// Claims are what came of it.
type Claims struct {
	Losses int

	device  string
	builds  string // what built the kernels
	kernels []*timed
	missing []string // of the lock file, that were not measured
}

// A timed is one captured launch, of what builds make of its kernel.
type timed struct {
	kernel, name, target string // as people write it; mangled, without what depends on the file
	shape                policy.Shape
	seconds              float64
	recipe               string  // "" for nvcc's own
	claimed              float64 // the lock file's time over nvcc's own; 0: it has none
	verdict, why         string
	Measured
}

// broken is the verdict of a kernel whose recipe leaves other bits now, or can't be carried out.
const broken = "broken"

// Claimed measures what builds make of the captured kernels, and holds it against the lines of a
// lock file. The bench is asked for when there is something to measure. A build that fails is an
// error: its kernels would be missing without a word.
func Claimed(ctx context.Context, a Ask, bench func() (*Bench, error), lines []lock.Line) (*Claims,
	error) {
	a.single = true
	p, err := Build(ctx, a)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if len(p.Failed) > 0 {
		return nil, fmt.Errorf("%s: %s", p.Failed[0].Command, p.Failed[0].Why)
	}
	b, err := bench()
	if err != nil {
		return nil, err
	}
	c, err := tuner.NewCompiler(p.Sides[0])
	if err != nil {
		return nil, err
	}
	defer c.Close()
	out := &Claims{builds: p.Before}
	for _, k := range p.Kernels {
		for _, m := range k.captures {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			a.Progress("replaying " + k.Kernel)
			t := &timed{kernel: k.Kernel, name: ptx.StableName(k.Name), target: k.Target,
				shape:   policy.Shape{Grid: m.Grid, Block: m.Block, Dynamic: m.Dynamic, Set: m.Use.Set},
				seconds: m.Weight()}
			if out.device != "" && out.device != m.Device {
				return nil, fmt.Errorf(
					"launches are captured on %s and on %s: this is for one GPU (gnvcc doctor --clean=captures removes all)",
					out.device, m.Device)
			}
			out.device = m.Device
			out.kernels = append(out.kernels, t)
			loaded, err := k.asBuilt(ctx, a.Store, c, p.Sides[0], t)
			if err == nil {
				err = t.measure(ctx, b, m, loaded)
			}
			if err != nil && t.verdict == "" {
				return nil, fmt.Errorf("%s: %w", k.Kernel, err)
			}
		}
	}
	if len(out.kernels) == 0 {
		return nil, fmt.Errorf("no launches are captured of what was built here: gnvcc tune -- ./app captures some")
	}
	return out, out.judge(lines)
}

// asBuilt gives nvcc's own build of a kernel, and the one with the recipe that builds take.
func (k *Kernel) asBuilt(ctx context.Context, store *cache.Store, c *tuner.Compiler,
	objects *cache.Store, t *timed) (loaded [2]Loaded, err error) {
	c.Know(k.before.unit)
	own, err := load(c, k.before, objects)
	if err != nil {
		return loaded, err
	}
	loaded[0], loaded[1] = own, own
	env := environment.Read()
	kn, err := standing.KnownAt(store, k.before.unit.Dir, env)
	//lint:ignore SA5001 what could be read is there with an error
	defer kn.Close()
	if errors.Is(err, cache.ErrNone) {
		return loaded, nil
	}
	if err == nil {
		err = kn.Problem
	}
	if err != nil {
		return loaded, err
	}
	recipes, _, _ := standing.Recipes(kn, []cache.Kernel{k.before.kernel},
		standing.AskerOf(store, k.before.unit.Command, env))
	r := recipes[k.before.kernel.Name]
	if r.IsDefault() {
		return loaded, nil
	}
	t.recipe = r.String()
	list, err := r.Entries()
	if err != nil {
		return loaded, err
	}
	if len(list) == 0 {
		list = []recipe.Recipe{r}
	}
	loaded[1].choose = func(l *profile.Launch) (Loaded, error) {
		out := own
		for _, entry := range list { // as the host does: the first whose conditions hold, or the kernel
			if r.HasSecond() && !own.Kernel.Held(entry, l) {
				continue
			}
			made, err := c.Compile(ctx, own.Kernel, entry)
			if err != nil {
				t.verdict = broken
				t.why = "the recipe can't be carried out: " + policy.FirstLine(err)
				return out, err
			}
			out.Path, out.Entry, out.Manner = made.Path, made.Entry, made.Manner
			break
		}
		return out, nil
	}
	return loaded, nil
}

// measure replays one capture.
func (t *timed) measure(ctx context.Context, b *Bench, m *capture.Manifest, loaded [2]Loaded) error {
	got, err := b.Run(ctx, m, loaded[0], loaded[1])
	if err != nil {
		return err
	}
	t.Measured = *got
	if got.Bits == otherBits && t.recipe != "" {
		t.verdict, t.why = broken, "the recipe leaves different bits: "+got.Where
	}
	return nil
}

// beyond is how much of its time a kernel may lose from one run to another: clocks differ by so
// much between runs of one machine. Within a run there is no such allowance.
var beyond = 1 + stats.Standard.MinEffect

// judge holds what was measured against what a lock file claims. A line claims something of all
// launches of a kernel together.
func (b *Claims) judge(lines []lock.Line) error {
	seen := 0
	for _, l := range lines {
		if l.Device != "" && l.Device != b.device || l.Recipe == "" || l.Gain <= 0 {
			continue
		}
		var of []*timed
		var sum, low float64
		for _, t := range b.kernels {
			if t.name == l.Kernel && t.target == l.Target {
				of = append(of, t)
				weight := max(t.seconds, 1e-12)
				sum += weight
				low += weight * t.Low
			}
		}
		if len(of) == 0 {
			b.missing = append(b.missing, policy.ShortName(l.Kernel))
			continue
		}
		seen++
		for _, t := range of {
			t.claimed = 1 / l.Gain
			switch {
			case t.verdict == broken:
			case t.recipe != l.Recipe:
				t.verdict = slower
				t.why = fmt.Sprintf("the lock file has %q, and a build takes %q", l.Recipe, t.recipe)
			case low/sum > beyond*t.claimed:
				t.verdict = slower
				t.why = fmt.Sprintf("its recipe gains less than the lock file says (%.3f of the time)",
					t.claimed)
			default:
				t.verdict = alike
			}
		}
	}
	if seen == 0 {
		return fmt.Errorf("no recipe of the lock file is for a captured kernel on %s", b.device)
	}
	slices.Sort(b.missing)
	for _, t := range b.kernels {
		if t.verdict == slower || t.verdict == broken {
			b.Losses++
		}
	}
	return nil
}

// Print writes it as text.
func (b *Claims) Print(w io.Writer) error {
	out := &lines{}
	out.line("%s, %s: %s", b.device, b.builds, b.summary())
	out.line("")
	out.line("%-24s %-20s %10s %10s", "kernel", "launch", "time", "claimed")
	for _, t := range b.kernels {
		time, claimed := "", ""
		if t.After > 0 {
			time = fmt.Sprintf("%.1f us", t.After/1e3)
		}
		if t.claimed > 0 {
			claimed = fmt.Sprintf("%.3f/%.3f", t.Ratio, t.claimed)
		}
		out.line("%s", strings.TrimRight(fmt.Sprintf("%-24s %-20s %10s %10s %10s",
			policy.Shorten(t.kernel, 24), t.shape, time, claimed, t.verdict), " "))
		if t.why != "" {
			out.line("    %s", t.why)
		}
	}
	for _, text := range b.missing {
		out.line("not measured now: %s", text)
	}
	_, err := w.Write(out.Bytes())
	return err
}

func (b *Claims) summary() string {
	n := map[string]int{}
	for _, t := range b.kernels {
		n[t.verdict]++
	}
	parts := []string{policy.Count(len(b.kernels), "launch")}
	for _, v := range []string{broken, slower, faster, alike} {
		if n[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[v], v))
		}
	}
	return strings.Join(parts, ", ")
}
