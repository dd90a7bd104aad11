// The command line.

package main

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"gnvcc/bench/clock"
	"gnvcc/bench/command"
	"gnvcc/bench/machine"
	"gnvcc/bench/tree"
	"gnvcc/rewrite"
)

func main() { command.Main("levers", run) }

// exact are the levers whose results are the same bits.
func exact() string {
	var out []string
	for _, p := range rewrite.Levers() {
		if p.Exact < rewrite.Approximate {
			out = append(out, p.Lever)
		}
	}
	return strings.Join(out, ",")
}

func run(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("levers", flag.ContinueOnError)
	var b bench
	var variables command.List
	set.StringVar(&b.nvcc, "nvcc", "nvcc", "the real nvcc")
	set.StringVar(&b.gnvcc, "gnvcc", "gnvcc", "gnvcc")
	levers := set.String("levers", exact(), "the levers to run alone, separated by commas")
	compiler := set.String("compiler", "NVCC",
		"make variables that name the compiler, separated by commas")
	set.Var(&variables, "set", "NAME=VALUE, a make variable (may be repeated)")
	set.StringVar(&b.target, "target", "run", "the make target that runs a program")
	tuneFlags := set.String("tune", "", "further arguments of gnvcc tune, separated by spaces")
	names := set.String("programs", "",
		"file with the programs' names, one a line; else every folder with a Makefile")
	set.StringVar(&b.folder, "folder", "%", "folder of a program, % standing for its name")
	skip := set.String("skip", "", "names to leave out, separated by commas")
	work := set.String("work", "",
		"folder for copies, builds, stores and logs (kept); else a temporary one (removed)")
	set.StringVar(&b.results, "results", "levers.jsonl", "file for the raw results")
	tableOnly := set.Bool("table", false, "only print the table of -results")
	set.IntVar(&b.parallel, "j", runtime.NumCPU(), "builds at a time")
	set.IntVar(&b.runs, "runs", 3, "runs of each build under the clock")
	set.DurationVar(&b.budget, "budget", 6*time.Minute, "time for everything")
	set.DurationVar(&b.limits.build, "build-limit", 2*time.Minute, "time for one build")
	set.DurationVar(&b.limits.tune, "tune-limit", time.Minute, "time for one gnvcc tune")
	set.DurationVar(&b.limits.run, "run-limit", 30*time.Second, "time for one run")
	library := set.String("clock", "", "the clock's library, where it is not to be built")
	commit := set.String("commit", "", "gnvcc's commit, where there is no git")
	if err := set.Parse(args); err != nil {
		return err
	}
	if *tableOnly {
		done, err := readResults(b.results)
		if err != nil {
			return err
		}
		fmt.Print(table(done))
		return nil
	}
	switch {
	case set.NArg() != 1:
		return fmt.Errorf("which programs? name one folder")
	case b.runs < 1 || b.parallel < 1:
		return fmt.Errorf("-runs and -j must be at least 1")
	case !strings.Contains(b.folder, "%"):
		return fmt.Errorf("-folder %q has no %% for the name", b.folder)
	}
	if err := variables.Variables(); err != nil {
		return err
	}
	b.variables, b.compilers, b.tuneFlags = variables, strings.Split(*compiler, ","),
		strings.Fields(*tuneFlags)
	for _, lever := range strings.Split(*levers, ",") {
		if lever = strings.TrimSpace(lever); lever != "" {
			b.levers = append(b.levers, lever)
		}
	}
	err := command.Programs(&b.nvcc, &b.gnvcc)
	if err != nil {
		return err
	}
	if b.source, err = filepath.Abs(set.Arg(0)); err != nil {
		return err
	}
	if b.programs, err = tree.Programs(b.source, *names, b.folder, *skip); err != nil {
		return err
	}
	var remove func()
	b.work, remove, err = command.Work(*work, "levers", b.gnvcc)
	defer remove()
	if err != nil {
		return err
	}
	if b.clock = *library; b.clock == "" {
		if b.clock, err = clock.Build(ctx, machine.Toolkit(b.nvcc), b.work); err != nil {
			return err
		}
	}
	b.machine = machine.Gather(ctx, b.nvcc, b.gnvcc, *commit)
	b.say = func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	b.say("%s", b.machine)
	if err := b.run(ctx); err != nil {
		return err
	}
	done, err := readResults(b.results)
	if err != nil {
		return err
	}
	fmt.Print(table(done))
	return nil
}
