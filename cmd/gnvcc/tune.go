package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"gnvcc/driver/environment"
	"gnvcc/driver/toolkit"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/lever"
	"gnvcc/policy/report"
	"gnvcc/policy/selection"
	"gnvcc/policy/tuner"
	"gnvcc/profile"
	"gnvcc/rewrite"
)

const tuneAbout = `Runs a program that was built with gnvcc, and finds out from its own launches which kernels can be faster, and how. Some
launches are captured: the memory that they reach is read, and nothing is written, so that output, results and exit code
are the program's own. When it has ended, gnvcc replays these launches in processes of its own, and searches there. The
recipes found are kept; gnvcc apply (or --apply) builds with them.`

// seconds is a time that may be given as a number of seconds: 60, or 1m30s.
type seconds time.Duration

func (s *seconds) String() string { return time.Duration(*s).String() }
func (s *seconds) Type() string   { return "time" }
func (s *seconds) Set(text string) error {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		if !(n >= 0 && n < 1e9) {
			return errors.New("expected a number of seconds, or a time such as 1m30s or 30d")
		}
		*s = seconds(n * float64(time.Second))
		return nil
	}
	if n, ok := strings.CutSuffix(text, "d"); ok { // days
		if days, err := strconv.ParseUint(n, 10, 16); err == nil {
			*s = seconds(time.Duration(days) * 24 * time.Hour)
			return nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return errors.New("expected a number of seconds, or a time such as 1m30s or 30d")
	}
	*s = seconds(d)
	return nil
}

// size is a number of bytes that may be given as 512M or 8G.
type size int64

func (s *size) String() string { return strconv.FormatInt(int64(*s), 10) }
func (s *size) Type() string   { return "memory" }
func (s *size) Set(text string) error {
	unit := map[byte]int64{'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}
	short, factor := strings.TrimSuffix(strings.ToUpper(text), "B"), int64(1)
	if n := len(short); n > 0 && unit[short[n-1]] > 0 {
		short, factor = short[:n-1], unit[short[n-1]]
	}
	n, err := strconv.ParseInt(short, 10, 64)
	if err != nil || n <= 0 || n > 1<<50/factor {
		return errors.New("a size is a number of bytes, or like 512M or 8G")
	}
	*s = size(n * factor)
	return nil
}

// within is the bound on errors as an option.
type within struct{ *policy.Bound }

func (within) Type() string { return "error" }

// tuneVerb runs an application under the agent and keeps what was decided.
func tuneVerb() *cobra.Command {
	o := policy.Defaults()
	o.Version = ownVersion()
	c := newVerb("tune [OPTIONS] [--] PROGRAM [ARGUMENTS]", "run a program and find recipes for its kernels; --apply builds with them", tuneAbout, arguments(0, -1))
	fs := c.Flags()
	commandBehind(c)
	applyToo := fs.Bool("apply", false, "rebuild what can be faster, as gnvcc apply does")
	exact := fs.String("exact", "checked", "what may be adopted: `level` construction (the arithmetic is untouched), checked (compared on launches) or approximate")
	approximate := fs.Bool("approximate", false, "short for --exact=approximate: special function units in place of accurate divisions, roots, sin, exp, ...; needs --within or --judge")
	fs.Var(within{&o.Within}, "within", "allow results to differ by this `error`, also without --approximate: 1e-3 bounds the relative error of every value that a launch writes, mean:1e-5 their mean (default: the same bits)")
	judged := fs.String("judge", "", "with --approximate: a `command` that gets two files, the program's output without and with approximation, and accepts with exit code 0 (with --within E: prints a number, at most E); the program is rebuilt in place and run for each question")
	link := fs.String("build", "", "with --judge: a `command` that links the program after gnvcc apply, such as make")
	folder := fs.String("for", "", "with --approximate: for what is built in or below this `folder` (default: for the files that the program was built from)")
	fs.BoolVar(&o.Keep, "keep-directives", false, "keep __launch_bounds__' second value, __maxnreg__, -maxrregcount and unroll pragmas, also where something else is faster")
	budget := seconds(0)
	fs.Var(&budget, "budget", "search for at most this `time` (60, or 1m30s), shared out by the kernels' shares of the GPU time and what a first look at them shows (default 1m0s)")
	observing := seconds(0)
	fs.Var(&observing, "observe", "look at the program for this `time` only, in seconds or as 1m30s; then it runs on by itself, and gnvcc replay can search on what was captured before it ends (default: as long as it runs)")
	most := size(0)
	fs.Var(&most, "capture-limit", "most `memory` that a captured launch may have, as 512M or 8G, what is zero not counted; a run's captures may have four times as much (default half of the free memory; never more than a quarter of the store's free disk)")
	rank := rankOption(fs)
	fs.IntVar(&o.Jobs, "jobs", o.Jobs, "compile `n` candidates at a time")
	kernels := fs.String("kernels", "", "tune only these kernels: a `KERNEL` as gnvcc explain takes it")
	_ = c.RegisterFlagCompletionFunc("kernels", func(*cobra.Command, []string,
		string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return kernelCompletions(), cobra.ShellCompDirectiveNoFileComp
	})
	fs.StringSliceVar(&o.Levers, "levers", nil, "try only these levers (comma-separated `list`)")
	fs.StringSliceVar(&o.Without, "without", nil, "do not try these levers (comma-separated `list`)")
	on := fs.String("on", "", onUsage)
	quiet := fs.Bool("quiet", false, "print errors only")
	for _, name := range []string{"budget", "within", "capture-limit", "observe"} {
		fs.Lookup(name).DefValue = "" // their texts say it
	}
	return tries(c, 2, func(args []string) error {
		if len(args) == 0 {
			return errors.New("which program? gnvcc tune [options] -- ./app arguments")
		}
		asked := tuner.Request{Program: args, Apply: *applyToo, Judge: *judged,
			Link: *link, Folder: *folder, Budget: cmp.Or(time.Duration(budget), time.Minute),
			Observe: time.Duration(observing), CaptureLimit: int64(most)}
		if *approximate && fs.Changed("exact") && *exact != "approximate" {
			return fmt.Errorf("--approximate and --exact=%s contradict each other", *exact)
		} else if *approximate {
			*exact = "approximate"
		}
		if fs.Changed("budget") && budget == 0 {
			return errors.New("--budget must be more than 0")
		}
		asked.Options = o
		engine, err := engineOf(*on)
		if err != nil {
			return err
		}
		asked.On = engine
		return tune(asked, *exact, *kernels, *rank, *quiet)
	})
}

// tune checks what was asked for, and runs.
func tune(asked tuner.Request, exact, kernels, rank string, quiet bool) error {
	var err error
	o := &asked.Options
	if o.Exact, err = rewrite.ParseExactness(exact); err != nil {
		return err
	}
	if o.Judged = asked.Judge != ""; o.Judged && (o.Exact != rewrite.Approximate || o.Within.Mean) {
		return errors.New("--judge goes with --approximate, and its --within with a plain number, which the judge's is compared with")
	}
	if asked.Link != "" && !o.Judged {
		return errors.New("--build goes with --judge")
	}
	if asked.On != nil && (o.Exact == rewrite.Approximate || o.Within != (policy.Bound{})) {
		return errors.New("--on searches for exact recipes: not with --approximate or --within")
	}
	if asked.Folder != "" && o.Exact != rewrite.Approximate && o.Within == (policy.Bound{}) {
		return errors.New("--for goes with --approximate or --within: exact recipes are for all builds")
	}
	for _, text := range []string{asked.Judge, asked.Link} {
		if text == "" {
			continue
		}
		if err := tuner.CheckCommand(text); err != nil {
			return err
		}
	}
	if asked.Folder != "" {
		full, err := realPath(asked.Folder)
		if err != nil {
			return fmt.Errorf("--for: %w", err)
		}
		asked.Folder = strings.TrimSuffix(full, "/") + "/"
	}
	if kernels != "" {
		if o.Only, err = onlyKernels(kernels); err != nil {
			return err
		}
	}
	return onOneRank(asked, rank, quiet)
}

// onlyKernels is what a word means for a program that is still to be run: of the kernels that were
// built, those that it names; else any whose name it matches as a regular expression.
func onlyKernels(word string) (*regexp.Regexp, error) {
	store, err := openStore()
	if err != nil {
		return nil, err
	}
	return selection.Launched(word, known(store, nil))
}

// fileList splits a list of files with commas between them; a file whose own name has a comma is
// taken as it is.
func fileList(value string) []string {
	if _, err := os.Stat(value); err == nil {
		return []string{value}
	}
	return strings.Split(value, ",")
}

// driverHere tells whether anything of an NVIDIA driver is seen. It is a variable for tests, as is
// gpu, where launches are replayed: nil is this machine's.
var (
	driverHere           = tuner.HasDriver
	gpu        tuner.GPU = nil
)

// withoutDriver says why a verb that runs launches runs nothing.
func withoutDriver(verb string) error {
	fmt.Fprintf(stderr, "gnvcc %s: no NVIDIA driver here: nothing was run; use a machine with a GPU (in a container: docker run --gpus all)\n", verb)
	return exit(1)
}

func isTerminal(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// What gnvcc tune and gnvcc replay share: a run of package tuner, and its messages.

// tuneNow searches as tune and replay do, where options and machine allow it.
func tuneNow(verb string, asked tuner.Request, quiet bool) error {
	if err := asked.Options.Validate(lever.Names()); err != nil {
		return err
	}
	if !driverHere() { // a cluster's login node has none: what searches on captures may be elsewhere
		asked.NoGPU = len(asked.Program) == 0 && asked.On != nil && !asked.On.Here()
		if !asked.NoGPU {
			return withoutDriver(verb)
		}
	}
	signals := newRelay()
	defer signals.Close()
	end, err := tuneRun(signals, asked, quiet)
	return exit(conclude(verb, signals, end, err))
}

func tuneRun(signals *relay, asked tuner.Request, quiet bool) (end profile.Exit, err error) {
	end.Code = 1
	if asked.Store, err = openStore(); err != nil {
		return end, err
	}
	self, _ := os.Executable()
	if asked.Tools, err = toolkit.Find(self, environment.Read()); err != nil {
		return end, err
	}
	asked.Signals, asked.GPU, asked.During, asked.Stderr = signals, gpu, during, stderr
	if !quiet {
		lines := report.NewLines(os.Stderr, isTerminal(os.Stderr))
		defer lines.Close()
		lines.SetWidth(terminalWidth(os.Stderr))
		asked.Listen, asked.At = lines, lines.At
	}
	asked.Found = func(f tuner.Found) { found(f, quiet) }
	return tuner.Run(asked)
}

// found tells what a run gave.
func found(f tuner.Found, quiet bool) {
	if f.Program.Killed != "" {
		fmt.Fprintln(stderr, "gnvcc: the program was killed:", f.Program.Killed)
	}
	if quiet {
		return
	}
	for _, note := range f.Notes {
		fmt.Fprintln(stderr, "gnvcc:", note)
	}
	text := report.Outcome(f.Pieces)
	if len(f.Results) > 0 || text == "" { // else it did launch kernels, in graphs
		summary(stderr, f.Results, f.Compiled, f.Took)
	}
	if text != "" {
		fmt.Fprintf(stderr, "gnvcc: %s\n", text)
	}
}

// conclude complains of what went wrong, and gives the exit code: the program's own, if that ended
// well and we did not. Where an interrupt ended the program, or our own work, we die of it, as a
// shell's loop around us has to know.
func conclude(verb string, signals *relay, exit profile.Exit, err error) int {
	if err != nil {
		complain(verb, err)
		exit.Code = cmp.Or(exit.Code, 1)
	}
	if exit.Signal == syscall.SIGINT && signals.Asked() != 0 {
		dieBy(syscall.SIGINT)
	}
	return exit.Code
}

// summary says in a few lines what the run gave.
func summary(w io.Writer, results []decide.Result, counts string, took time.Duration) {
	better, same, alone := 0, 0, 0
	for _, r := range results {
		switch {
		case r.Decision != nil && r.Decision.Recipe != "":
			better++
		case r.Decision != nil && len(r.Decision.Evidence.Launches) > 0:
			same++
		default: // of a decision without a launch nothing was measured, it only says why
			alone++
		}
	}
	switch {
	case len(results) == 0:
		fmt.Fprintln(w, "gnvcc: the program launched no kernel, or uses no GPU: nothing was measured")
	default:
		fmt.Fprintf(w, "gnvcc: %s: %d can be faster, %d best as nvcc builds them, %d left alone (%.1f s; %s). gnvcc report shows more\n",
			policy.Count(len(results), "kernel"), better, same, alone, took.Seconds(), counts)
	}
}

// Parallel programs: mpirun gnvcc tune -- ./app starts as many of us as there are ranks. One of
// them looks at its process; the others step aside, and are the program.

func rankOption(fs *pflag.FlagSet) *string {
	return fs.String("rank", "0", "of a parallel program (MPI, srun, torchrun), capture the process of this rank `n`, or of all: the others are counted, or run as they are where gnvcc tune is what is started in parallel")
}

// onOneRank tunes where this process is not another rank than the one that is to be looked at.
func onOneRank(asked tuner.Request, rank string, quiet bool) (err error) {
	if asked.Rank, err = parseRank(rank); err != nil {
		return err
	}
	own, ranks, parallel := profile.RankOf(os.Environ())
	if ranks > 0 && asked.Rank >= ranks {
		return fmt.Errorf("--rank %d: the program has ranks 0 to %d", asked.Rank, ranks-1)
	}
	if parallel && own != asked.Rank && asked.Rank != profile.AllRanks {
		return becomes(asked.Program, own, asked.Rank, quiet)
	}
	return tuneNow("tune", asked, quiet)
}

// parseRank reads --rank.
func parseRank(text string) (int, error) {
	if text == "all" {
		return profile.AllRanks, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, errors.New("--rank: a number from 0 on, or all")
	}
	return n, nil
}

// becomes makes this process the program, as it would be without us.
func becomes(program []string, own, other int, quiet bool) error {
	path, err := exec.LookPath(program[0])
	if err != nil {
		complain("tune", err)
		return exit(127)
	}
	if !quiet {
		fmt.Fprintf(stderr, "gnvcc: rank %d runs as it is: rank %d is looked at (--rank)\n", own, other)
	}
	return syscall.Exec(path, program, os.Environ())
}
