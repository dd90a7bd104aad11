package main

import (
	"bufio"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

//go:embed rounding.py blocks.py ways.py
var generators embed.FS

// A random run tries random kernels and recipes, seed after seed.
type random struct {
	nvcc, work       string
	forms            []form
	kernels, recipes int
	jobs             int
	out              *os.File

	mu       sync.Mutex
	finished map[int64]bool
	count    map[string]int
}

// newRandom opens the file of results; seeds that it has in full are not tried again.
func newRandom(nvcc, out string) (*random, error) {
	r := &random{nvcc: nvcc, finished: map[int64]bool{}, count: map[string]int{}}
	var err error
	if r.out, err = os.OpenFile(out, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(r.out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Seed int64
			What string
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.What == "finished" {
			r.finished[line.Seed] = true
		}
	}
	return r, lines.Err()
}

// run tries seeds from the first on until there is no more time, or so many are done.
func (r *random) run(ctx context.Context, first int64, seeds int) error {
	var err error
	if r.work, err = os.MkdirTemp("", "gnvcc-keep-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	if err := os.CopyFS(r.work, generators); err != nil {
		return err
	}
	var next atomic.Int64
	next.Store(first)
	var all sync.WaitGroup
	for range r.jobs {
		all.Go(func() {
			for ctx.Err() == nil {
				seed := next.Add(1) - 1
				if seed >= first+int64(seeds) {
					return
				}
				if r.finished[seed] {
					continue
				}
				err := r.one(ctx, seed)
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					r.tell(Record{Seed: seed, What: "broken", Why: err.Error()})
				}
				r.tell(Record{Seed: seed, What: "finished"})
			}
		})
	}
	all.Wait()
	fmt.Printf("%v; next seed %d\n", r.count, next.Load())
	return r.out.Close()
}

// A file is one with kernels, launches and recipes of a seed.
type file struct {
	seed            int64
	generator, path string
	flags           string
	shapes          map[string]*shape
	recipes         []string // KERNEL RECIPE
}

// one tries a seed. Of eight, one is made by blocks.py, one is an example's form, three are made by
// rounding.py, three by ways.py.
func (r *random) one(ctx context.Context, seed int64) error {
	work := filepath.Join(r.work, fmt.Sprint(seed))
	if err := os.Mkdir(work, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(work)
	var f *file
	var err error
	switch n := seed % 8; {
	case n == 1 && len(r.forms) > 0:
		f = r.form(seed)
	case n == 3:
		f, err = r.generated(ctx, seed, "blocks.py", work)
	case n >= 5:
		f, err = r.generated(ctx, seed, "ways.py", work)
	default:
		f, err = r.generated(ctx, seed, "rounding.py", work)
	}
	if err != nil {
		return err
	}
	p, err := build(ctx, r.nvcc, f.path, work, strings.Fields(f.flags))
	if err != nil {
		// The generators also make kernels that no compiler takes.
		r.tell(Record{Seed: seed, Generator: f.generator, What: "no build", Why: err.Error()})
		return nil
	}
	var last *kernel
	done := map[string]bool{}
	for _, line := range f.recipes {
		name, recipe, _ := strings.Cut(line, " ")
		full, ok := p.named(name)
		if !ok || f.shapes[name] == nil || done[line] || ctx.Err() != nil {
			continue
		}
		done[line] = true
		if last == nil || last.shape != f.shapes[name] {
			last = &kernel{shape: f.shapes[name], seed: seed, did: map[string]*did{}}
		}
		out := Record{Seed: seed, Generator: f.generator, Flags: f.flags, Kernel: name, Recipe: recipe}
		p.try(ctx, full, last, &out)
		if ctx.Err() == nil {
			r.tell(out)
		}
	}
	return nil
}

// generated is a file that a generator makes.
func (r *random) generated(ctx context.Context, seed int64, generator, work string) (*file, error) {
	cmd := exec.CommandContext(ctx, "python3", filepath.Join(r.work, generator), fmt.Sprint(seed),
		fmt.Sprint(r.kernels), fmt.Sprint(r.recipes))
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", generator, err, out)
	}
	f := &file{seed: seed, generator: generator, path: filepath.Join(work, fmt.Sprint(seed, ".cu"))}
	text := map[string]string{}
	for _, is := range []string{"flags", "recipes", "launches"} {
		b, err := os.ReadFile(filepath.Join(work, fmt.Sprint(seed, ".", is)))
		if err != nil {
			return nil, err
		}
		text[is] = strings.TrimSpace(string(b))
	}
	f.flags, f.recipes = text["flags"], strings.Split(text["recipes"], "\n")
	var err error
	f.shapes, err = shapes(text["launches"])
	return f, err
}

// form is an example's file.
func (r *random) form(seed int64) *file {
	one := r.forms[int(seed/8)%len(r.forms)]
	s := one.shape
	f := &file{seed: seed, generator: "examples", path: one.file, shapes: map[string]*shape{s.kernel: s}}
	random := rand.New(rand.NewSource(seed))
	f.flags = []string{"", "", "", "-use_fast_math", "-ftz=true", "-fmad=false"}[random.Intn(6)]
	for range r.kernels * r.recipes {
		f.recipes = append(f.recipes, s.kernel+" "+s.recipe(random))
	}
	f.flags += " -std=c++17 -O3 -I" + filepath.Join(filepath.Dir(filepath.Dir(one.file)), "common")
	return f
}

// try compiles a variant and compares it.
func (p *project) try(ctx context.Context, full string, k *kernel, out *Record) {
	began := time.Now()
	v, err := p.variant(ctx, full, out.Recipe)
	out.Compiling = time.Since(began).Seconds()
	if err != nil {
		out.What, out.Why = "refused", err.Error()
		return
	}
	if err := k.compare(ctx, v, out); err != nil {
		out.What, out.Why = "can't", err.Error()
	}
}

// tell writes a line.
func (r *random) tell(out Record) {
	b, err := json.Marshal(out)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		_, err = r.out.Write(append(b, '\n'))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	what := out.What
	if out.What == "differs" {
		what += " in " + out.First.Stage
	}
	r.count[what]++
}
