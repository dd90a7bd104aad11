// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/apply"
	"gnvcc/policy"
	"gnvcc/policy/tuner"
	"gnvcc/rewrite/ptx"
)

// What is said of a kernel.

// The verdicts. The first two are losses, whatever else is true of the kernel.
const (
	fails  = "fails"  // it does not compile, is not there, or can't be launched as it was seen to be
	slower = "slower" // measured
	faster = "faster" // measured
	alike  = "alike"  // measured
	same   = "same"   // the same code: there is nothing to measure
	other  = "other"  // other code, and nothing was measured

)

// lost reports whether a verdict is a loss.
func lost(verdict string) bool {
	return verdict == fails || verdict == slower
}

// Look reads both builds' machine code, and which launches fit. decided are the decisions that are
// known; the last word on kernels that are not measured.
func (p *Pair) Look(a Ask, decided []cache.Decision) error {
	s, err := tuner.Captures(a.Store)
	if err != nil {
		return err
	}
	profiles, builds := s.Profiles(), apply.ReadBuilds(a.Store)
	for _, k := range p.Kernels {
		k.Before = k.before.code()
		if !k.Gone {
			k.After = k.after.code()
		}
		k.seen(profiles, builds, decided)
		k.fit()
		k.Same = k.sameCode()
		k.judge()
	}
	return nil
}

// Replay measures the kernels that launches are captured of, where code differs.
func (p *Pair) Replay(ctx context.Context, b *Bench, progress func(text string)) error {
	var compilers [2]*tuner.Compiler
	for i, store := range p.Sides {
		c, err := tuner.NewCompiler(store)
		if err != nil {
			return err
		}
		defer c.Close()
		compilers[i] = c
	}
	for _, k := range p.Kernels {
		if k.Same || k.Gone || len(k.captures) == 0 {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if why := k.elsewhere(); why != "" {
			k.unrun(why)
			continue
		}
		var loaded [2]Loaded
		var err error
		for i, s := range []side{k.before, k.after} {
			compilers[i].Know(s.unit)
			loaded[i], err = load(compilers[i], s, p.Sides[i])
			if err != nil {
				break
			}
		}
		if err != nil {
			k.unrun(policy.FirstLine(err))
			continue
		}
		progress("replaying " + k.Kernel)
		for _, l := range k.Launches {
			if l.manifest != nil && l.Fails == "" {
				l.run(ctx, b, loaded)
			}
		}
		k.judge()
	}
	return ctx.Err()
}

// load gathers what a replay needs of one build.
func load(c *tuner.Compiler, s side, store *cache.Store) (l Loaded, err error) {
	if l.Code, err = c.Captured(s.unit.Cubin, s.kernel.Name); err != nil {
		return l, err
	}
	if l.Kernel, err = c.Kernel(s.unit.Cubin, s.kernel.Name); err != nil {
		return l, err
	}
	l.Path, err = store.ObjectFile(s.unit.Cubin)
	return l, err
}

// run replays one launch.
func (l *Launch) run(ctx context.Context, b *Bench, loaded [2]Loaded) {
	found, err := b.Run(ctx, l.manifest, loaded[0], loaded[1])
	switch {
	case err == nil:
		l.Measured = found
	case errors.Is(err, errFails):
		l.Fails = policy.FirstLine(err)
	default: // also a kernel whose parameters are others now (capture.ErrUnlike)
		l.Unrun = policy.FirstLine(err)
	}
}

// elsewhere says why no launch of the kernel can be replayed, "" if one may.
func (k *Kernel) elsewhere() string {
	switch {
	case k.before.unit.Target != k.after.unit.Target:
		return fmt.Sprintf("%s and %s run on different GPUs: machine code alone is compared",
			k.before.unit.Target, k.after.unit.Target)
	case k.before.unit.Reloc || k.after.unit.Reloc:
		return "it is linked with other device code (-rdc=true), and no device link was made: machine" +
			" code alone is compared"
	case ptx.Capability(k.Target) == 0:
		return k.Target + " is no GPU's"
	}
	return ""
}

func (k *Kernel) unrun(why string) {
	for _, l := range k.Launches {
		if l.manifest != nil {
			l.Unrun = why
		}
	}
	k.judge()
}

// judge draws the conclusion from what is known.
func (k *Kernel) judge() {
	k.Verdict, k.Why, k.Ratio = other, "", 0
	var reasons []string
	measured, worse, better := false, false, false
	var seconds, times float64
	for _, l := range k.Launches {
		switch m := l.Measured; {
		case l.Fails != "":
			if text := l.Shape().String() + ": " + l.Fails; !slices.Contains(reasons, text) {
				reasons = append(reasons, text)
			}
		case m != nil:
			measured = true
			worse, better = worse || m.Slower, better || m.Faster
			weight := max(l.Seconds, 1e-12)
			seconds += weight
			times += weight * m.Ratio
		}
	}
	if seconds > 0 {
		k.Ratio = times / seconds
	}
	switch {
	case k.Gone:
		k.Verdict, k.Why = fails, "the later build has no kernel of that name"
	case len(reasons) > 0:
		k.Verdict, k.Why = fails, strings.Join(reasons, "; ")
	case k.Same:
		k.Verdict = same
	case worse:
		k.Verdict = slower
	case measured && better:
		k.Verdict = faster
	case measured:
		k.Verdict = alike
	}
	if math.IsNaN(k.Ratio) || math.IsInf(k.Ratio, 0) {
		k.Ratio = 0
	}
}

// Losses counts what lost: kernels, and commands that no longer build.
func (p *Pair) Losses() (n int) {
	for _, k := range p.Kernels {
		if lost(k.Verdict) {
			n++
		}
	}
	for _, f := range p.Failed {
		if !f.Before {
			n += max(1, len(f.Kernels))
		}
	}
	return n
}

// Captured reports whether there is anything to replay.
func (p *Pair) Captured() bool {
	return slices.ContainsFunc(p.Kernels, func(k *Kernel) bool {
		return len(k.captures) > 0 && !k.Same && !k.Gone
	})
}
