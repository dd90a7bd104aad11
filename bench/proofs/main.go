package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"gnvcc/bench/command"
	"gnvcc/bench/machine"
	"gnvcc/bench/step"
	"gnvcc/cache"
	"gnvcc/driver/compile"
	"gnvcc/rewrite/recipe"
)

// A Raw is everything that was measured.
type Raw struct {
	Machine machine.Facts
	Jobs    int // at a time
	Kernels []Kernel
}

// A Kernel is one of a program's, and what its variants took.
type Kernel struct {
	Program, Kernel                 string
	Drafts, Doubted, Proved, Failed int // recipes: compiled, to be proved, proved, not proved
	Compile, Prove, Build           Cost
	Why                             []string // they are not proved
}

// A Cost is what a step took; seconds of the processor, and of waiting.
type Cost struct {
	Wall, CiccCPU, PtxasCPU, OwnCPU float64
	Cicc, Ptxas                     int
}

func (c *Cost) add(o Cost) {
	c.Wall, c.CiccCPU, c.PtxasCPU = c.Wall+o.Wall, c.CiccCPU+o.CiccCPU, c.PtxasCPU+o.PtxasCPU
	c.OwnCPU, c.Cicc, c.Ptxas = c.OwnCPU+o.OwnCPU, c.Cicc+o.Cicc, c.Ptxas+o.Ptxas
}

func (c Cost) String() string {
	return fmt.Sprintf("%6.1f %5d %7.2f %5d %7.2f %7.2f", c.Wall, c.Cicc, c.CiccCPU, c.Ptxas,
		c.PtxasCPU, c.OwnCPU)
}

func main() { command.Main("proofs", run) }

func run(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("proofs", flag.ContinueOnError)
	gnvcc := set.String("gnvcc", "bin/gnvcc", "gnvcc")
	nvcc := set.String("nvcc", "nvcc", "the real nvcc")
	arch := set.String("arch", "sm_90", "nvcc's -arch")
	kernel := set.String("kernel", "", "only kernels whose names hold this")
	jobs := set.Int("j", runtime.NumCPU(), "at a time")
	commit := set.String("commit", "", "gnvcc's commit, where there is no git")
	out := set.String("out", "", "file for the raw results")
	profile := set.String("profile", "", "file for a profile of gnvcc's own part")
	var flags command.List
	set.Var(&flags, "flag", "a flag for the compiler; several times")
	if err := set.Parse(args); err != nil {
		return err
	}
	if *jobs < 1 || set.NArg() == 0 {
		return errors.New("usage: proofs [-arch sm_90] [-kernel TEXT] [-j N] FOLDER [FOLDER ...]")
	}
	if err := command.Programs(gnvcc, nvcc); err != nil {
		return err
	}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	work, err := os.MkdirTemp("", "gnvcc-proofs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	raw := Raw{Machine: machine.Gather(ctx, *nvcc, *gnvcc, *commit), Jobs: *jobs}
	fmt.Println(raw.Machine)
	const head = "  wall  cicc   CPU s ptxas   CPU s   own s"
	fmt.Printf("\n%-44s %7s %7s %7s |%s |%s |%s\n", "kernel", "drafts", "doubted", "proved", head, head,
		head)
	for _, folder := range set.Args() {
		b := builder{gnvcc: *gnvcc, nvcc: *nvcc, jobs: *jobs, work: filepath.Join(work,
			filepath.Base(folder))}
		list, err := b.program(ctx, folder, *kernel, append([]string{"-arch=" + *arch}, flags...))
		if err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
		sum := Kernel{Program: filepath.Base(folder), Kernel: "all"}
		for _, k := range list {
			sum.Drafts, sum.Doubted, sum.Proved = sum.Drafts+k.Drafts, sum.Doubted+k.Doubted,
				sum.Proved+k.Proved
			sum.Compile.add(k.Compile)
			sum.Prove.add(k.Prove)
			sum.Build.add(k.Build)
		}
		fmt.Println(sum)
		raw.Kernels = append(raw.Kernels, list...)
	}
	return command.Write(*out, raw)
}

func (k Kernel) String() string {
	return fmt.Sprintf("%-44.44s %7d %7d %7d |%s |%s |%s", k.Program+" "+k.Kernel, k.Drafts, k.Doubted,
		k.Proved, k.Compile, k.Prove, k.Build)
}

type builder struct {
	gnvcc, nvcc, work string
	jobs              int
	store             *cache.Store
}

// program compiles a folder, and then its kernels' variants.
func (b *builder) program(ctx context.Context, folder, some string, flags []string) ([]Kernel,
	error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.cu"))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(b.work, 0o755); err != nil {
		return nil, err
	}
	place := filepath.Join(b.work, "store")
	for n, file := range files {
		build := step.Step{Argv: slices.Concat([]string{b.gnvcc, "-c", "-o", filepath.Join(b.work,
			fmt.Sprintf("%d.o", n)), filepath.Base(file)}, flags), Dir: folder, Limit: 5 * time.Minute,
			Env: []string{"GNVCC_NVCC=" + b.nvcc, "GNVCC_STORE=" + place}}
		if r := build.Run(ctx); r.Err != nil {
			fmt.Printf("%s is left out: %v\n", file, r.Err) // of those that others include
		}
	}
	if b.store, err = cache.Open(place); err != nil {
		return nil, err
	}
	if err := b.store.PublishSpooled(ctx); err != nil {
		return nil, err
	}
	snapshot, err := b.store.Snapshot()
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	var out []Kernel
	err = snapshot.Each(cache.Assemblies, "", func(key string, raw []byte) error {
		var a cache.Assembly
		if err := json.Unmarshal(raw, &a); err != nil {
			return err
		}
		for _, k := range a.Kernels {
			if !strings.Contains(k.Name, some) {
				continue
			}
			done, err := b.kernel(ctx, a.Cubin, k.Name)
			if err != nil {
				return err
			}
			done.Program = filepath.Base(folder)
			fmt.Println(done)
			out = append(out, done)
		}
		return nil
	})
	return out, err
}

// kernel compiles variants of one, proves them, and builds with those that are proved.
func (b *builder) kernel(ctx context.Context, cubin, name string) (Kernel, error) {
	out := Kernel{Kernel: name}
	compiler := compile.New(b.store, b.work)
	source, err := compiler.Kernel(cubin, name)
	if err != nil {
		return out, err
	}
	var mu sync.Mutex
	made := map[string]*compile.Candidate{}
	out.Compile = b.all(compiler, recipes(source.Signature), func(r recipe.Recipe) {
		c, err := compiler.Draft(ctx, source, r)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			made[r.String()] = c
		}
	})
	var proved, doubted []recipe.Recipe
	for _, r := range recipes(source.Signature) {
		if c := made[r.String()]; c != nil && c.Prove != nil {
			doubted = append(doubted, r)
		}
	}
	out.Drafts, out.Doubted = len(made), len(doubted)
	out.Prove = b.all(compiler, doubted, func(r recipe.Recipe) {
		err := made[r.String()].Prove(ctx)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			out.Failed++
			out.Why = append(out.Why, r.String()+": "+err.Error())
			return
		}
		proved = append(proved, r)
	})
	slices.Sort(out.Why)
	out.Proved = len(proved)
	out.Build = b.all(compiler, proved, func(r recipe.Recipe) {
		c, err := compiler.Compile(ctx, source, r)
		if err == nil && c.Prove != nil {
			err = c.Prove(ctx)
		}
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			out.Why = append(out.Why, r.String()+": a build does not take it: "+err.Error())
		}
	})
	return out, ctx.Err()
}

// recipes are what is tried of a kernel: loops, and values for its last integer.
func recipes(signature []string) []recipe.Recipe {
	texts := []string{"unroll=1", "unroll=2", "unroll=4", "unroll=8", "unroll@1=full", "unroll@1=4",
		"unroll=8 unroll@1=full", "spec{blockDim.x=256,blockDim.y=1,blockDim.z=1}"}
	for n := len(signature) - 1; n >= 0; n-- {
		if signature[n] == "u32" || signature[n] == "b32" || signature[n] == "s32" {
			texts = append(texts, fmt.Sprintf("spec{#%d=64}", n),
				fmt.Sprintf("spec{#%d=64} unroll=8", n))
			break
		}
	}
	var out []recipe.Recipe
	for _, text := range texts {
		if r, err := recipe.Parse(text); err == nil {
			out = append(out, r)
		}
	}
	return out
}

// all does something for all recipes, some at a time, and says what that took.
func (b *builder) all(c *compile.Compiler, list []recipe.Recipe, do func(recipe.Recipe)) Cost {
	now := func() Cost {
		cicc, _ := c.Spent("cicc")
		ptxas, _ := c.Spent("ptxas")
		return Cost{Cicc: cicc, Ptxas: ptxas, CiccCPU: c.Processor("cicc").Seconds(),
			PtxasCPU: c.Processor("ptxas").Seconds(), OwnCPU: command.Processor(syscall.RUSAGE_SELF).Seconds()}
	}
	before, begun := now(), time.Now()
	command.Each(b.jobs, list, do)
	after := now()
	return Cost{Wall: time.Since(begun).Seconds(), Cicc: after.Cicc - before.Cicc,
		Ptxas: after.Ptxas - before.Ptxas, CiccCPU: after.CiccCPU - before.CiccCPU,
		PtxasCPU: after.PtxasCPU - before.PtxasCPU, OwnCPU: after.OwnCPU - before.OwnCPU}
}
