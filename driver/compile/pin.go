package compile

import (
	"context"
	"fmt"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/job"
	"gnvcc/driver/record"
	"gnvcc/driver/scratch"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim/cubin"
)

// Recipes by hand: what gnvcc pin asks of the builds on record.

// Rehearse builds a kernel with a recipe for it, as a build does, checks included. What comes out
// is thrown away; the decision that it gives is for the caller to keep. An error says why a build
// would not take the recipe.
//
// It is a kernel's affair, and a file may have a hundred of them: ptxas is given the kernel alone
// where what it makes of that depends on nothing else. A build compiles the whole text, and takes
// nothing else than what was found here.
func (c *Compiler) Rehearse(ctx context.Context, s *Source,
	r recipe.Recipe) (cache.Decision, error) {
	none := cache.Decision{}
	ctx, b, done, err := c.workbench(ctx, Limit, forPin)
	if err != nil {
		return none, err
	}
	defer done()
	out, err := b.Build(ctx, s.job, s.translation, map[string]recipe.Recipe{s.Kernel: r}, s.std)
	if err != nil {
		return none, err
	}
	if reason := out.Refused[s.Kernel]; reason != nil {
		return none, reason
	}
	entry := entryOf(s.Kernel, r)
	f, err := cubin.Read(out.Content)
	if err != nil {
		return none, fmt.Errorf("read what ptxas gave: %w", err)
	}
	k, ok := f.Kernel(entry)
	if !ok {
		return none, fmt.Errorf("the cubin has no kernel %s", entry)
	}
	d := cache.Decision{Identity: s.Identity, Kernel: s.Kernel, Target: s.Target, Recipe: r.String(),
		Pinned: true, Time: time.Now().UTC()}
	d.Evidence = cache.Evidence{Default: s.Default, Normals: out.normals,
		Chosen: job.BuildOf(k)}
	d.Evidence.Chosen.Spill = cubin.Spills(out.messages)[entry]
	if std := &d.Evidence.Default; std.Spill == 0 && std.Stack > 0 { // the build had no word of it
		if own, err := c.Compile(ctx, s, recipe.Recipe{}); err == nil {
			std.Spill = own.Build.Spill
		}
	}
	return d, nil
}

// Assume gives the decision for a recipe as a tuner would have written it down, without measuring
// anything: for tests and benchmarks that put recipes into a store. What it compiles is not kept.
// Where the recipe can't be carried out the decision says so by a normal form that no code has.
func Assume(ctx context.Context, store *cache.Store, identity,
	text string) (cache.Decision, error) {
	d := cache.Decision{Identity: identity, Recipe: text, Exactness: "checked", Time: time.Now().UTC()}
	r, err := recipe.Parse(text)
	if err != nil {
		return d, nil // a build refuses it
	}
	k, ok := record.BuiltBy(store)[identity]
	if !ok {
		return d, fmt.Errorf("no build recorded a kernel %s", identity)
	}
	d.Kernel, d.Target = k.Name, k.Assembly.Target
	if len(askedOf(k.Name, r)) == 0 {
		return d, nil
	}
	scratch, err := scratch.New()
	if err != nil {
		return d, err
	}
	defer scratch.Remove()
	c := New(store, scratch.Path)
	s, err := c.source(k.Assembly, k.Name)
	if err != nil {
		return d, err
	}
	if s.Code != nil {
		if resolved, err := s.Code.Resolve(r, s.Signature); err == nil {
			r, d.Recipe = resolved, resolved.String()
		}
	}
	d.Evidence.Normals = map[string]string{}
	for _, v := range askedOf(k.Name, r) {
		d.Evidence.Normals[v.String()] = c.normalOf(ctx, s, v)
	}
	return d, nil
}

// normalOf compiles a variant and forgets it.
func (c *Compiler) normalOf(ctx context.Context, s *Source, v variantOf) string {
	const none = "none"
	ctx, b, done, err := c.workbench(ctx, Limit, forOne)
	if err != nil {
		return none
	}
	defer done()
	r, err := requestOf(b.Store, s.input(), v)
	if err != nil {
		return none
	}
	m, err := b.compileVariant(ctx, r)
	if err != nil {
		return none
	}
	return m.normal
}
