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
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"gnvcc/cache"
	"gnvcc/driver/environment"
	"gnvcc/driver/toolkit"
	"gnvcc/policy"
	"gnvcc/policy/confirm"
	"gnvcc/policy/decide"
	"gnvcc/policy/lever"
	"gnvcc/policy/report"
	"gnvcc/policy/selection"
	"gnvcc/policy/tuner"
	"gnvcc/profile"
	"gnvcc/profile/capture"
	"gnvcc/rewrite"
)

const tuneAbout = `Runs a program that was built with gnvcc, and searches for faster builds of the kernels that it launches. Some launches
are captured: their memory is read and nothing is written, so output, results and exit code stay the program's own. When
the program has ended, gnvcc replays these launches in processes of its own and measures candidates on them. The recipes
found are kept in the store; gnvcc apply (or --apply) builds with them.

Without PROGRAM: searches again on the captured launches (gnvcc doctor --captures lists them).

With --observe launches are captured and nothing is searched; printed are, over all runs observed, counts, sizes and times of
launches, frequent argument values, how much kernels of other streams run at the same time, and peak memory. Timed are the
first four launches with the same values, then one in 64, and sometimes 32 in a row. Without PROGRAM: the program observed last.`

// seconds is a time that may be given as a number of seconds: 60, or 1m30s.
type seconds time.Duration

func (s *seconds) String() string { return time.Duration(*s).String() }
func (s *seconds) Type() string   { return "time" }
func (s *seconds) Set(text string) error {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		if !(n >= 0 && n < 1e9) {
			return errors.New("expected a number of seconds, or a time such as 1m30s")
		}
		*s = seconds(n * float64(time.Second))
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return errors.New("expected a number of seconds, or a time such as 1m30s")
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

// observing is --observe: asked for, and for how long; 0: as long as the program runs.
type observing struct {
	asked bool
	time  seconds
}

func (o *observing) String() string { return "" }
func (o *observing) Type() string   { return "time" }
func (o *observing) Set(text string) error {
	o.asked = true
	return o.time.Set(text)
}

// tuneOptions are what the user may say.
type tuneOptions struct {
	tuner.Request
	exact, kernels, on string
	budget             seconds
	observe            observing
	most               size
	talk               talk
}

// talk is how much a run prints.
type talk struct{ quiet, verbose bool }

// tuneVerb runs an application under the agent and keeps what was decided.
func tuneVerb() *cobra.Command {
	var t tuneOptions
	o := &t.Options
	*o = policy.Defaults()
	o.Version = ownVersion()
	c := newVerb("tune [OPTIONS] [[--] PROGRAM [ARGUMENTS]]", "run a program and find recipes for its kernels; --apply builds with them", tuneAbout, arguments(0, -1))
	fs := c.Flags()
	commandBehind(c)
	fs.BoolVar(&t.Apply, "apply", false, "rebuild with the recipes found, as gnvcc apply does")
	fs.BoolVar(&t.Confirm, "confirm", false, "search nothing: run the program, built with its recipes, and compare its kernels with an earlier run of nvcc's code; what does not gain there is taken back")
	fs.StringVar(&t.exact, "exact", "checked", "what may be adopted: `level` construction (the arithmetic is untouched), checked (compared on launches) or approximate (special function units in place of accurate divisions, roots, sin, exp, ...; needs --within)")
	fs.Var(within{&o.Within}, "within", "allow results to differ by this `error`, also without --exact=approximate: 1e-3 bounds the relative error of every value that a launch writes, mean:1e-5 their mean; app:COMMAND asks the command with each build, which accepts with exit code 0 (needs --exact=approximate and --apply; the command links, if need be, and runs the program) (default: the same bits)")
	fs.BoolVar(&o.Keep, "keep-directives", false, "keep __launch_bounds__' second value, __maxnreg__, -maxrregcount and unroll pragmas, also where something else is faster")
	fs.Var(&t.budget, "budget", "search for at most this `time` (60, or 1m30s), divided by the kernels' shares of the GPU time and their first results (default 1m0s)")
	fs.Var(&t.observe, "observe", "search nothing; with a `time` (=60, or =1m30s) the program is observed that long, and then continues by itself")
	fs.Lookup("observe").NoOptDefVal = "0"
	fs.Var(&t.most, "capture-limit", "most `memory` of a captured launch, as 512M or 8G, zeros not counted; a run's captures may have four times as much (default half of the free memory; never more than a quarter of the store's free disk)")
	fs.StringVar(&t.kernels, "kernels", "", "tune only these kernels: a `KERNEL` as gnvcc explain takes it")
	_ = c.RegisterFlagCompletionFunc("kernels", func(*cobra.Command, []string,
		string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return kernelCompletions(), cobra.ShellCompDirectiveNoFileComp
	})
	fs.StringSliceVar(&o.Levers, "levers", nil, "try only these levers (comma-separated `list`); -LEVER: all but it")
	fs.StringVar(&t.on, "on", "", onUsage)
	fs.BoolVar(&t.talk.quiet, "quiet", false, "print errors only")
	fs.BoolVarP(&t.talk.verbose, "verbose", "v", false, "name every kernel that is left alone")
	for _, name := range []string{"budget", "within", "capture-limit", "observe"} {
		fs.Lookup(name).DefValue = "" // their texts say it
	}
	return tries(c, 2, func(args []string) error {
		if fs.Changed("budget") && t.budget == 0 {
			return errors.New("--budget must be more than 0")
		}
		return t.run(args)
	})
}

// run checks what was asked for, and does it.
func (t *tuneOptions) run(args []string) (err error) {
	o := &t.Options
	o.Levers, o.Without = sortedOut(o.Levers)
	t.Program, t.Budget, t.CaptureLimit = args, cmp.Or(time.Duration(t.budget), time.Minute), int64(t.most)
	t.Observe, t.Look = time.Duration(t.observe.time), t.observe.asked
	if o.Exact, err = rewrite.ParseExactness(t.exact); err != nil {
		return err
	}
	loose := o.Exact == rewrite.Approximate || o.Within != (policy.Bound{})
	switch {
	case t.on != "" && loose:
		return errors.New("--on searches for exact recipes: not with --exact=approximate or --within")
	case o.Within.App != "" && (!t.Apply || o.Exact != rewrite.Approximate):
		return errors.New("--within app:COMMAND asks the command about approximation that was built: it needs --exact=approximate and --apply")
	case len(args) == 0 && loose && !t.Look:
		return errors.New("--exact=approximate and --within need the program: gnvcc tune [options] -- ./app arguments")
	case t.Confirm && (len(args) == 0 || t.Look || t.on != ""):
		return errors.New("--confirm needs the program, and does no search: gnvcc tune --confirm -- ./app arguments")
	case t.Look && (t.Apply || t.on != ""):
		return errors.New("--observe does no search: it can't be combined with --apply or --on")
	}
	if t.On, err = engineOf(t.on); err != nil {
		return err
	}
	if len(args) == 0 {
		return t.again()
	}
	if t.kernels != "" {
		if o.Only, err = onlyKernels(t.kernels); err != nil {
			return err
		}
	}
	if rank := profile.RankOf(os.Environ()); rank > 0 {
		return becomes(t.Program, rank, t.talk.quiet)
	}
	return tuneNow(t.Request, t.talk)
}

// sortedOut splits the list of --levers into those to be tried, and those that are not.
func sortedOut(levers []string) (with, without []string) {
	for _, name := range levers {
		if not, ok := strings.CutPrefix(name, "-"); ok {
			without = append(without, not)
		} else {
			with = append(with, name)
		}
	}
	return with, without
}

// again searches on what is captured, or shows what was observed last.
func (t *tuneOptions) again() error {
	store, err := openStore()
	if err != nil {
		return err
	}
	if t.Look {
		return showProfile(store, "")
	}
	if t.kernels != "" {
		if t.Options.Only, err = capturedKernels(store, t.kernels); err != nil {
			complain("tune", err)
			return exit(1)
		}
	}
	return tuneNow(t.Request, t.talk)
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

// driverHere reports whether anything of an NVIDIA driver is seen. It is a variable for tests, as is
// gpu, where launches are replayed: nil is this machine's.
var (
	driverHere           = tuner.HasDriver
	gpu        tuner.GPU = nil
)

// withoutDriver says why a verb that runs launches runs nothing.
func withoutDriver(verb string) error {
	fmt.Fprintf(stderr, "gnvcc %s: no NVIDIA driver here: nothing was run; use a machine with a GPU (in a container: docker run --gpus all); gnvcc predict needs none\n", verb)
	return exit(1)
}

func isTerminal(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// tuneNow searches, where options and machine allow it.
func tuneNow(asked tuner.Request, talk talk) error {
	if err := asked.Options.Validate(lever.Names()); err != nil {
		return err
	}
	if !driverHere() { // a cluster's login node has none: what searches on captures may be elsewhere
		asked.NoGPU = len(asked.Program) == 0 && asked.On != nil && !asked.On.Here()
		if !asked.NoGPU {
			return withoutDriver("tune")
		}
	}
	signals := newRelay()
	defer signals.Close()
	end, err := tuneRun(signals, asked, talk)
	return exit(conclude(signals, end, err))
}

func tuneRun(signals *relay, asked tuner.Request, talk talk) (end profile.Exit, err error) {
	end.Code = 1
	if asked.Store, err = openStore(); err != nil {
		return end, err
	}
	self, _ := os.Executable()
	if asked.Tools, err = toolkit.Find(self, environment.Read()); err != nil {
		return end, err
	}
	asked.Signals, asked.GPU, asked.During, asked.Stderr = signals, gpu, during, stderr
	if !talk.quiet {
		lines := report.NewLines(os.Stderr, isTerminal(os.Stderr))
		defer lines.Close()
		lines.SetWidth(terminalWidth(os.Stderr))
		lines.Verbose = talk.verbose
		asked.Listen, asked.At = lines, lines.At
	}
	asked.Found = func(f tuner.Found) { found(f, talk) }
	if !talk.quiet {
		asked.Compared = tellCompared
	}
	if asked.Confirm {
		asked.Found = func(f tuner.Found) { confirmed(f, talk) }
	}
	if asked.Look {
		asked.Found = func(f tuner.Found) { err = observed(asked.Store, f) }
	}
	end, failed := tuner.Run(asked)
	return end, errors.Join(failed, err)
}

// tellCompared prints what a program's run gave of its recipes.
func tellCompared(list []confirm.Comparison) {
	for _, c := range list {
		for _, line := range c.Lines() {
			if width := terminalWidth(os.Stderr); width > 0 {
				line = wrap(line, width)
			}
			fmt.Fprintln(stderr, "gnvcc:", line)
		}
	}
}

// confirmed prints what a run gave that was for that alone.
func confirmed(f tuner.Found, talk talk) {
	switch {
	case talk.quiet:
	case len(f.Compared) == 0:
		fmt.Fprintln(stderr, "gnvcc: no kernel of this run has a recipe: nothing was compared; what it took is kept for later")
	default:
		tellCompared(f.Compared)
	}
}

// found prints what a run gave.
func found(f tuner.Found, talk talk) {
	if f.Program.Killed != "" {
		fmt.Fprintln(stderr, "gnvcc: the program was killed:", f.Program.Killed)
	}
	if talk.quiet {
		return
	}
	for _, note := range f.Notes {
		fmt.Fprintln(stderr, "gnvcc:", note)
	}
	tellCompared(f.Compared)
	o := report.Outcome{Parts: f.Pieces, Words: map[string]string{}, Verbose: talk.verbose}
	for _, r := range f.Results {
		if r.Decision != nil && r.Decision.Recipe != "" {
			o.Words[r.Kernel.Short] = report.NewEntry(*r.Decision).Words
		} else if r.Withheld != "" {
			o.Words[r.Kernel.Short] = "not adopted: " + r.Withheld
		}
	}
	text := o.String()
	if len(f.Results) > 0 || text == "" { // else it did launch kernels, in graphs
		summary(stderr, f.Results, f.Compiled, f.Took)
	}
	if text != "" {
		fmt.Fprint(stderr, "\n", text)
	}
}

// conclude complains of what went wrong, and gives the exit code: the program's own, if that ended
// well and we did not. Where an interrupt ended the program, or our own work, we die of it, as a
// shell's loop around us has to know.
func conclude(signals *relay, exit profile.Exit, err error) int {
	if err != nil {
		complain("tune", err)
		exit.Code = cmp.Or(exit.Code, 1)
	}
	if exit.Signal == syscall.SIGINT && signals.Asked() != 0 {
		dieBy(syscall.SIGINT)
	}
	return exit.Code
}

// summary says in a few lines what the run gave.
func summary(w io.Writer, results []decide.Result, counts string, took time.Duration) {
	better, same, withheld, alone := 0, 0, 0, 0
	for _, r := range results {
		switch {
		case r.Decision != nil && r.Decision.Recipe != "":
			better++
		case r.Withheld != "":
			withheld++
		case r.Decision != nil && len(r.Decision.Evidence.Launches) > 0:
			same++
		default: // of a decision without a launch nothing was measured, it only says why
			alone++
		}
	}
	text := "gnvcc: the program launched no kernel, or uses no GPU: nothing was measured"
	if len(results) > 0 {
		not := ""
		if withheld > 0 {
			not = fmt.Sprintf(" %d with a recipe that is not adopted,", withheld)
		}
		text = fmt.Sprintf("gnvcc: %s: %d faster with a recipe, %d best as nvcc builds them,%s %d left alone (%.1f s; %s). gnvcc report has details",
			policy.Count(len(results), "kernel"), better, same, not, alone, took.Seconds(), counts)
	}
	if width := terminalWidth(os.Stderr); width > 0 {
		text = wrap(text, width)
	}
	fmt.Fprintln(w, text)
}

// capturedKernels is what a word means among the kernels that launches are captured of.
func capturedKernels(store *cache.Store, word string) (*regexp.Regexp, error) {
	s, err := tuner.Captures(store)
	if err != nil {
		return nil, err
	}
	list, _ := s.List()
	captured := map[string]bool{}
	var kernels []selection.Kernel
	for _, m := range list {
		captured[m.Kernel] = true
		kernels = append(kernels, selection.Kernel{Name: m.Kernel})
	}
	for _, b := range builtKernels(store) { // for their identities
		if captured[b.Name] {
			kernels = append(kernels, b.selected())
		}
	}
	if _, err := selection.Of(word, kernels, itself); err != nil {
		return nil, fmt.Errorf(
			"no launches are captured of it (gnvcc tune -- ./app captures some, gnvcc doctor --captures lists them): %w", err)
	}
	return selection.Pattern(word, kernels)
}

const onUsage = "search by these `workers`, on several GPUs, a kernel each at a time: local:gpus=N, or slurm:n=N and options of salloc (partition=gpu, ...), whose nodes see the store and gnvcc"

// engineOf reads --on, nil without.
func engineOf(on string) (tuner.Engine, error) {
	if on == "" {
		return nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return tuner.NewEngine(on, self)
}

// Parallel programs: mpirun gnvcc tune -- ./app starts as many of us as there are ranks. That of
// rank 0 looks at its process; the others step aside, and are the program.

// becomes makes this process the program, as it would be without us.
func becomes(program []string, rank int, quiet bool) error {
	path, err := exec.LookPath(program[0])
	if err != nil {
		complain("tune", err)
		return exit(127)
	}
	if !quiet {
		fmt.Fprintf(stderr, "gnvcc: rank %d runs without gnvcc: only rank 0 is tuned\n", rank)
	}
	return syscall.Exec(path, program, os.Environ())
}

// observed shows what a run that was only observed did.
func observed(store *cache.Store, f tuner.Found) error {
	if f.Observed == "" {
		fmt.Fprintln(stderr, "gnvcc: the program launched no kernel, or uses no GPU")
		return nil
	}
	return showProfile(store, f.Observed)
}

// showProfile shows what is known of a program, "": the one observed last.
func showProfile(store *cache.Store, program string) error {
	s, err := tuner.Captures(store)
	if err != nil {
		return err
	}
	if program != "" {
		p, err := s.Profile(program)
		if err != nil {
			return err
		}
		return printProfile(stdout(), p)
	}
	all := s.Profiles()
	if len(all) == 0 {
		return errors.New("no program observed yet: gnvcc tune --observe -- ./app")
	}
	return printProfile(stdout(), all[0])
}

// on names the GPU of a line where the program ran on several models.
func on(p *capture.Profile, l capture.Line) string {
	if p.Devices() == p.On(l) {
		return ""
	}
	return ", on " + p.On(l)
}

// printProfile prints configurations, the heaviest first, each with its sets of values.
func printProfile(w io.Writer, p *capture.Profile) error {
	fmt.Fprintf(w, "%s: %d runs on %s, %.3g s on the GPU (estimated from the launches that were timed)", p.Program, p.Runs, p.Devices(), p.Seconds)
	if p.Peak > 0 {
		fmt.Fprintf(w, ", %.1f MiB of its memory at most", float64(p.Peak)/(1<<20))
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "share\ttime\tlaunches\ta launch\ttimed\targument sets\tconcurrent\tkernel\tgrid x block")
	row := func(x profile.Set, more string) {
		fmt.Fprintf(t, "%.1f %%\t%.3g s\t%d\t%.3g us\t%d\t%s\n", 100*x.Seconds/max(p.Seconds, 1e-12), x.Seconds, x.Count,
			1e6*x.Seconds/float64(max(x.Count, 1)), x.Sampled, more)
	}
	for _, l := range p.Shapes {
		beside := "-"
		if l.Watched > 0 {
			beside = fmt.Sprintf("%.0f %%", 100*l.Beside/l.Watched)
		}
		row(profile.Set{Seconds: l.Seconds, Count: l.Count, Sampled: l.Sampled}, fmt.Sprintf("%d\t%s\t%s\t%s", l.Varied, beside, policy.ShortName(l.Kernel),
			policy.Shape{Grid: l.Grid, Block: l.Block, Dynamic: l.Dynamic})+on(p, l))
		parts, rest := l.Parts()
		for _, x := range parts {
			row(x.Set, "\t\t  with "+x.Words+"\t")
		}
		if len(parts) > 0 && rest.Count > 0 {
			row(rest, "\t\t  with other values\t")
		}
	}
	for _, g := range p.Unseen {
		fmt.Fprintf(t, "beside\t%.3g s\t%d\t%.3g us\t\t\t\t%s: %s\t\n", g.Seconds, g.Launches,
			1e6*g.Seconds/float64(max(g.Launches, 1)), policy.OfGraphs, g.Why)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, report.GapsText(gaps(p)))
	return err
}
