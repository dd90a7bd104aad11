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
	"gnvcc/rewrite/manner"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/source"
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
		[]string{"-c", "-o", filepath.Join(work, "k.o"), file})...)
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
	source *compile.Source
	values []source.Value
	guard  recipe.Guard // what the variant is for
	inside bool         // and both are in one entry
	own    []byte       // cubins
	other  []byte
	entry  string
	manner manner.Manner
}

// variants compiles a kernel by a recipe: a variant for each of its second entries.
func (p *project) variants(ctx context.Context, kernel, text string) ([]*pair, error) {
	s, err := p.compiler.Kernel(p.cubins[kernel], kernel)
	if err != nil {
		return nil, err
	}
	r, err := recipe.Parse(text)
	if err != nil {
		return nil, err
	}
	var values []source.Value
	if s.Code != nil {
		if r, err = s.Code.Resolve(r, s.Signature); err != nil {
			return nil, err
		}
		if values, err = s.Code.Values(s.Signature); err != nil {
			values = nil
		}
	}
	plain, err := p.compiler.Compile(ctx, s, recipe.Recipe{})
	if err != nil {
		return nil, err
	}
	own, err := os.ReadFile(plain.Path)
	if err != nil {
		return nil, err
	}
	parts := []recipe.Recipe{r}
	if entries, err := r.Entries(); err == nil && len(entries) > 0 {
		parts = entries
	}
	var out []*pair
	for _, part := range parts {
		c, err := p.compiler.Compile(ctx, s, part)
		if err != nil {
			return nil, err
		}
		v := &pair{source: s, values: values, own: own, entry: c.Entry, manner: c.Manner}
		if v.other, err = os.ReadFile(c.Path); err != nil {
			return nil, err
		}
		for _, t := range part.Terms {
			if t.IsCopy() {
				if v.guard, err = t.Guard(); err != nil {
					return nil, err
				}
				v.inside = !t.IsSecond()
			}
		}
		out = append(out, v)
	}
	return out, nil
}

// matching are the kernels whose names hold a text.
func (p *project) matching(text string) (out []string) {
	for _, k := range p.kernels {
		if strings.Contains(k, text) {
			out = append(out, k)
		}
	}
	return out
}
