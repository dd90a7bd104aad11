package tuner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/compile"
	"gnvcc/driver/scratch"
	"gnvcc/driver/standing"
	"gnvcc/policy"
	"gnvcc/profile/capture"
	"gnvcc/rewrite/counters"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim/cubin"
)

// A Compiler is driver's Compiler, with what policy has to know of a kernel.
type Compiler struct {
	*compile.Compiler
	scratch *scratch.Folder
	store   *cache.Store
	askers  askers
	first   []recipe.Recipe // to be tried before others (policy.Kernel.First)
}

// askers say whom decisions are for.
type askers struct {
	approximate  bool   // a kernel whose builds are not known is left alone
	program, dir string // what is run, and where
}

// builds names them for a kernel.
func (a askers) builds(s *compile.Source) ([]string, error) {
	list, err := s.Askers(a.program, a.dir)
	if !a.approximate {
		err = nil // an exact decision is for everybody
	}
	return list, err
}

// NewCompiler makes a Compiler with a scratch folder; Close removes it.
func NewCompiler(store *cache.Store) (*Compiler, error) {
	scratch, err := scratch.New()
	if err != nil {
		return nil, fmt.Errorf("make a scratch folder: %w", err)
	}
	return &Compiler{Compiler: compile.New(store, scratch.Path), scratch: scratch, store: store}, nil
}

func (c *Compiler) Close() { c.scratch.Remove() }

// TryingFirst returns the compiler with recipes that searches try before others.
func (c *Compiler) TryingFirst(list []recipe.Recipe) *Compiler {
	out := *c
	out.first = list
	return &out
}

// Folder is the scratch folder.
func (c *Compiler) Folder() string { return c.scratch.Path }

// Kernel describes for policy what it has to know of a loaded kernel.
func (c *Compiler) Kernel(module, kernel string) (*policy.Kernel, error) {
	s, err := c.Compiler.Kernel(module, kernel)
	if err != nil {
		return nil, err
	}
	k, err := describe(s)
	if err != nil {
		return nil, err
	}
	if sn, err := c.store.Snapshot(); err == nil {
		k.Banned = standing.Banned(sn, k.Name, k.Identity)
		sn.Close()
	}
	k.First = append(k.First, c.first...)
	if k.For, err = c.askers.builds(s); err != nil && k.Alone == "" {
		k.Alone = err.Error()
	}
	return k, nil
}

// Captured is the module of a kernel whose cubin is an object, with what a captured launch of an
// earlier build has to fit.
func (c *Compiler) Captured(hash, kernel string) (capture.Code, error) {
	b, err := c.store.Object(hash)
	if err != nil {
		return capture.Code{}, fmt.Errorf("its cubin is not in the store (the next edit makes it): %w",
			err)
	}
	return c.fitting(b, hash, kernel)
}

func (c *Compiler) fitting(b []byte, hash, kernel string) (capture.Code, error) {
	out := capture.Code{Hash: hash, Cubin: b}
	f, err := cubin.Read(out.Cubin)
	if err != nil {
		return out, err
	}
	known, ok := f.Kernel(kernel)
	if !ok {
		return out, errors.New("its cubin does not have it")
	}
	for _, p := range known.Params {
		out.Params = append(out.Params, [2]int{p.Offset, p.Size})
	}
	s, err := c.Compiler.Kernel(hash, kernel)
	if err != nil {
		return out, err
	}
	reach, err := s.Module.Reach(kernel)
	if err != nil {
		return out, err
	}
	for _, g := range f.Globals {
		reached := slices.ContainsFunc(reach.Globals, func(x *ptx.Global) bool {
			return x.Name == g.Name
		})
		out.Variables = append(out.Variables, capture.ModuleValue{Name: g.Name, Size: int64(g.Size),
			Reached: reached, Own: g.Section == ".nv.global.init"})
	}
	return out, nil
}

// describe says what policy has to know of a kernel.
func describe(s *compile.Source) (*policy.Kernel, error) {
	k := &policy.Kernel{
		Name: s.Kernel, Identity: s.Identity, Target: s.Target, Ptxas: s.Version,
		Applied: s.Applied, Default: s.Default,
		Reloc: s.Assembly.Reloc, Source: s.File, NoSecond: s.NoSecond, Built: s,
	}
	k.CC = ptx.Capability(s.Target)
	if err := k.ReadPTX(s.Module); err != nil {
		return nil, err
	}
	k.Together = s.Together
	if s.Code == nil {
		k.Unread(s.NoSource, s.Signature)
	} else {
		k.ReadSource(s.Code, s.Signature)
	}
	for _, f := range s.Assembly.Args {
		if n, ok := strings.CutPrefix(f, "-maxrregcount="); ok {
			k.Bounds = "-maxrregcount=" + n
		} else if n, ok := strings.CutPrefix(f, "--maxrregcount="); ok {
			k.Bounds = "-maxrregcount=" + n
		}
	}
	return k, nil
}

// Compile makes a candidate.
func (c *Compiler) Compile(ctx context.Context, k *policy.Kernel,
	r recipe.Recipe) (*policy.Candidate, error) {
	return c.Compiler.Compile(ctx, k.Built, r)
}

// Counting makes a build with counters in it.
func (c *Compiler) Counting(ctx context.Context, k *policy.Kernel, r recipe.Recipe) (*policy.Candidate, counters.Counters, error) {
	return c.Compiler.Counting(ctx, k.Built, r)
}

// Counts says how often the tools ran.
func (c *Compiler) Counts() string {
	var parts []string
	for _, tool := range []string{"cicc", "ptxas", "nvlink"} {
		if n, took := c.Spent(tool); n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d times, %.1f s", tool, n, took.Seconds()))
		}
	}
	if len(parts) == 0 {
		return "nothing was compiled"
	}
	return strings.Join(parts, "; ")
}
