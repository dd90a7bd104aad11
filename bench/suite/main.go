// The command line.

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"gnvcc/bench/lab"
)

func main() { lab.Main("suite", run) }

// asked is what the command line says besides the suite's own fields.
type asked struct {
	compiler, tune, programs, folder, skip, work, other, clock, commit, expect, gpu string

	variables               lab.List
	table, kernels, byLever bool
	each                    int
	chart                   string
}

// flags are suite's options.
func flags(s *suite, a *asked) *flag.FlagSet {
	set := flag.NewFlagSet("suite", flag.ContinueOnError)
	set.StringVar(&s.nvcc, "nvcc", "nvcc", "the real nvcc")
	set.StringVar(&s.gnvcc, "gnvcc", "gnvcc", "gnvcc")
	set.StringVar(&a.compiler, "compiler", "NVCC",
		"make variables that name the compiler, separated by commas")
	set.Var(&a.variables, "set", "NAME=VALUE, a make variable (may be repeated)")
	set.StringVar(&s.target, "target", "run", "the make target that runs a program")
	set.StringVar(&s.figures, "figures", "",
		"make target that prints the own figures of the run before it, NAME VALUE UNIT more|less")
	set.StringVar(&a.tune, "tune", "", "further arguments of gnvcc tune, separated by spaces")
	set.StringVar(&a.programs, "programs", "",
		"file with the programs' names, one a line; else every folder with a Makefile")
	set.StringVar(&a.folder, "folder", "%", "folder of a program, % standing for its name")
	set.StringVar(&a.skip, "skip", "", "names to leave out, separated by commas")
	set.StringVar(&a.work, "work", "",
		"folder for copies, builds, stores and logs (kept); else a temporary one (removed)")
	set.StringVar(&s.results, "results", "suite.jsonl", "file for the raw results")
	set.BoolVar(&s.retry, "retry", false, "do programs again that failed")
	set.BoolVar(&a.table, "table", false, "only print the table of -results")
	set.BoolVar(&s.onlyAgain, "again", false,
		"only -other, for programs that an earlier call with this -work has measured")
	set.StringVar(&a.other, "other", "",
		"with -again: file with a line a program, its name and a command with other arguments to clock")
	set.BoolVar(&a.kernels, "kernels", false, "print every kernel, too")
	set.BoolVar(&a.byLever, "levers", false, "print what each lever did, too")
	set.StringVar(&a.chart, "chart", "", "draw the ratios of programs that count in the mean, as SVG, into this `file`, too")
	set.IntVar(&s.parallel, "j", runtime.NumCPU(), "builds at a time")
	set.IntVar(&s.runs, "runs", 3, "runs of each build under the clock, at least 2: in every second one kernels are kept apart")
	set.IntVar(&s.alone, "alone", 2,
		"runs of nvcc's build to compare the run under tune with: 2, one before and one after it, 1 or 0")
	set.DurationVar(&s.budget, "budget", time.Hour, "time for everything")
	set.DurationVar(&s.limits.build, "build-limit", 5*time.Minute, "time for one build")
	set.DurationVar(&s.limits.tune, "tune-limit", 5*time.Minute, "time for one gnvcc tune")
	set.DurationVar(&s.limits.run, "run-limit", time.Minute, "time for one run")
	set.DurationVar(&s.threshold, "threshold", 20*time.Microsecond,
		"programs count in the mean that have a kernel at least so long")
	set.IntVar(&a.each, "each", 0,
		"run so many suites on each GPU of this machine, all with this -work and these -results")
	set.StringVar(&a.gpu, "gpu", "", "suites that share a GPU and -work call it by the same name")
	set.IntVar(&s.ahead, "ahead", 3,
		"programs to build while one is on the GPU, which other suites can't take then")
	set.StringVar(&a.expect, "expect", "",
		"earlier results: no program is begun for which less time is left than its tuning took then")
	set.StringVar(&a.clock, "clock", "", "the clock's library, where it is not to be built")
	set.StringVar(&a.commit, "commit", "", "gnvcc's commit, where there is no git")
	return set
}

func run(ctx context.Context, args []string) error {
	var s suite
	var a asked
	set := flags(&s, &a)
	if err := set.Parse(args); err != nil {
		return err
	}
	tables := func() error { return s.tables(&a) }
	if a.table {
		return tables()
	}
	if err := s.check(set.NArg(), a.work, a.other, a.folder); err != nil {
		return err
	}
	if err := a.variables.Variables(); err != nil {
		return err
	}
	s.variables, s.compilers, s.tuneFlags = a.variables, strings.Split(a.compiler, ","),
		strings.Fields(a.tune)
	s.folder = a.folder
	err := s.find(set.Arg(0), a.programs, a.skip, a.other)
	if err != nil {
		return err
	}
	if s.expected, err = briefs(a.expect); err != nil {
		return err
	}
	var remove func()
	s.work, remove, err = lab.Work(a.work, "suite", s.gnvcc)
	defer remove()
	if err != nil {
		return err
	}
	s.claims, s.gpuLock = filepath.Join(s.work, "claims"), filepath.Join(s.work, "gpu"+a.gpu)
	if err := os.MkdirAll(s.claims, 0o755); err != nil {
		return err
	}
	if a.each > 0 {
		err := s.everyGPU(ctx, a.each, args)
		return errors.Join(err, tables())
	}
	if s.clock = a.clock; s.clock == "" {
		s.clock, err = lab.BuildClock(ctx, lab.Toolkit(s.nvcc), s.work)
	}
	if err != nil {
		return err
	}
	s.machine = lab.Gather(ctx, s.nvcc, s.gnvcc, a.commit)
	s.say = func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	s.say("%s", s.machine)
	if err := s.run(ctx); err != nil {
		return err
	}
	return tables()
}

// find looks for the compilers, the programs in a folder, and their other arguments.
func (s *suite) find(source, names, skip, other string) error {
	err := lab.Tools(&s.nvcc, &s.gnvcc)
	if err != nil {
		return err
	}
	if s.others, err = others(other); err != nil {
		return err
	}
	if s.source, err = filepath.Abs(source); err != nil {
		return err
	}
	s.names, err = lab.Programs(s.source, names, s.folder, skip)
	return err
}

// check says what is wrong with the flags.
func (s *suite) check(folders int, work, other, folder string) error {
	switch {
	case folders != 1:
		return fmt.Errorf("which programs? name one folder")
	case s.runs < 2:
		return fmt.Errorf("-runs %d: two are needed to know what a program prints each time", s.runs)
	case s.alone < 0 || s.alone > 2:
		return fmt.Errorf("-alone %d: 0 to 2", s.alone)
	case s.parallel < 1:
		return fmt.Errorf("-j %d: at least 1", s.parallel)
	case s.ahead < 1:
		return fmt.Errorf("-ahead %d: at least 1", s.ahead)
	case s.onlyAgain != (other != "") || s.onlyAgain && work == "":
		return fmt.Errorf("-again goes with -work and -other, and -other with -again")
	case !strings.Contains(folder, "%"):
		return fmt.Errorf("-folder %q has no %% for the name", folder)
	}
	return nil
}

// tables prints what stands in the file of results.
func (s *suite) tables(a *asked) error {
	done, err := readResults(s.results)
	if err != nil {
		return err
	}
	fmt.Print(table(done, s.threshold, a.kernels))
	counted := slices.DeleteFunc(done, func(r Result) bool {
		return r.Failed != "" || r.Ratio() == 0 || time.Duration(r.Longest()) < s.threshold
	})
	if a.byLever {
		fmt.Print(leverTable(counted))
	}
	if a.chart != "" {
		return draw(a.chart, counted)
	}
	return nil
}
