package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/apply"
	"gnvcc/driver/compile"
	"gnvcc/driver/environment"
	"gnvcc/driver/scratch"
	"gnvcc/driver/standing"
	"gnvcc/driver/toolkit"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/report"
	"gnvcc/policy/search"
	"gnvcc/profile"
	"gnvcc/profile/agent"
	"gnvcc/rewrite"
)

// An ending is what is done with what a run found.
type ending struct {
	apply, quiet bool
	judge, build string // commands; "": none
	folder       string // -for
	inPlace      bool
	again        bool          // from captures alone; no program is run
	budget       time.Duration // for the run, where launches are replayed
	observing    time.Duration // how long the program is looked at; 0: as long as it runs
	most         int64         // bytes of one captured launch; 0: the usual
	by           *profiled     // what kernels weigh, nil: as observed
}

// A tuning is one run of gnvcc tune or gnvcc replay: what it needs is opened, the program is run
// and searched, what was found is told and built with.
type tuning struct {
	signals        *relay
	o              policy.Options
	argv, controls []string
	then           ending
	begun          time.Time
	started        bool         // the program, or a capture, may have been run
	failed         profile.Exit // how gnvcc ends where nothing could be run

	store    *cache.Store
	book     *book
	toolkit  string // its folder
	compiler *compiler
	run      profile.Options
	progress policy.Progress // nil: quiet
	far      func(n, of int, end time.Time)
	twin     *twin // nil where the search is in the program

	open []func() // what to close, the last first
}

// tuneRun tells how the application ended; where a signal cut short what comes after it (or
// before), that signal.
func tuneRun(signals *relay, o policy.Options, argv, controls []string,
	then ending) (exit profile.Exit, err error) {
	t := &tuning{signals: signals, o: o, argv: argv, controls: controls, then: then,
		begun: time.Now(), failed: profile.Exit{Code: 1}}
	defer func() {
		for _, closes := range slices.Backward(t.open) {
			closes()
		}
		if s := signals.asked(); s != 0 && !t.started {
			exit, err = endedBy(s), errors.New("interrupted before anything was run")
		}
	}()
	if err := t.prepare(); err != nil {
		return t.failed, err
	}
	tuner, exit, err := t.search()
	if err != nil {
		tuner.Finish()
		return t.failed, err
	}
	results, finish := tuner.Finish()
	if err := t.book.Publish(); err != nil && finish == nil {
		finish = err
	}
	t.tell(tuner, results, exit)
	if finish == nil {
		finish = t.build(results)
	}
	if s := signals.cutShort(); s != 0 {
		t.note("interrupted: what was found is kept; gnvcc replay goes on with the launches that are captured")
		if exit = endedBy(s); errors.Is(finish, context.Canceled) {
			finish = nil
		}
	}
	return exit, finish
}

// prepare opens the store, and builds what runs inside the program.
func (t *tuning) prepare() (err error) {
	ctx := t.signals.tuning
	if t.store, err = openStore(); err != nil {
		return err
	}
	keeping, stop := outlast(t.signals.rest, grace)
	t.open = append(t.open, stop)
	if t.book, err = openBook(keeping, t.store); err != nil {
		return err
	}
	self, _ := os.Executable()
	tools, err := toolkit.Find(self, environment.Read())
	if err != nil {
		return err
	}
	t.toolkit = tools.Dir()
	if t.o.Controls, err = compile.KeepControls(ctx, t.store, tools, t.controls); err != nil {
		return err
	}
	if !t.then.quiet {
		for i, hash := range t.o.Controls {
			fmt.Fprintf(os.Stderr, "gnvcc: controls file %s appears in recipes as %.12s\n", t.controls[i], hash)
		}
	}
	over := during("building the agent")
	library, err := agent.Build(ctx, t.toolkit, filepath.Join(t.store.Path(), "agent"))
	over()
	if err != nil {
		return fmt.Errorf("can't build the agent that runs inside the program: %w", err)
	}
	if !t.then.again {
		if t.argv[0], err = exec.LookPath(t.argv[0]); err != nil {
			t.failed.Code = 127
			return err
		}
	}
	if t.compiler, err = newCompiler(t.store); err != nil {
		return err
	}
	t.open = append(t.open, t.compiler.Close)
	t.compiler.ask = asking{approximate: t.o.Exact == rewrite.Approximate, folder: t.then.folder}
	if !t.then.again {
		t.compiler.ask.program, _ = filepath.Abs(t.argv[0])
	}
	t.compiler.ask.dir, _ = os.Getwd()
	t.book.approximate = t.compiler.ask.approximate
	if !t.then.quiet {
		lines := report.NewLines(os.Stderr, isTerminal(os.Stderr))
		lines.SetWidth(terminalWidth(os.Stderr))
		t.open = append(t.open, lines.Close)
		t.progress, t.far = lines, lines.At
	}
	t.o.Driver = driverVersion()
	folder, err := profileScratch()
	if err != nil {
		return err
	}
	t.open = append(t.open, folder.Remove)
	t.run = profile.Options{Argv: t.argv, Agent: library, Scratch: folder.Path,
		Signals: t.signals.pass, Log: t.note}
	return ctx.Err()
}

// note tells something on the way.
func (t *tuning) note(format string, args ...any) {
	if t.progress != nil {
		t.progress.Note(fmt.Sprintf(format, args...))
	}
}

// search runs the program, and looks for recipes in it or on its captures.
func (t *tuning) search() (tuner *search.Tuner, exit profile.Exit, err error) {
	o, notes := &t.o, memos{t.store}
	if t.then.inPlace {
		t.started, o.InPlace = true, true
		tuner = search.NewTuner(t.signals.tuning, *o, t.compiler, t.book, notes, t.progress)
		exit, err = profile.Run(context.Background(), t.run, tuner)
		t.signals.programEnded()
		return tuner, exit, err
	}
	o.Crashes, o.Full = mostRuns-1, mostFull
	tuner = search.NewTuner(t.signals.rest, *o, t.compiler, t.book, notes, t.progress)
	w, err := newTwin(t.signals.tuning, t.store, t.toolkit, t.run, t.then)
	if err != nil {
		return tuner, exit, err
	}
	w.memory = newMemoryFolder()
	t.open = append(t.open, w.memory.Remove)
	by := t.then.by
	w.tuner, w.kernel, w.say, w.at, w.by = tuner, t.compiler.Kernel, t.note, t.far, by
	if by != nil {
		by.say = t.note
		tellStale(t.book, by, standing.GPU(), o.Driver)
	}
	t.started, t.twin = true, w
	exit, err = w.tune(t.signals, *o, t.then.again, func(l *profile.Launch) error {
		if err := by.refuse(l.Kernel); err != nil {
			return err
		}
		return tunable(t.compiler, *o, l)
	})
	return tuner, exit, err
}

// tell says what the run gave.
func (t *tuning) tell(tuner *search.Tuner, results []decide.Result, exit profile.Exit) {
	if t.twin != nil {
		t.twin.account.log(environment.Read().Log(), time.Now())
	}
	if exit.Killed != "" {
		fmt.Fprintln(os.Stderr, "gnvcc: the program was killed:", exit.Killed)
	}
	if t.then.quiet {
		return
	}
	for _, note := range tuner.Notes() {
		fmt.Fprintln(os.Stderr, "gnvcc:", note)
	}
	summary(os.Stderr, results, t.compiler.Counts(), time.Since(t.begun))
}

// build asks the user's judge, or rebuilds with what was found.
func (t *tuning) build(results []decide.Result) error {
	ctx, judged := t.signals.rest, t.then.judge != ""
	switch {
	case !judged && !t.then.apply:
		return nil
	case t.signals.asked() != 0:
		return errors.New("interrupted: what was found is kept, nothing was built")
	case judged:
		return newJudge(ctx, t.store, t.book, t.then.judge, t.then.build, t.o, t.argv).run(ctx,
			results)
	}
	if _, err := apply.Recipes(ctx, t.store, os.Stderr); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	return nil
}

// grace is how long what was found may take to reach the store after a signal that leaves the rest.
const grace = 2 * time.Second

// endedBy is the end of a command that a signal ended.
func endedBy(s syscall.Signal) profile.Exit { return profile.Exit{Code: 128 + int(s), Signal: s} }

// conclude complains of what went wrong, and gives the exit code: the program's own, if that ended
// well and we did not. Where an interrupt ended the program, or our own work, we die of it, as a
// shell's loop around us has to know.
func conclude(verb string, signals *relay, exit profile.Exit, err error) int {
	if err != nil {
		complain(verb, err)
		exit.Code = cmp.Or(exit.Code, 1)
	}
	if exit.Signal == syscall.SIGINT && signals.asked() != 0 {
		dieBy(syscall.SIGINT)
	}
	return exit.Code
}

// profileScratch makes a folder for the program's run whose path is short enough for a socket in
// it.
func profileScratch() (*scratch.Folder, error) {
	var first error
	for _, dir := range []string{os.TempDir(), "/tmp"} {
		s, err := scratch.NewIn(dir)
		if err == nil && profile.FitsSocket(s.Path) {
			return s, nil
		}
		if err == nil {
			s.Remove()
			err = fmt.Errorf("the path %s is too long for a socket", dir)
		}
		if first == nil {
			first = err
		}
	}
	return nil, fmt.Errorf("a scratch folder for the program's run: %w; set TMPDIR to a folder that can be written", first)
}

// tunable says why a kernel is not worth a capture.
func tunable(c *compiler, o policy.Options, l *profile.Launch) error {
	k, err := c.Kernel(l.Cubin, l.Kernel)
	switch {
	case err != nil:
		return err
	case k.Alone != "":
		return errors.New(k.Alone)
	case o.Only != nil && !o.Only.MatchString(k.Name) && !o.Only.MatchString(k.Short):
		return errors.New("not selected (--kernels)")
	}
	return nil
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
			counted(len(results), "kernel"), better, same, alone, took.Seconds(), counts)
	}
}
