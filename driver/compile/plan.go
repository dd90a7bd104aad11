package compile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/job"
	"gnvcc/rewrite"
	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/merge"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/stub"
)

// A plan is what a set of recipes comes to: which kernels of other compiles go into the module, what
// is done to which entry of it, and what the host stub has to choose.
type plan struct {
	variants []merge.Variant
	normals  map[string]string        // of the variants (normalOf), by their text
	passes   map[string]recipe.Recipe // by entry of the merged module
	options  rewrite.Options          // what passes have to know of second entries
	seconds  []second
	choices  []stub.Choice // of the seconds, in the same order
	waits    string        // why second entries must be loaded with the file; "": they need not
}

// plan works it out, and compiles the source variants for it. bad are the kernels whose recipes
// can't be carried out.
func (b *Workbench) plan(ctx context.Context, in input,
	recipes map[string]recipe.Recipe) (p *plan, bad map[string]error) {
	p = &plan{passes: map[string]recipe.Recipe{}, normals: map[string]string{},
		options: rewrite.Options{Registers: map[string]int{}, Blocks: map[string][3]int{},
			Dynamic: map[string]int{}, Coarse: map[string][3]int{}, Grids: map[string][3]int{},
			ReadBack: true, Relocatable: in.job.Call.Reloc, Uncontracted: optimises(in.job.Call.Flags)}}
	for _, k := range in.kernels {
		p.options.Registers[k.Name] = k.Registers
	}
	bad = map[string]error{}
	for _, name := range slices.Sorted(maps.Keys(recipes)) {
		r := recipes[name]
		if err := rewrite.Check(r); err != nil {
			bad[name] = err
			continue
		}
		if err := rewrite.Fixed(in.module, name, in.job.Call.Reloc, r); err != nil {
			bad[name] = err
			continue
		}
		seconds, err := secondsOf(name, r)
		switch {
		case err != nil:
		case len(seconds) > 0:
			err = b.planSeconds(ctx, in, p, seconds)
		default:
			err = b.planKernel(ctx, in, p, name, r)
		}
		if err != nil {
			bad[name] = err
		}
	}
	if len(bad) == 0 && len(p.choices) > 0 && b.Stub != nil {
		b.tryStub(p, bad)
	}
	return p, bad
}

// planKernel is for recipes that are for the kernel itself.
func (b *Workbench) planKernel(ctx context.Context, in input, p *plan, name string,
	r recipe.Recipe) error {
	if terms := rewrite.At(r, rewrite.Source).Terms; len(terms) > 0 {
		m, err := b.planVariant(ctx, in, p, variantOf{entry: name, terms: terms})
		if err != nil {
			return err
		}
		p.variants = append(p.variants, merge.Variant{Entry: name, Module: m})
	}
	p.passes[name] = rewrite.At(r, rewrite.PTX)
	return nil
}

// planSeconds is for recipes with second entries.
func (b *Workbench) planSeconds(ctx context.Context, in input, p *plan, seconds []second) error {
	t, module := in.translation, in.module
	if why := merged(in.job, module, seconds[0].kernel); why != "" {
		return errors.New(why)
	}
	if p.waits = mayWait(in.job, module); p.waits != "" && notEager(in.job) != "" {
		return errors.New(p.waits)
	}
	kernel := seconds[0].kernel
	f := module.Entry(kernel)
	if f == nil {
		return fmt.Errorf("no kernel %s in the PTX", kernel)
	}
	if why := sharedHost(t, module, kernel, func() *lowered.Kernel {
		return b.definition(t, kernel)
	}); why != "" {
		return errors.New(why)
	}
	var others []second
	for _, s := range seconds {
		if err := s.otherwise(module); err != nil {
			return err
		}
		if !s.plain() {
			others = append(others, s)
			continue
		}
		p.add(merge.Variant{Entry: kernel, Second: s.name, Module: module}, s, s.plainChoice())
	}
	if len(others) == 0 {
		return nil
	}
	if t == nil {
		return errNoSource
	}
	unit, err := b.unit(t.Lowered)
	if err != nil {
		return err
	}
	k, err := unit.Kernel(kernel)
	if err != nil {
		return err
	}
	for _, s := range others {
		m, err := b.planVariant(ctx, in, p, s.variant())
		if err == nil {
			err = s.otherwise(m)
		}
		if err != nil {
			return err
		}
		choice, err := s.choice(k, lowered.Signature(f))
		if err != nil {
			return err
		}
		p.add(merge.Variant{Entry: kernel, Second: s.name, Module: m}, s, choice)
	}
	return nil
}

// definition is a kernel in the source, nil where that isn't known.
func (b *Workbench) definition(t *cache.Translation, kernel string) *lowered.Kernel {
	if t == nil {
		return nil
	}
	unit, err := b.unit(t.Lowered)
	if err != nil {
		return nil
	}
	k, err := unit.Kernel(kernel)
	if err != nil {
		return nil
	}
	return k
}

// planVariant gives the PTX of a source variant, and notes what it is in the plan. It must be the
// code that was measured.
func (b *Workbench) planVariant(ctx context.Context, in input, p *plan, v variantOf) (*ptx.Module,
	error) {
	m, err := b.variant(ctx, in, v)
	if err == nil {
		err = b.asMeasured(v, m)
	}
	if err != nil {
		return nil, err
	}
	p.normals[v.String()] = m.normal
	return m.module, nil
}

// add puts a second entry into the plan.
func (p *plan) add(v merge.Variant, s second, c stub.Choice) {
	p.variants = append(p.variants, v)
	p.passes[s.name] = rewrite.At(s.rest.With(s.term), rewrite.PTX)
	p.options.Blocks[s.name], p.options.Grids[s.name] = s.manner.In(c.Block), c.Grid
	if by := s.manner.Coarse; by != [3]int{} {
		p.options.Coarse[s.name] = by
	}
	if c.Dynamic != nil {
		p.options.Dynamic[s.name] = *c.Dynamic
	}
	p.seconds = append(p.seconds, s)
	c.Clusters = bytes.Contains(v.Module.Bytes(), []byte("cluster"))
	p.choices = append(p.choices, c)
}

// tryStub sees whether the host stub takes the choices.
func (b *Workbench) tryStub(p *plan, bad map[string]error) {
	h, err := b.Stub()
	if err != nil {
		for _, s := range p.seconds {
			bad[s.kernel] = err
		}
		return
	}
	_, refused := h.Patch(p.choices)
	maps.Copy(bad, p.blame(refused))
}

// blame puts what was said of second entries down to their kernels.
func (p *plan) blame(refused map[string]error) map[string]error {
	out := map[string]error{}
	for name, reason := range refused {
		for _, s := range p.seconds {
			if s.name == name {
				name = s.kernel
			}
		}
		out[name] = reason
	}
	return out
}

// alone reports whether ptxas makes the same of the kernels with recipes where it is given nothing
// else: what holds for the file, or binds its kernels together, is not among the plan.
func (p *plan) alone(j *job.Job) bool {
	return p.waits == "" && !j.Call.Reloc
}

// entries are those kernels, among nvcc's own and by name, with their second entries.
func (p *plan) entries(in input, recipes map[string]recipe.Recipe) (of []cache.Kernel,
	names []string) {
	for _, k := range in.kernels {
		if _, ok := recipes[k.Name]; ok {
			of, names = append(of, k), append(names, k.Name)
		}
	}
	for _, s := range p.seconds {
		names = append(names, s.name)
	}
	return of, names
}

// optimises reports whether ptxas is given options of optimisation: -fmad, -O0, -Ofc, --opt-level.
func optimises(flags []string) bool {
	return slices.ContainsFunc(flags, func(f string) bool {
		return strings.Contains(f, "fmad") || strings.Contains(f, "O") || strings.Contains(f, "opt-level")
	})
}
