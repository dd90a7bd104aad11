package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"gnvcc/cache"
	"gnvcc/driver/compile"
	"gnvcc/rewrite"
	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/manner"
	"gnvcc/rewrite/recipe"
)

// A project is one file, built by gnvcc, and a compiler for its kernels.
type project struct {
	compiler *compile.Compiler
	cubins   map[string]string // of each kernel
	kernels  []string
}

// build builds a file with gnvcc, which this program is when nvcc or we call it so.
func build(ctx context.Context, nvcc, file, work string, flags []string) (*project, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	place := filepath.Join(work, "store")
	target := []string{"-arch=sm_90", "-w"}
	if strings.Contains(strings.Join(flags, " "), "-gencode") {
		target = target[1:]
	}
	cmd := exec.CommandContext(ctx, self, slices.Concat(target, flags,
		[]string{"-cubin", "-o", filepath.Join(work, "k.cubin"), file})...)
	cmd.Args[0] = "gnvcc"
	cmd.Env = append(os.Environ(), "GNVCC_STORE="+place, "GNVCC_NVCC="+nvcc)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s: %w\n%s", file, err, out)
	}
	store, err := cache.Open(place)
	if err != nil {
		return nil, err
	}
	if err := store.PublishSpooled(ctx); err != nil {
		return nil, err
	}
	snapshot, err := store.Snapshot()
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	p := &project{compiler: compile.New(store, work), cubins: map[string]string{}}
	err = snapshot.Each(cache.Assemblies, "", func(_ string, raw []byte) error {
		var a cache.Assembly
		if err := json.Unmarshal(raw, &a); err != nil {
			return err
		}
		for _, k := range a.Kernels {
			p.cubins[k.Name] = a.Cubin
			p.kernels = append(p.kernels, k.Name)
		}
		return nil
	})
	slices.Sort(p.kernels)
	return p, err
}

// A pair is a kernel and a variant of it.
type pair struct {
	compiler *compile.Compiler
	recipe   recipe.Recipe
	tables   map[string]rewrite.Numbers // variables of the module that a check varies
	source   *compile.Source
	values   []lowered.Value
	guard    recipe.Guard // the launches that the variant serves
	own      []byte       // cubins
	other    []byte
	entry    string
	manner   manner.Manner
}

// variant compiles a kernel by a recipe of at most one second entry.
func (p *project) variant(ctx context.Context, kernel, text string) (*pair, error) {
	s, err := p.compiler.Kernel(p.cubins[kernel], kernel)
	if err != nil {
		return nil, err
	}
	r, err := recipe.Parse(text)
	if err != nil {
		return nil, err
	}
	v := &pair{compiler: p.compiler, source: s, tables: rewrite.Variables(s.Module, kernel)}
	if s.Code != nil {
		if r, err = s.Code.Resolve(r, s.Signature); err != nil {
			return nil, err
		}
		if v.values, err = s.Code.Values(s.Signature); err != nil {
			v.values = nil
		}
	}
	v.recipe = r
	plain, err := p.compiler.Compile(ctx, s, recipe.Recipe{})
	if err != nil {
		return nil, err
	}
	if v.own, err = os.ReadFile(plain.Path); err != nil {
		return nil, err
	}
	c, err := p.compiler.Compile(ctx, s, r)
	if err != nil {
		return nil, err
	}
	v.entry, v.manner = c.Entry, c.Manner
	if v.other, err = os.ReadFile(c.Path); err != nil {
		return nil, err
	}
	for _, t := range r.Terms {
		if t.IsSecond() {
			if v.guard, err = t.Guard(); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// named finds a kernel by its name in the source: "k0", "k2<4>".
func (p *project) named(name string) (string, bool) {
	name, _, _ = strings.Cut(name, "<")
	for _, k := range p.kernels {
		if strings.Contains(k, fmt.Sprintf("_Z%d%s", len(name), name)) {
			return k, true
		}
	}
	return "", false
}
