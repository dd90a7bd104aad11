package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"

	"gnvcc/bench/lab"
)

// Random kernels and recipes: those of bench/rounding, which there run on a GPU. Even seeds are
// kernels in which rounding matters, odd ones those in which it matters which thread is in which
// block.

// A fuzz is what random kernels are tried with.
type fuzz struct {
	nvcc, generators, keep   string
	kernels, recipes, rounds int
	jobs                     int
	say                      func(line string)

	mu    sync.Mutex
	count map[string]int
	cant  map[string]int // why, in short
}

// seeds tries so many files, and counts verdicts; bad are those that give other results.
func (f *fuzz) seeds(ctx context.Context, first int64, n int) (bad int) {
	f.count, f.cant = map[string]int{}, map[string]int{}
	list := make([]int64, n)
	for k := range list {
		list[k] = first + int64(k)
	}
	lab.Each(f.jobs, list, func(seed int64) {
		if err := f.one(ctx, seed); err != nil && ctx.Err() == nil {
			f.tell(verdict{what: "broken", why: err.Error()}, fmt.Sprintf("seed %d", seed))
		}
	})
	return f.count["OTHER"] + f.count["FAULT"] + f.count["broken"]
}

// one makes the kernels and recipes of a seed and tries them.
func (f *fuzz) one(ctx context.Context, seed int64) error {
	work, err := os.MkdirTemp("", "gnvcc-emulate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	generator := "kernel.py"
	if seed%2 != 0 {
		generator = "blocks.py"
	}
	cmd := exec.CommandContext(ctx, "python3", filepath.Join(f.generators, generator), fmt.Sprint(seed),
		fmt.Sprint(f.kernels), fmt.Sprint(f.recipes))
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", generator, err, out)
	}
	name := filepath.Join(work, fmt.Sprint(seed))
	flags, err := os.ReadFile(name + ".flags")
	if err != nil {
		return err
	}
	lines, err := os.ReadFile(name + ".recipes")
	if err != nil {
		return err
	}
	p, err := build(ctx, f.nvcc, name+".cu", work, strings.Fields(string(flags)))
	if err != nil {
		// The generators also make kernels that no compiler takes.
		f.tell(verdict{what: "can't", why: "it does not build"}, fmt.Sprintf("seed %d", seed))
		return nil
	}
	o := options{grid: [3]int{2, 1, 1}, block: [3]int{64, 1, 1}, rounds: f.rounds, bytes: 1 << 18,
		seed: seed, first: int(seed)}
	for _, line := range strings.Split(strings.TrimSpace(string(lines)), "\n") {
		words := strings.SplitN(line, " ", 3)
		if len(words) < 3 || ctx.Err() != nil {
			continue
		}
		k, ok := p.named(words[1])
		if !ok {
			continue
		}
		v := p.try(ctx, k, words[2], o)
		what := fmt.Sprintf("seed %d %s %s [%s]", seed, words[1], words[2], flags)
		f.tell(v, what)
		if (v.what == "OTHER" || v.what == "FAULT") && f.keep != "" {
			f.put(name + ".cu")
		}
	}
	return nil
}

// put keeps a file that has shown something.
func (f *fuzz) put(file string) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(filepath.Join(f.keep, filepath.Base(file)), text, 0o644)
	}
	if err != nil {
		f.say(err.Error())
	}
}

// tell counts a verdict, and says what is worth a line.
func (f *fuzz) tell(v verdict, of string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count[v.what]++
	switch v.what {
	case "can't":
		f.cant[shortly(v.why)]++
	case "OTHER", "FAULT", "NaN", "broken":
		note := ""
		if v.approximate {
			note = " (special functions, modelled)"
		}
		f.say(fmt.Sprintf("%s %s: %s%s", v.what, of, v.why, note))
	}
}

// shortly is a reason without places and numbers.
func shortly(why string) string {
	if _, rest, ok := strings.Cut(why, " at 0x"); ok {
		if _, rest, ok = strings.Cut(rest, ": "); ok {
			why = rest
		}
	}
	words := strings.Fields(why)
	if len(words) > 12 {
		words = words[:12]
	}
	for n, w := range words {
		if strings.ContainsAny(w, "0123456789") {
			words[n] = "..."
		}
	}
	return strings.Join(words, " ")
}

// String is a table of what came of all.
func (f *fuzz) String() string {
	var b strings.Builder
	var list []string
	for what, n := range f.count {
		list = append(list, fmt.Sprintf("%s %d", what, n))
	}
	sort.Strings(list)
	fmt.Fprintln(&b, strings.Join(list, ", "))
	list = nil
	for why, n := range f.cant {
		list = append(list, fmt.Sprintf("%6d can't: %s", n, why))
	}
	sort.Sort(sort.Reverse(sort.StringSlice(list)))
	fmt.Fprint(&b, strings.Join(list[:min(len(list), 12)], "\n"))
	return b.String()
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
