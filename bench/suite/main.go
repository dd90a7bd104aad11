// The command line.

package main

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"gnvcc/bench/clock"
	"gnvcc/bench/command"
	"gnvcc/bench/machine"
	"gnvcc/bench/tree"
)

func main() { command.Main("suite", run) }

func run(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("suite", flag.ContinueOnError)
	var s suite
	var variables command.List
	set.StringVar(&s.nvcc, "nvcc", "nvcc", "the real nvcc")
	set.StringVar(&s.gnvcc, "gnvcc", "gnvcc", "gnvcc")
	compiler := set.String("compiler", "NVCC",
		"make variables that name the compiler, separated by commas")
	set.Var(&variables, "set", "NAME=VALUE, a make variable (may be repeated)")
	set.StringVar(&s.target, "target", "run", "the make target that runs a program")
	tuneFlags := set.String("tune", "", "further arguments of gnvcc tune, separated by spaces")
	set.StringVar(&s.rebuild, "rebuild", "apply",
		"how the tuned program is built: apply (gnvcc apply, make) or clean (make clean, make)")
	names := set.String("programs", "",
		"file with the programs' names, one a line; else every folder with a Makefile")
	folder := set.String("folder", "%", "folder of a program, % standing for its name")
	skip := set.String("skip", "", "names to leave out, separated by commas")
	work := set.String("work", "",
		"folder for copies, builds, stores and logs (kept); else a temporary one (removed)")
	results := set.String("results", "suite.jsonl", "file for the raw results")
	set.BoolVar(&s.retry, "retry", false, "do programs again that failed")
	set.BoolVar(&s.builds, "builds", false,
		"measure clean builds, too: nvcc's, and gnvcc's first and second with recipes")
	tableOnly := set.Bool("table", false, "only print the table of -results")
	set.BoolVar(&s.onlyAgain, "again", false,
		"only -other and -replay, for programs that an earlier call with this -work has measured")
	other := set.String("other", "",
		"with -again: file with a line a program, its name and a command with other arguments to clock")
	replay := set.String("replay", "",
		"with -again: arguments of gnvcc replay, separated by spaces; none: it is not run")
	kernels := set.Bool("kernels", false, "print every kernel, too")
	byLever := set.Bool("levers", false, "print what each lever did, too")
	oneLever := set.String("lever", "", "print every kernel in which a `lever` was tried, too")
	set.IntVar(&s.parallel, "j", runtime.NumCPU(), "builds at a time")
	set.IntVar(&s.runs, "runs", 3, "runs of each build under the clock, at least 2")
	set.DurationVar(&s.budget, "budget", time.Hour, "time for everything")
	set.DurationVar(&s.limits.build, "build-limit", 5*time.Minute, "time for one build")
	set.DurationVar(&s.limits.tune, "tune-limit", 5*time.Minute, "time for one gnvcc tune")
	set.DurationVar(&s.limits.run, "run-limit", time.Minute, "time for one run")
	set.DurationVar(&s.threshold, "threshold", 20*time.Microsecond,
		"programs count in the mean that have a kernel at least so long")
	library := set.String("clock", "", "the clock's library, where it is not to be built")
	commit := set.String("commit", "", "gnvcc's commit, where there is no git")
	if err := set.Parse(args); err != nil {
		return err
	}
	s.results = *results
	tables := func() error { return s.tables(*kernels, *byLever, *oneLever) }
	if *tableOnly {
		return tables()
	}
	if err := s.check(set.NArg(), *work, *other+*replay, *folder); err != nil {
		return err
	}
	if err := variables.Variables(); err != nil {
		return err
	}
	s.variables, s.compilers, s.tuneFlags = variables, strings.Split(*compiler, ","),
		strings.Fields(*tuneFlags)
	s.replay, s.folder = strings.Fields(*replay), *folder
	err := s.find(set.Arg(0), *names, *skip, *other)
	if err != nil {
		return err
	}
	var remove func()
	s.work, remove, err = command.Work(*work, "suite", s.gnvcc)
	defer remove()
	if err != nil {
		return err
	}
	if s.clock = *library; s.clock == "" {
		s.clock, err = clock.Build(ctx, machine.Toolkit(s.nvcc), s.work)
	}
	if err != nil {
		return err
	}
	s.machine = machine.Gather(ctx, s.nvcc, s.gnvcc, *commit)
	s.say = func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	s.say("%s", s.machine)
	if err := s.run(ctx); err != nil {
		return err
	}
	return tables()
}

// find looks for the compilers, the programs in a folder, and their other arguments.
func (s *suite) find(source, names, skip, other string) error {
	err := command.Programs(&s.nvcc, &s.gnvcc)
	if err != nil {
		return err
	}
	if s.others, err = others(other); err != nil {
		return err
	}
	if s.source, err = filepath.Abs(source); err != nil {
		return err
	}
	s.names, err = tree.Programs(s.source, names, s.folder, skip)
	return err
}

// check tells what is wrong with the flags; again are those that go with -again.
func (s *suite) check(folders int, work, again, folder string) error {
	switch {
	case folders != 1:
		return fmt.Errorf("which programs? name one folder")
	case s.runs < 2:
		return fmt.Errorf("-runs %d: two are needed to know what a program prints each time", s.runs)
	case s.parallel < 1:
		return fmt.Errorf("-j %d: at least 1", s.parallel)
	case s.rebuild != "apply" && s.rebuild != "clean":
		return fmt.Errorf("-rebuild %q: apply or clean", s.rebuild)
	case s.onlyAgain && work == "" || !s.onlyAgain && again != "":
		return fmt.Errorf("-again goes with -work, and -other and -replay with -again")
	case !strings.Contains(folder, "%"):
		return fmt.Errorf("-folder %q has no %% for the name", folder)
	}
	return nil
}

// tables prints what stands in the file of results.
func (s *suite) tables(kernels, byLever bool, oneLever string) error {
	done, err := readResults(s.results)
	if err != nil {
		return err
	}
	fmt.Print(table(done, s.threshold, kernels))
	counted := slices.DeleteFunc(done, func(r Result) bool {
		return r.Failed != "" || r.Ratio() == 0 || time.Duration(r.Longest()) < s.threshold
	})
	if byLever {
		fmt.Print(leverTable(counted))
	}
	if oneLever != "" {
		fmt.Print(kernelTable(counted, oneLever))
	}
	return nil
}
