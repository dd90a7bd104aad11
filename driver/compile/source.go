package compile

import (
	"context"
	"errors"
	"fmt"

	"gnvcc/cache"
	"gnvcc/driver/child"
	"gnvcc/driver/job"
	"gnvcc/driver/record"
	"gnvcc/driver/toolcmd"
	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/ptx"
)

// From a kernel of a loaded module back to what it was built from.

// A Source is what a loaded kernel was made from.
type Source struct {
	Kernel     string // mangled
	Identity   string // key of its decision
	Target     string // "sm_90a"
	Version    string // of ptxas, "13.0.88"
	Flags      []string
	Assembly   cache.Assembly
	Link       *cache.Link // the device link that its module comes from; nil without -rdc=true
	Applied    string      // the recipe that the loaded build was made with
	Default    cache.Build // nvcc's own compile
	Module     *ptx.Module // read only
	Entry      *ptx.Func
	MaxThreads int             // the largest block by the kernel's directives, 1024 without
	File       string          // the user's source file, "" if not known
	Together   string          // cache.Translation.Resident
	Code       *lowered.Kernel // nil where NoSource says why
	Signature  []string        // the PTX types of its parameters, as package lowered wants them
	NoSource   string          // why there can't be source variants
	NoSecond   string          // why there can't be a second entry chosen in the host stub

	outputs     []string // what the same code was built into (Askers)
	job         *job.Job
	translation *cache.Translation
	std         []cache.Kernel
}

// input is what the kernel's file is compiled from.
func (s *Source) input() input { return input{s.job, s.translation, s.Module, s.std} }

// errSecond is wrapped where a kernel is itself what a recipe made.
var errSecond = errors.New("it is a second entry made by gnvcc; the kernel itself is tuned instead")

// Know makes Kernel find what was built in a command that was tried, of which the store has no
// record.
func (c *Compiler) Know(u record.Unit) { c.tried.Store(u.Cubin, u.Assembly) }

// Kernel finds what the kernel of a loaded module was built from. cubinHash is that of the module's
// cubin.
func (c *Compiler) Kernel(cubinHash, kernel string) (*Source, error) {
	if _, ok := KernelOf(kernel); ok {
		return nil, errSecond
	}
	if a, ok := c.tried.Load(cubinHash); ok {
		s, err := c.source(a.(cache.Assembly), kernel)
		if err == nil {
			s.NoSecond = s.noSecond()
		}
		return s, err
	}
	ix := c.fresh.Get(func(ix *record.Index) bool { return ix.Knows(cubinHash) })
	a, link, err := c.assembly(ix, cubinHash, kernel)
	if err != nil {
		return nil, err
	}
	return c.of(ix, a, link, kernel)
}

// assembly finds what a kernel of a loaded module was assembled from, and the module's device link.
func (c *Compiler) assembly(ix *record.Index, cubinHash, kernel string) (a cache.Assembly, link *cache.Link, err error) {
	a, ok := ix.Assembly(cubinHash)
	if ok {
		return a, nil, nil
	}
	l, ok := ix.Link(cubinHash)
	if !ok {
		return a, nil, errors.New("its module was not built by gnvcc: a library's, compiled by the driver from PTX, or linked with -dlto")
	}
	if l.Inputs == nil {
		return a, nil, errors.New("its device link has no inputs on record")
	}
	a, err = c.definer(ix, l, kernel)
	return a, &l, err
}

// BuiltAs gives the identity of a loaded module's kernel and the recipe that it was built with, from the
// records alone: no code is read. Of a second entry they are its kernel's, whose name comes with them.
func (c *Compiler) BuiltAs(cubinHash, entry string) (k cache.Kernel, second, ok bool) {
	name, second := KernelOf(entry)
	k.Name = name
	ix := c.fresh.Get(func(ix *record.Index) bool { return ix.Knows(cubinHash) })
	a, _, err := c.assembly(ix, cubinHash, name)
	if err != nil {
		return k, second, false
	}
	for _, x := range a.Kernels {
		if x.Name == name {
			return x, second, x.Identity != ""
		}
	}
	return k, second, false
}

// Built is Kernel for a build on record, which says which of two texts that give one cubin it is.
func (c *Compiler) Built(a cache.Assembly, kernel string) (*Source, error) {
	return c.of(c.fresh.Get(func(ix *record.Index) bool { return ix.Knows(a.Cubin) }), a, nil, kernel)
}

// of gathers what is known of a kernel of an assembly, and of its module's link.
func (c *Compiler) of(ix *record.Index, a cache.Assembly, link *cache.Link,
	kernel string) (*Source, error) {
	s, err := c.source(a, kernel)
	if err != nil {
		return nil, err
	}
	s.Link, s.outputs = link, ix.OutputsOf(c.store, a.Cubin)
	s.NoSecond = s.noSecond()
	return s, nil
}

// source gathers what is known of one kernel of an assembly.
func (c *Compiler) source(a cache.Assembly, kernel string) (*Source, error) {
	s := &Source{Kernel: kernel, Target: a.Target, Version: a.Version, Assembly: a}
	for _, k := range a.Kernels {
		if k.Name == kernel {
			s.Identity, s.Applied = k.Identity, k.Recipe
		}
	}
	if s.Identity == "" {
		return nil, errors.New("its identity was not known when it was built")
	}
	call, err := toolcmd.ReadPtxas(a.Args)
	if err != nil {
		return nil, fmt.Errorf("the recorded ptxas command: %w", err)
	}
	if call.Debug {
		return nil, errors.New("it is built for debugging (-G)")
	}
	text, err := c.store.Object(a.PTX)
	if err != nil {
		return nil, fmt.Errorf("its PTX is no longer in the store (build it again): %w", err)
	}
	if s.job, err = job.New(c.store, call, a.Ptxas, text); err != nil {
		return nil, err
	}
	if s.job.Version != a.Version {
		return nil, fmt.Errorf("it was built by ptxas %s, and %s is now %s (build it again)", a.Version,
			a.Ptxas, s.job.Version)
	}
	s.Flags = call.Flags
	if s.Module, err = s.job.Read(); err != nil {
		return nil, fmt.Errorf("read its PTX: %w", err)
	}
	if s.Entry = s.Module.Entry(kernel); s.Entry == nil {
		return nil, errors.New("it is not in the PTX that its module was built from")
	}
	s.MaxThreads = 1024
	if n, _ := s.Entry.Threads(); n > 0 {
		s.MaxThreads = n
	}
	s.Signature = lowered.Signature(s.Entry)
	c.readSource(s)
	std, err := c.defaultKernels(s)
	if err != nil {
		return nil, err
	}
	s.std = std
	for _, k := range std {
		if k.Name == kernel {
			s.Default = k.Build
		}
	}
	return s, nil
}

// readSource finds the kernel in the lowered device code.
func (c *Compiler) readSource(s *Source) {
	t, ok := c.translation(s.job.Hash)
	if !ok {
		s.NoSource = errNoSource.Error()
		return
	}
	s.translation, s.File, s.Together = &t, t.Source, t.Resident
	if err := c.slice(s); err != nil {
		s.Code, s.NoSource = nil, err.Error()
	}
}

// slice reads the kernel's code, and sees whether there can be variants of it.
func (c *Compiler) slice(s *Source) error {
	ctx, b, done, err := c.workbench(context.Background(), c.Limit, forOne)
	if err != nil {
		return err
	}
	defer done()
	s.translation = b.withLowered(ctx, s.translation)
	r, err := requestOf(b.Store, s.input(), variantOf{entry: s.Kernel})
	if err != nil {
		return err
	}
	unit, err := b.unit(s.translation.Lowered)
	if err != nil {
		return err
	}
	if s.Code, err = unit.Kernel(s.Kernel); err != nil {
		return err
	}
	return b.sliceable(ctx, r)
}

func (c *Compiler) translation(ptxHash string) (cache.Translation, bool) {
	if t, ok := record.LoadTranslation(c.store, ptxHash); ok {
		return t, true
	}
	var t cache.Translation
	sn, err := c.store.Snapshot()
	if err == nil {
		defer sn.Close()
		if ok, err := sn.Get(cache.Translations, ptxHash, &t); err == nil && ok {
			return t, true
		}
	}
	return cache.Translation{}, false
}

// defaultKernels gives the registers and so on of nvcc's own compile: as the build saw them, else
// by compiling once more.
func (c *Compiler) defaultKernels(s *Source) ([]cache.Kernel, error) {
	if std, ok := s.job.LoadDefault(c.store); ok {
		return std.Kernels, nil
	}
	kernels, err := s.job.Kernels()
	if err != nil {
		return nil, err
	}
	ctx, b, done, err := c.workbench(context.Background(), c.Limit, forOne)
	if err != nil {
		return nil, err
	}
	defer done()
	out, _, err := b.try(ctx, input{job: s.job, module: s.Module, kernels: kernels}, nil)
	if err != nil {
		return nil, fmt.Errorf("compile %s as nvcc does: %w", s.Kernel, err)
	}
	kernels, _, err = job.ReadBack(kernels, out.Content)
	if err != nil {
		return nil, err
	}
	job.Spills(kernels, []child.Message{{Text: out.messages}})
	return kernels, nil
}
