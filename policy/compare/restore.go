// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/standing"
	"gnvcc/policy"
	"gnvcc/policy/search"
	"gnvcc/policy/tuner"
	"gnvcc/profile/capture"
)

// What restores a kernel that lost: the search on its captured launches, with the later build's own
// code in them.

// Restored is what the search found for a kernel that lost.
type Restored struct {
	Recipe string  // "" for none
	Ratio  float64 `json:",omitempty"` // time by it over the later build's own
	Over   float64 `json:",omitempty"` // and over the earlier build's
	Whole  bool    // that is no more than 1 % above 1
	Kept   bool    `json:",omitempty"` // builds with the later toolkit take it
	Why    string  `json:",omitempty"` // there is none

	decision *cache.Decision
}

// A Search says how.
type Search struct {
	Bench
	Options policy.Options
	Budget  time.Duration // for all of it
	Past    *tuner.Decisions
}

// Restore searches for what restores kernels that were measured to be slower, the heaviest first.
func (p *Pair) Restore(ctx context.Context, s Search) error {
	var list []*Kernel
	total := 0.0
	for _, k := range p.Kernels {
		if k.Verdict == slower {
			list = append(list, k)
			total += max(weight(k), 1e-9)
		}
	}
	for _, k := range list {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		part := time.Duration(float64(s.Budget) * max(weight(k), 1e-9) / total)
		found, err := p.restore(ctx, s, k, part)
		if err != nil {
			found = &Restored{Why: policy.FirstLine(err)}
		}
		k.Restored = found
	}
	return ctx.Err()
}

// restore searches on one kernel.
func (p *Pair) restore(ctx context.Context, s Search, k *Kernel,
	budget time.Duration) (*Restored, error) {
	c, err := tuner.NewCompiler(p.Sides[1])
	if err != nil {
		return nil, err
	}
	defer c.Close()
	c.Know(k.after.unit)
	code, err := c.Captured(k.after.unit.Cubin, k.after.kernel.Name)
	if err != nil {
		return nil, err
	}
	var list []*capture.Manifest
	total := 0.0
	for _, l := range k.Launches {
		if l.manifest == nil || l.Measured == nil {
			continue
		}
		m, err := s.Captures.Edited(l.manifest, code)
		if err != nil {
			return nil, err
		}
		list, total = append(list, m), total+m.Weight()
	}
	folder, err := tuner.SocketScratch()
	if err != nil {
		return nil, err
	}
	defer folder.Remove()
	on := &restoring{Compiler: c, past: s.Past}
	run := search.NewRun(ctx, s.Options, on, on, tuner.Memos{Store: p.Sides[1]}, policy.Silent{})
	t := &tuner.ReplaySearch{Captures: s.Captures, Run: run, Kernel: on.Kernel, Replayer: s.Replayer,
		Agent: s.Agent, Scratch: folder.Path, GPU: s.GPU, Budget: budget,
		Say: on.say}
	t.Search(ctx, t.Jobs(list, total))
	results, err := run.Finish()
	if err != nil {
		return nil, err
	}
	out := &Restored{Why: on.trouble}
	for _, r := range results {
		d := r.Decision
		if r.Kernel.Identity != k.after.kernel.Identity || d == nil {
			continue
		}
		if out.Recipe = d.Recipe; d.Recipe == "" {
			if out.Why == "" {
				out.Why = d.Evidence.Note
			}
			continue
		}
		out.Why, out.decision = "", d
		out.Ratio = d.Evidence.Ratio()
		out.Over = out.Ratio * k.Ratio
		out.Whole = out.Over <= 1.01
	}
	if out.Recipe == "" && out.Why == "" {
		out.Why = "no recipe is faster than what the later build gives"
	}
	return out, nil
}

// Keep lets builds in the later way take what was found.
func (p *Pair) Keep(to *tuner.Decisions) (n int, err error) {
	for _, k := range p.Kernels {
		if k.Restored == nil || k.Restored.decision == nil {
			continue
		}
		d := *k.Restored.decision
		d.Evidence.Note = strings.TrimPrefix(d.Evidence.Note+
			"; found by gnvcc compare: "+p.After+" against "+p.Before, "; ")
		if err := to.Decide(d); err != nil {
			return n, err
		}
		k.Restored.Kept = true
		n++
	}
	return n, to.Publish()
}

// restoring is policy's compiler and sink for such a search. Nothing is decided by it.
type restoring struct {
	*tuner.Compiler
	past    *tuner.Decisions
	trouble string
}

// Kernel is policy.Compiler's. What the user does not want stands in the user's store.
func (r *restoring) Kernel(module, kernel string) (*policy.Kernel, error) {
	k, err := r.Compiler.Kernel(module, kernel)
	if err != nil {
		return nil, err
	}
	if sn, err := r.past.Store().Snapshot(); err == nil {
		k.Banned = standing.Banned(sn, k.Name, k.Identity)
		sn.Close()
	}
	return k, nil
}

func (r *restoring) Decide(cache.Decision) error { return nil }

func (r *restoring) Past(k *policy.Kernel, device string) *cache.Decision {
	return r.past.Past(k, device)
}

func (r *restoring) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !strings.HasPrefix(text, "replaying ") {
		r.trouble = text
	}
}
