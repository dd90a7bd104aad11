package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"

	"gnvcc/cache"
	"gnvcc/driver/compile"
	"gnvcc/driver/record"
	"gnvcc/policy/lever"
	"gnvcc/rewrite"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
	"gnvcc/sim/predict"
	"gnvcc/sim/sass"
)

// A trial is a candidate that was measured once and is built again now.
type trial struct {
	recipe   string
	ratio    float64 // measured, over the default's
	ranked   predict.Ranked
	run      predict.Run
	estimate predict.Estimate
	paper    float64 // RegDem's time, over the default's
}

// A kernel is one decision with its trials; the first is the default.
type kernel struct {
	program, name, device string
	dynamic               int // shared memory of its heaviest launch, bytes
	trials                []trial
	// trials that are not looked at: not exact by construction, not to be built here, not alone
	left int
}

// A gatherer finds decisions and builds their trials.
type gatherer struct {
	reports, stores string
	least           float64 // nanoseconds
	alone           bool    // recipes of one lever only
	registers       bool    // recipes for registers only
	jobs            int
	say             io.Writer
}

// halfOf is the half of the programs that one belongs to.
func halfOf(program string) string {
	if sum := sha256.Sum256([]byte(program)); sum[0]&1 == 1 {
		return "b"
	}
	return "a"
}

// gather builds the trials of all programs, or of a half.
func (g *gatherer) gather(ctx context.Context, half string) ([]kernel, error) {
	files, err := filepath.Glob(filepath.Join(g.reports, "*.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no reports in %q", g.reports)
	}
	found := make([][]kernel, len(files))
	notes := make([]strings.Builder, len(files))
	slots := make(chan struct{}, max(1, g.jobs))
	var all sync.WaitGroup
	for n, file := range files {
		program := strings.TrimSuffix(filepath.Base(file), ".json")
		if half != "" && half != halfOf(program) {
			continue
		}
		all.Add(1)
		go func() {
			defer all.Done()
			slots <- struct{}{}
			defer func() { <-slots }()
			var err error
			if found[n], err = g.program(ctx, program, file, &notes[n]); err != nil {
				fmt.Fprintf(&notes[n], "left out: %s: %v\n", program, err)
			}
		}()
	}
	all.Wait()
	var out []kernel
	for n := range files {
		io.WriteString(g.say, notes[n].String())
		out = append(out, found[n]...)
	}
	return out, ctx.Err()
}

// program builds the trials of one.
func (g *gatherer) program(ctx context.Context, program, report string,
	notes io.Writer) ([]kernel, error) {
	all, err := readReport(report)
	if err != nil {
		return nil, err
	}
	c, built, remove, err := openRebuilt(ctx, filepath.Join(g.stores, program))
	if err != nil {
		return nil, err
	}
	defer remove()
	b := builder{g: g, c: c, built: built}
	var out []kernel
	for _, d := range all {
		k, err := b.kernel(ctx, d)
		if err != nil {
			fmt.Fprintf(notes, "left out: %s, %s: %v\n", program, ptx.ShortName(d.Kernel), err)
			continue
		}
		k.program = program
		out = append(out, k)
	}
	return out, nil
}

// A builder builds one program's trials.
type builder struct {
	g     *gatherer
	c     *compile.Compiler
	built map[string]record.BuiltKernel
}

// kernel builds one decision's trials.
func (b *builder) kernel(ctx context.Context, d cache.Decision) (kernel, error) {
	ev := d.Evidence
	k := kernel{name: ptx.ShortName(d.Kernel), device: ev.Device}
	heaviest, err := heaviestOf(d, b.g.least)
	if err != nil {
		return k, err
	}
	was, ok := b.built[d.Identity]
	if !ok {
		return k, errAbsent
	}
	source, err := b.c.Kernel(was.Assembly.Cubin, was.Name)
	if err != nil {
		return k, err
	}
	k.dynamic = heaviest.Dynamic
	base, plain, err := b.trial(ctx, source, recipe.Recipe{}, heaviest)
	if err != nil {
		return k, fmt.Errorf("nvcc's own build: %w", err)
	}
	base.ratio = 1
	k.trials = []trial{base}
	seen := map[string]bool{}
	for _, t := range ev.Tried {
		r, err := recipe.Parse(t.Recipe)
		worst := rewrite.ByConstruction
		if b.g.registers { // demotion is exact as checked
			worst = rewrite.Checked
		}
		if t.Ratio <= 0 || err != nil || rewrite.ExactnessOf(r) > worst ||
			seen[t.Recipe] || b.g.alone && lever.Of(r) == "" || b.g.registers && !onRegisters(t.Recipe) {
			k.left++
			continue
		}
		seen[t.Recipe] = true
		made, code, err := b.trial(ctx, source, r, heaviest)
		if ctx.Err() != nil {
			return k, ctx.Err()
		}
		// then it could not be taken without being run
		if err != nil || sass.SameEntries(plain, d.Kernel, code, made.run.Function.Name) != nil {
			k.left++
			continue
		}
		made.ratio = t.Ratio
		k.trials = append(k.trials, made)
	}
	if len(k.trials) < 2 || len(k.trials) < 4 && !b.g.registers {
		return k, fmt.Errorf("only %d of %d trials are of the kind that is asked for", len(k.trials)-1,
			len(ev.Tried))
	}
	// The report has them by what was measured, which no predictor may know.
	sort.SliceStable(k.trials[1:], func(i, j int) bool {
		return k.trials[i+1].recipe < k.trials[j+1].recipe
	})
	k.rankByPaper()
	return k, k.rank()
}

// rank predicts all trials as gnvcc predict does.
func (k *kernel) rank() error {
	var list []predict.Candidate
	at := map[string]int{}
	for n, t := range k.trials {
		at[t.recipe] = n
		list = append(list, predict.Candidate{Recipe: t.recipe, Run: t.run})
	}
	ranked, err := predict.Rank(list[0], list)
	for _, r := range ranked {
		k.trials[at[r.Recipe]].ranked = r
	}
	return err
}

func volume(v [3]int) int { return v[0] * v[1] * v[2] }

// trial builds one candidate and predicts it.
func (b *builder) trial(ctx context.Context, s *compile.Source, r recipe.Recipe,
	l cache.Launch) (t trial, code []byte, err error) {
	made, err := b.c.Compile(ctx, s, r)
	if err != nil {
		return t, nil, err
	}
	if code, err = os.ReadFile(made.Path); err != nil {
		return t, nil, err
	}
	cc := ptx.Capability(s.Target)
	d, ok := sim.Lookup(cc)
	if !ok {
		return t, nil, fmt.Errorf("%s is not in the table of architectures", s.Target)
	}
	u, err := predict.ForArchitecture(cc)
	if err != nil {
		return t, nil, err
	}
	grid, block, ok := made.Manner.Launch(l.Grid, l.Block)
	if !ok {
		return t, nil, fmt.Errorf("%s: %v blocks of %v can't be launched so", r, l.Grid, l.Block)
	}
	shape := sim.Shape{Threads: volume(block), Blocks: volume(grid),
		Shared: l.Dynamic + made.Manner.Reserve.Dynamic}
	t.recipe = r.String()
	if t.run, err = predict.NewRun(code, made.Entry, d, shape, u); err != nil {
		return t, nil, err
	}
	t.estimate, err = t.run.Estimate()
	return t, code, err
}
