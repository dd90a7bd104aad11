// Building a program once, and compiling candidates of one of its kernels.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"gnvcc/bench/command"
	"gnvcc/bench/step"
	"gnvcc/cache"
	"gnvcc/driver/compile"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

type builder struct {
	gnvcc, nvcc, work string
	jobs              int
	cubin, kernel     string
	count             int
}

// The kinds of candidates: by PTX alone; with source variants, as a search makes them (drafts, and
// one candidate as a build makes it, the winner's); and all of these as a build makes them.
const (
	byPTX    = "PTX"
	bySource = "source"
	byWhole  = "whole"
)

// recipes are 60 of a kind, the same for every kernel.
func recipes(kind string) []recipe.Recipe {
	var out []recipe.Recipe
	add := func(format string, args ...any) {
		r, err := recipe.Parse(fmt.Sprintf(format, args...))
		if err != nil {
			panic(err)
		}
		out = append(out, r)
	}
	if kind != byPTX {
		for factor := 1; factor <= 12; factor++ {
			for _, n := range []int{32, 40, 48, 64, 128} {
				add("unroll=%d maxnreg=%d", factor, n)
			}
		}
		return out
	}
	for _, hints := range []string{"", "ld=L2::256B ", "ld=L1::no_allocate ", "st=cs ",
		"ld=L2::256B st=cs ", "ld=L1::no_allocate st=cs "} {
		for _, n := range []int{24, 32, 40, 48, 56, 64, 72, 80, 96, 128} {
			add("%smaxnreg=%d", hints, n)
		}
	}
	return out
}

// build builds a program with gnvcc, and chooses the first kernel that takes hints.
func (b *builder) build(ctx context.Context, folder string) error {
	make := step.Step{Argv: []string{"make", "-s", "NVCC=" + b.gnvcc, "O=" + filepath.Join(b.work,
		"out")}, Dir: folder, Limit: 5 * time.Minute,
		Env: []string{"GNVCC_NVCC=" + b.nvcc, "GNVCC_STORE=" + b.store()}}
	if r := make.Run(ctx); r.Err != nil {
		return r.Err
	}
	store, err := cache.Open(b.store())
	if err != nil {
		return err
	}
	if err := store.PublishSpooled(ctx); err != nil {
		return err
	}
	snapshot, err := store.Snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Close()
	compiler := compile.New(store, b.work)
	err = snapshot.Each(cache.Assemblies, "", func(key string, raw []byte) error {
		var a cache.Assembly
		if err := json.Unmarshal(raw, &a); err != nil {
			return err
		}
		for _, k := range a.Kernels {
			s, err := compiler.Kernel(a.Cubin, k.Name)
			if err != nil {
				return err
			}
			if loads, stores := rewrite.Accesses(s.Entry); b.kernel == "" && loads > 0 && stores > 0 &&
				s.NoSource == "" {
				b.cubin, b.kernel = a.Cubin, k.Name
			}
		}
		return nil
	})
	if err == nil && b.kernel == "" {
		err = errors.New("no kernel in it takes hints on loads and stores")
	}
	return err
}

func (b *builder) store() string { return filepath.Join(b.work, "store") }

// compile compiles the kernel by some recipes, with a copy of the store that knows the build alone.
func (b *builder) compile(ctx context.Context, kind string, list []recipe.Recipe) (Run, error) {
	b.count++
	dir := filepath.Join(b.work, fmt.Sprintf("copy%d", b.count))
	if err := os.CopyFS(dir, os.DirFS(b.store())); err != nil {
		return Run{}, err
	}
	defer os.RemoveAll(dir)
	store, err := cache.Open(dir)
	if err != nil {
		return Run{}, err
	}
	scratch := filepath.Join(b.work, "scratch")
	if err := os.MkdirAll(scratch, 0o700); err != nil {
		return Run{}, err
	}
	compiler := compile.New(store, scratch)
	r := Run{N: len(list)}
	cpu, begun := processor(), time.Now()
	source, err := compiler.Kernel(b.cubin, b.kernel)
	if err != nil {
		return Run{}, err
	}
	candidate := compiler.Compile
	if kind == bySource {
		candidate = compiler.Draft
	}
	var why error
	r.Failed, why = b.all(list, func(one recipe.Recipe) error {
		_, err := candidate(ctx, source, one)
		return err
	})
	if kind == bySource {
		if _, err := compiler.Compile(ctx, source, list[len(list)-1]); err != nil {
			r.Failed++
		}
	}
	r.Wall, r.CPU = time.Since(begun).Seconds(), (processor() - cpu).Seconds()
	var took time.Duration
	r.Cicc, took = compiler.Spent("cicc")
	r.CiccTime, r.CiccCPU = took.Seconds(), compiler.Processor("cicc").Seconds()
	r.Ptxas, took = compiler.Spent("ptxas")
	r.PtxTime = took.Seconds()
	if r.Failed == r.N {
		return r, fmt.Errorf("%s: none of %d recipes compiles: %w", b.kernel, r.N, why)
	}
	return r, ctx.Err()
}

// all does something for all recipes, some at a time, and says how often that failed, and why at
// last.
func (b *builder) all(list []recipe.Recipe, do func(recipe.Recipe) error) (failed int, why error) {
	var mu sync.Mutex
	command.Each(b.jobs, list, func(one recipe.Recipe) {
		if err := do(one); err != nil {
			mu.Lock()
			defer mu.Unlock()
			failed, why = failed+1, err
		}
	})
	return failed, why
}

// processor is the time of this process and of all that it has waited for.
func processor() time.Duration {
	return command.Processor(syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN)
}
