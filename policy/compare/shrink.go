// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"gnvcc/policy"
	"gnvcc/policy/tuner"
	"gnvcc/profile/capture"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
)

// Captures for a regression suite are kept with the source, or pushed: they should be small. Of a
// kernel's captured launches the smallest is taken that tells two builds apart as the heaviest one
// does: nvcc's own, and the one with the kernel's recipe; a kernel that has none, with a quarter of
// its registers taken away. The captures themselves stay.

// A Shrunk is what was kept of a kernel.
type Shrunk struct {
	Kernel     string
	Of         int // captures
	Kept       *capture.Manifest
	Bytes, Was int64  // without what is zero: of the kept one, of all
	Why        string // no smaller one was taken, because
}

// shortest is what a launch takes at least that can tell builds apart, ns.
const shortest = 5000

// Shrink copies the captures that do into a folder.
func Shrink(ctx context.Context, a Ask, bench func() (*Bench, error), to string) ([]Shrunk,
	error) {
	if list, err := os.ReadDir(to); err == nil && len(list) > 0 {
		return nil, fmt.Errorf("%s is not empty", to)
	}
	p, b, c, err := single(ctx, a, bench)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	defer c.Close()
	var out []Shrunk
	for _, k := range p.Kernels {
		if len(k.captures) == 0 {
			continue
		}
		if a.Progress != nil {
			a.Progress("replaying " + k.Kernel)
		}
		one, err := k.shrink(ctx, a, b, c, p)
		if err != nil {
			return out, fmt.Errorf("%s: %w", k.Kernel, err)
		}
		if err := b.Captures.Copy(one.Kept, to); err != nil {
			return out, fmt.Errorf("keep a capture of %s: %w", k.Kernel, err)
		}
		out = append(out, one)
	}
	return out, nil
}

// shrink chooses among one kernel's captures.
func (k *Kernel) shrink(ctx context.Context, a Ask, b *Bench, c *tuner.Compiler,
	p *Pair) (Shrunk, error) {
	list := slices.Clone(k.captures)
	slices.SortStableFunc(list, func(x, y *capture.Manifest) int {
		return cmp.Compare(y.Weight(), x.Weight())
	})
	out := Shrunk{Kernel: k.Kernel, Of: len(list), Kept: list[0], Bytes: list[0].Filled}
	for _, m := range list {
		out.Was += m.Filled
	}
	if len(list) == 1 {
		return out, nil
	}
	t := new(Timed)
	loaded, err := k.asBuilt(ctx, a.Store, c, p.Sides[0], t)
	if err != nil {
		return out, err
	}
	if t.Recipe == "" {
		few := max(sim.Floor, k.before.kernel.Registers*3/4)
		made, err := c.Compile(ctx, loaded[0].Kernel, recipe.Recipe{}.With(recipe.Term{Lever: "maxnreg",
			Value: fmt.Sprint(few)}))
		if err != nil {
			out.Why = "no second build to tell apart: " + policy.FirstLine(err)
			return out, nil
		}
		loaded[1].Path, loaded[1].Entry, loaded[1].Manner = made.Path, made.Entry, made.Manner
	}
	most, err := b.Run(ctx, list[0], loaded[0], loaded[1])
	if err != nil {
		return out, err
	}
	others := list[1:]
	slices.SortStableFunc(others, func(x, y *capture.Manifest) int {
		return cmp.Compare(x.Filled, y.Filled)
	})
	for _, m := range others {
		if m.Filled >= out.Bytes {
			break
		}
		got, err := b.Run(ctx, m, loaded[0], loaded[1])
		switch {
		case err != nil:
			out.Why = policy.FirstLine(err)
		case got.Before < shortest:
			out.Why = fmt.Sprintf("a smaller one takes %.1f us only", got.Before/1e3)
		case !most.agrees(got):
			out.Why = fmt.Sprintf("a smaller one tells builds apart otherwise: %.3f, and %.3f", got.Ratio,
				most.Ratio)
		default:
			out.Kept, out.Bytes, out.Why = m, m.Filled, ""
			return out, nil
		}
	}
	return out, nil
}

// agrees tells whether two launches tell two builds apart alike: by no more than 3 %, or their
// intervals meet, neither wider than that.
func (m *Measured) agrees(o *Measured) bool {
	if m.High == 0 || o.High == 0 || m.Bits != o.Bits {
		return false
	}
	near := o.Ratio < m.Ratio*beyond && m.Ratio < o.Ratio*beyond
	meet := m.Low <= o.High && o.Low <= m.High && m.High < m.Low*beyond && o.High < o.Low*beyond
	return near || meet
}
