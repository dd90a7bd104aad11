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
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// What a lock file claims that its recipes gain, held against what builds make of the captured
// kernels now.

// Claims are what came of it.
type Claims struct {
	Device  string
	Builds  string // what built the kernels
	Losses  int
	Kernels []*Timed
	Missing []string // of the lock file, that were not measured
}

// A Timed is one captured launch, of what builds make of its kernel.
type Timed struct {
	Kernel string // as people write it
	Name   string // mangled, without what depends on the file
	Target string
	Shape  policy.Shape
	Recipe string     // "" for nvcc's own
	Time   cache.Time // ns, of what builds make
	// time over nvcc's own, with its interval
	Ratio, Low, High float64
	Claimed          float64 // the lock file's, time over nvcc's own
	Verdict          string  // "" where there is nothing to hold it against
	Why              string

	seconds float64
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
	out := &Claims{Builds: p.Before}
	for _, k := range p.Kernels {
		for _, m := range k.captures {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			a.Progress("replaying " + k.Kernel)
			t := &Timed{Kernel: k.Kernel, Name: ptx.StableName(k.Name), Target: k.Target,
				Shape:   policy.Shape{Grid: m.Grid, Block: m.Block, Dynamic: m.Dynamic, Set: m.Use.Set},
				seconds: m.Weight()}
			if out.Device != "" && out.Device != m.Device {
				return nil, fmt.Errorf(
					"launches are captured on %s and on %s: this is for one GPU (gnvcc doctor --clean=captures removes all)",
					out.Device, m.Device)
			}
			out.Device = m.Device
			out.Kernels = append(out.Kernels, t)
			loaded, err := k.asBuilt(ctx, a.Store, c, p.Sides[0], t)
			if err == nil {
				err = t.measure(ctx, b, k, m.ID, loaded)
			}
			if err != nil && t.Verdict == "" {
				return nil, fmt.Errorf("%s: %w", k.Kernel, err)
			}
		}
	}
	if len(out.Kernels) == 0 {
		return nil, fmt.Errorf("no launches are captured of what was built here: gnvcc tune -- ./app captures some")
	}
	return out, out.judge(lines)
}

// asBuilt gives nvcc's own build of a kernel, and the one with the recipe that builds take.
func (k *Kernel) asBuilt(ctx context.Context, store *cache.Store, c *tuner.Compiler,
	objects *cache.Store, t *Timed) (loaded [2]Loaded, err error) {
	c.Know(k.before.unit)
	own, err := load(c, k.before, objects)
	if err != nil {
		return loaded, err
	}
	loaded[0], loaded[1] = own, own
	env := environment.Read()
	kn, err := standing.KnownAt(store, k.before.unit.Dir, env)
	//lint:ignore SA5001 what could be read is there beside an error
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
	t.Recipe = r.String()
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
				t.Verdict = broken
				t.Why = "the recipe can't be carried out: " + policy.FirstLine(err)
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
func (t *Timed) measure(ctx context.Context, b *Bench, k *Kernel, id string,
	loaded [2]Loaded) error {
	m, err := b.Captures.Load(id)
	if err != nil {
		return err
	}
	got, err := b.Run(ctx, m, loaded[0], loaded[1])
	if err != nil {
		return err
	}
	t.Time, t.Ratio, t.Low, t.High = got.now, got.Ratio, got.Low, got.High
	if got.Bits == otherBits && t.Recipe != "" {
		t.Verdict, t.Why = broken, "the recipe leaves different bits: "+got.Where
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
		if l.Device != "" && l.Device != b.Device || l.Recipe == "" || l.Gain <= 0 {
			continue
		}
		var of []*Timed
		var sum, low float64
		for _, t := range b.Kernels {
			if t.Name == l.Kernel && t.Target == l.Target {
				of = append(of, t)
				weight := max(t.seconds, 1e-12)
				sum += weight
				low += weight * t.Low
			}
		}
		if len(of) == 0 {
			b.Missing = append(b.Missing, policy.ShortName(l.Kernel))
			continue
		}
		seen++
		for _, t := range of {
			t.Claimed = 1 / l.Gain
			switch {
			case t.Verdict == broken:
			case t.Recipe != l.Recipe:
				t.Verdict = slower
				t.Why = fmt.Sprintf("the lock file has %q, and a build takes %q", l.Recipe, t.Recipe)
			case low/sum > beyond*t.Claimed:
				t.Verdict = slower
				t.Why = fmt.Sprintf("its recipe gains less than the lock file says (%.3f of the time)",
					t.Claimed)
			default:
				t.Verdict = alike
			}
		}
	}
	if seen == 0 {
		return fmt.Errorf("no recipe of the lock file is for a captured kernel on %s", b.Device)
	}
	slices.Sort(b.Missing)
	for _, t := range b.Kernels {
		if t.Verdict == slower || t.Verdict == broken {
			b.Losses++
		}
	}
	return nil
}

// Print writes it as text.
func (b *Claims) Print(w io.Writer) error {
	out := &lines{}
	out.line("%s, %s: %s", b.Device, b.Builds, b.summary())
	out.line("")
	out.line("%-24s %-20s %10s %10s %10s", "kernel", "launch", "time", "claimed", "")
	for _, t := range b.Kernels {
		now, was := t.cells()
		out.line("%s", strings.TrimRight(fmt.Sprintf("%-24s %-20s %10s %10s %10s",
			policy.Shorten(t.Kernel, 24), t.Shape, now, was, t.Verdict), " "))
		if t.Why != "" {
			out.line("    %s", t.Why)
		}
	}
	for _, text := range b.Missing {
		out.line("not measured now: %s", text)
	}
	_, err := w.Write(out.Bytes())
	return err
}

func (t *Timed) cells() (now, was string) {
	if t.Time.Median > 0 {
		now = fmt.Sprintf("%.1f us", t.Time.Median/1e3)
	}
	if t.Claimed > 0 {
		was = fmt.Sprintf("%.3f/%.3f", t.Ratio, t.Claimed)
	}
	return now, was
}

func (b *Claims) summary() string {
	n := map[string]int{}
	for _, t := range b.Kernels {
		n[t.Verdict]++
	}
	parts := []string{policy.Count(len(b.Kernels), "launch")}
	for _, v := range []string{broken, slower, faster, alike} {
		if n[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[v], v))
		}
	}
	return strings.Join(parts, ", ")
}
