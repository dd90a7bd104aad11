// The steps: builds beside each other, the GPU one by one.

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"gnvcc/bench/clock"
	"gnvcc/bench/command"
	"gnvcc/bench/jsonl"
	"gnvcc/bench/machine"
	"gnvcc/bench/step"
	"gnvcc/bench/tree"
)

type bench struct {
	nvcc, gnvcc    string
	compilers      []string // make variables that name the compiler
	variables      []string // NAME=VALUE
	target         string
	tuneFlags      []string
	levers         []string
	source, folder string
	programs       []string
	work, results  string
	clock          string
	parallel, runs int
	budget         time.Duration
	limits         struct{ build, tune, run time.Duration }
	machine        machine.Facts
	say            func(format string, args ...any)
}

// dir is a program's folder in a copy: "plain" (no recipes), or one for a lever.
func (b *bench) dir(copy, program string) string {
	return filepath.Join(b.work, "trees", program+"."+copy, filepath.Base(b.source),
		strings.ReplaceAll(b.folder, "%", program))
}

// store is that of a program's plain build, or a copy of it in which a lever was tuned.
func (b *bench) store(copy, program string) string {
	return filepath.Join(b.work, "stores", program+"."+copy)
}

// make gives the command of some targets in a copy, with a store.
func (b *bench) make(copy, store, program string, targets ...string) step.Step {
	argv := []string{"make", "-s", "--no-print-directory"}
	for _, v := range b.compilers {
		argv = append(argv, v+"="+b.gnvcc)
	}
	return step.Step{Argv: append(append(argv, b.variables...), targets...), Dir: b.dir(copy, program),
		Env: []string{"GNVCC_NVCC=" + b.nvcc, "GNVCC_STORE=" + b.store(store, program)}}
}

// do runs a step and keeps what it printed in work/logs.
func (b *bench) do(ctx context.Context, program, what string, s step.Step,
	limit time.Duration) (step.Result, error) {
	return s.Logged(ctx, filepath.Join(b.work, "logs"), program, what, limit)
}

// build makes a copy of a program and builds it with gnvcc and a store.
func (b *bench) build(ctx context.Context, copy, store, program string) error {
	if err := tree.Copy(b.source, filepath.Base(b.dir(copy, program)), filepath.Join(b.work, "trees",
		program+"."+copy)); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	// What stands there built, by whatever compiler, must not pass for ours. Not every Makefile has a
	// clean.
	_, _ = b.do(ctx, program, "clean "+copy, b.make(copy, store, program, "clean"), b.limits.build)
	_, err := b.do(ctx, program, "build "+copy, b.make(copy, store, program), b.limits.build)
	return err
}

// tune runs a program once, with a lever or with all.
func (b *bench) tune(ctx context.Context, program, lever string) (Result, error) {
	r := Result{Program: program, Lever: lever, Machine: b.machine}
	dir := b.store(lever, program)
	if err := os.RemoveAll(dir); err != nil {
		return r, err
	}
	if err := os.CopyFS(dir, os.DirFS(b.store("plain", program))); err != nil {
		return r, fmt.Errorf("copy the store: %w", err)
	}
	run := b.make("plain", lever, program, b.target)
	words := append([]string{b.gnvcc, "tune"}, b.tuneFlags...)
	if lever != together {
		words = append(words, "-levers", lever)
	}
	run.Argv = append(append(words, "--"), run.Argv...)
	took, err := b.do(ctx, program, "tune "+lever, run, b.limits.tune)
	if err != nil {
		return r, err
	}
	r.Tune = took.Wall.Seconds()
	decisions, err := decided(dir)
	if err != nil {
		return r, fmt.Errorf("read the store: %w", err)
	}
	r.Kernels = kernels(decisions, lever)
	return r, nil
}

// measure runs the plain build and that with a lever's recipes in turn under the clock.
func (b *bench) measure(ctx context.Context, r *Result) error {
	copies := []string{"plain", r.Lever}
	for i := range b.runs {
		for n := range copies {
			which := (n + i) & 1 // who goes first changes
			file := filepath.Join(b.work, "times", fmt.Sprintf("%s.%s.%d.%d.csv", r.Program, r.Lever, which,
				i))
			reading, err := clock.Under(b.clock, file, func(env []string) error {
				run := b.make(copies[which], r.Lever, r.Program, b.target)
				run.Env = append(run.Env, env...)
				_, err := b.do(ctx, r.Program, fmt.Sprintf("run %s %d.%d", r.Lever, which, i), run,
					b.limits.run)
				return err
			})
			if err != nil {
				return err
			}
			r.Lost += reading.Lost
			if which == 0 {
				r.Before = append(r.Before, reading.Total())
			} else {
				r.After = append(r.After, reading.Total())
			}
		}
	}
	return nil
}

// A rebuilt is a result whose program has been built with its recipes.
type rebuilt struct {
	Result
	err error
}

// run does everything: all levers of a program after each other, and what they need to be built
// beside.
func (b *bench) run(ctx context.Context) error {
	end := time.Now().Add(b.budget)
	lastTune := end.Add(-b.budget / 10) // what is ready is still clocked in the last tenth
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	done, err := readResults(b.results)
	if err != nil {
		return err
	}
	have := map[string]Result{}
	for _, r := range done {
		have[r.key()] = r
	}
	var todo []string
	for _, p := range b.programs {
		for _, lever := range append([]string{together}, b.levers...) {
			if _, ok := have[p+"\x00"+lever]; !ok {
				todo = append(todo, p)
				break
			}
		}
	}
	b.say("%d programs, %d of them with all results in %s", len(b.programs), len(b.programs)-len(todo),
		b.results)
	slots := make(chan struct{}, b.parallel)
	failed := b.buildAll(ctx, todo, slots)

	unfinished := 0
	keep := func(r Result, err error) error {
		if err != nil && ctx.Err() != nil {
			unfinished++
			return nil
		}
		if err != nil {
			r.Failed = err.Error()
		}
		b.say("%-16s %-10s %s", r.Program, r.Lever, r.short())
		return jsonl.Append(b.results, r)
	}
	ready := make(chan rebuilt, len(todo)*(len(b.levers)+1))
	rebuilding := 0
	clocked := func(r rebuilt) error {
		rebuilding--
		if r.err == nil {
			r.err = b.measure(ctx, &r.Result)
		}
		return keep(r.Result, r.err)
	}
	// one tunes a program with a lever, and has it built again where something was adopted.
	one := func(program, lever string) (Result, error) {
		r, err := b.tune(ctx, program, lever)
		if err != nil || !r.Adopted() {
			return r, keep(r, err)
		}
		rebuilding++
		go func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			ready <- rebuilt{r, b.build(ctx, lever, lever, program)}
		}()
		for {
			select {
			case again := <-ready:
				if err := clocked(again); err != nil {
					return r, err
				}
			default:
				return r, nil
			}
		}
	}
	for _, program := range todo {
		if err := failed[program]; err != nil {
			if err := keep(Result{Program: program, Lever: together, Machine: b.machine}, err); err != nil {
				return err
			}
			continue
		}
		// The run with all levers is done again where only single ones are missing: its store says what
		// they would try.
		all, err := Result{}, error(nil)
		if ctx.Err() != nil || time.Now().After(lastTune) {
			unfinished++
			continue
		}
		if _, ok := have[program+"\x00"+together]; ok {
			all, err = b.tune(ctx, program, together)
		} else {
			all, err = one(program, together)
		}
		if err != nil {
			return err
		}
		if all.Kernels == nil {
			continue
		}
		decisions, err := decided(b.store(together, program))
		if err != nil {
			return err
		}
		for _, lever := range b.levers {
			if _, ok := have[program+"\x00"+lever]; ok {
				continue
			}
			if ctx.Err() != nil || time.Now().After(lastTune) {
				unfinished++
				continue
			}
			alone := Result{Program: program, Lever: lever, Machine: b.machine, Kernels: kernels(decisions,
				lever)}
			if alone.Nothing = nothing(decisions, lever); alone.Nothing != "" {
				for i := range alone.Kernels {
					alone.Kernels[i].Recipe = "" // that of all levers
				}
				if err := jsonl.Append(b.results, alone); err != nil {
					return err
				}
				continue
			}
			if _, err := one(program, lever); err != nil {
				return err
			}
		}
	}
	for rebuilding > 0 {
		if err := clocked(<-ready); err != nil {
			return err
		}
	}
	if unfinished > 0 {
		b.say("%d were not finished within %v; run again to go on", unfinished, b.budget)
	}
	return nil
}

// buildAll builds the programs without recipes, in parallel; it returns the errors.
func (b *bench) buildAll(ctx context.Context, programs []string,
	slots chan struct{}) map[string]error {
	start := time.Now()
	failed := map[string]error{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, p := range programs {
		all.Add(1)
		go func() {
			defer all.Done()
			slots <- struct{}{}
			defer func() { <-slots }()
			if err := os.RemoveAll(b.store("plain", p)); err != nil {
				mu.Lock()
				failed[p] = err
				mu.Unlock()
				return
			}
			if err := b.build(ctx, "plain", "plain", p); err != nil {
				mu.Lock()
				failed[p] = err
				mu.Unlock()
			}
		}()
	}
	all.Wait()
	b.say("built %d of %d programs in %.0f s", len(programs)-len(failed), len(programs),
		time.Since(start).Seconds())
	return failed
}

func (r Result) short() string {
	switch {
	case r.Failed != "":
		return r.Failed
	case r.Adopted():
		var recipes []string
		for _, k := range r.Kernels {
			if k.Recipe != "" {
				recipes = append(recipes, k.Recipe)
			}
		}
		return fmt.Sprintf("%.3f times as fast (%.3f ms -> %.3f ms), tuned in %.1f s: %s", r.SpeedUp(),
			float64(command.Median(r.Before))/1e6,
			float64(command.Median(r.After))/1e6, r.Tune, strings.Join(recipes, "; "))
	}
	return fmt.Sprintf("not adopted (fastest in the race %.3f), tuned in %.1f s", r.Candidate(),
		r.Tune)
}
