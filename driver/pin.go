package driver

import (
	"context"
	"fmt"
	"sort"
	"time"

	"gnvcc/cache"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim/cubin"
)

// Recipes by hand: what gnvcc pin asks of the builds on record.

// A BuiltKernel is a kernel of a build on record.
type BuiltKernel struct {
	cache.Kernel
	Assembly cache.Assembly
}

// Built lists the kernels of the newest build of every file and target, one of each identity, in order of their names.
func (c *Compiler) Built() []BuiltKernel {
	seen := map[string]bool{}
	var out []BuiltKernel
	for _, units := range readIndex(c.store).byCommand(c.store) {
		for _, a := range units {
			for _, k := range a.Kernels {
				if k.Identity != "" && !seen[k.Identity] {
					seen[k.Identity] = true
					out = append(out, BuiltKernel{k, a})
				}
			}
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Name != out[j].Name {
			return out[i].Name < out[j].Name
		}
		return out[i].Identity < out[j].Identity
	})
	return out
}

// Rehearse builds a kernel's file with a recipe for it, as a build does, checks included. What comes out is thrown away; the
// decision that it gives is for the caller to keep. An error says why a build would not take the recipe.
func (c *Compiler) Rehearse(ctx context.Context, s *Source, r recipe.Recipe) (cache.Decision, error) {
	none := cache.Decision{}
	ctx, cancel := context.WithTimeout(ctx, limitBuild)
	defer cancel()
	b, done, err := c.bench()
	if err != nil {
		return none, err
	}
	defer done()
	b.only = false
	out, err := b.build(ctx, s.job, s.translation, map[string]recipe.Recipe{s.Kernel: r}, s.std)
	if err != nil {
		return none, err
	}
	if reason := out.refused[s.Kernel]; reason != nil {
		return none, reason
	}
	entry := s.Kernel
	if seconds, err := secondsOf(s.Kernel, r); err == nil && len(seconds) > 0 {
		entry = seconds[0].name
	}
	f, err := cubin.Read(out.content)
	if err != nil {
		return none, fmt.Errorf("read what ptxas gave: %w", err)
	}
	k, ok := f.Kernel(entry)
	if !ok {
		return none, fmt.Errorf("the cubin has no kernel %s", entry)
	}
	d := cache.Decision{Identity: s.Identity, Kernel: s.Kernel, Target: s.Target, Recipe: r.String(), Pinned: true, Time: time.Now().UTC()}
	d.Evidence = cache.Evidence{Default: s.Default, Normals: out.normals,
		Chosen: cache.Build{Registers: k.Registers, Stack: k.Stack, Shared: k.Shared, Barriers: k.Barriers, Spill: cubin.Spills(out.messages)[entry].Stores}}
	return d, nil
}
