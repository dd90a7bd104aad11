package tuner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/apply"
	"gnvcc/driver/environment"
	"gnvcc/policy"
	"gnvcc/policy/confirm"
	"gnvcc/policy/decide"
	"gnvcc/policy/search"
	"gnvcc/profile"
	"gnvcc/profile/capture"
	"gnvcc/rewrite"
)

// A run is one run of gnvcc tune: what it needs is opened, the program is run and
// searched, what was found is reported and built with.
type run struct {
	Request
	begun   time.Time
	started bool         // the program, or a capture, may have been run
	failed  profile.Exit // how gnvcc ends where nothing could be run

	decisions *Decisions
	compiler  *Compiler
	program   profile.Options
	replays   *ReplaySearch

	spreadResults []decide.Result // of workers
	observed      string          // Found.Observed
	compared      []confirm.Comparison

	open []func() // what to close, the last first
}

// Run does what is asked for, and returns how the program ended; where a signal cut short what comes
// after it (or before), that signal.
func Run(asked Request) (exit profile.Exit, err error) {
	r := &run{Request: asked, begun: time.Now(), failed: profile.Exit{Code: 1}}
	defer func() {
		for _, closes := range slices.Backward(r.open) {
			closes()
		}
		if s := r.Signals.Asked(); s != 0 && !r.started {
			exit, err = endedBy(s), errors.New("interrupted before anything was run")
		}
	}()
	if err := r.prepare(); err != nil {
		return r.failed, err
	}
	run, exit, err := r.search()
	if err != nil {
		run.Finish()
		return r.failed, err
	}
	results, finish := run.Finish()
	results = append(results, r.spreadResults...)
	if err := r.decisions.Publish(); err != nil && finish == nil {
		finish = err
	}
	if r.replays != nil {
		r.replays.account.settle(results)
		r.replays.account.log(environment.Read().Log(), time.Now())
	}
	if r.Found != nil {
		found := Found{Results: results, Compiled: r.compiler.Counts(), Took: time.Since(r.begun),
			Program: exit, Compared: r.compared}
		for _, x := range results {
			if x.Unheld != "" {
				found.Notes = append(found.Notes, x.Kernel.Label()+": "+x.Unheld)
			}
		}
		if r.replays != nil {
			found.Pieces = r.replays.account.pieces(results)
			found.Observed = r.observed
		}
		r.Found(found)
	}
	if finish == nil {
		finish = r.accept(results)
	}
	if finish == nil && r.replays != nil {
		var built []cache.Decision
		for _, x := range results {
			if x.Decision != nil {
				built = append(built, *x.Decision)
			}
		}
		finish = r.once(r.replays.account.ran, exit, built)
	}
	if s := r.Signals.CutShort(); s != 0 {
		r.note("interrupted: results so far are kept; gnvcc tune without a program continues with the captured launches")
		if exit = endedBy(s); errors.Is(finish, context.Canceled) {
			finish = nil
		}
	}
	return exit, finish
}

// prepare opens the store, and builds what runs inside the program.
func (r *run) prepare() (err error) {
	ctx := r.Signals.Tuning()
	keeping, stop := outlast(r.Signals.Rest(), grace)
	r.open = append(r.open, stop)
	if r.decisions, err = OpenDecisions(keeping, r.Store); err != nil {
		return err
	}
	over := func() {}
	if r.During != nil {
		over = r.During("building the agent")
	}
	library, err := BuildAgent(ctx, r.Store, r.Tools.Dir())
	over()
	if err != nil {
		return err
	}
	if len(r.Program) > 0 {
		if r.Program[0], err = exec.LookPath(r.Program[0]); err != nil {
			r.failed.Code = 127
			return err
		}
	}
	if r.compiler, err = NewCompiler(r.Store); err != nil {
		return err
	}
	r.open = append(r.open, r.compiler.Close)
	approximate := r.Options.Exact == rewrite.Approximate
	r.compiler.askers = askers{approximate: approximate}
	if len(r.Program) > 0 {
		r.compiler.askers.program, _ = filepath.Abs(r.Program[0])
	}
	r.compiler.askers.dir, _ = os.Getwd()
	r.decisions.approximate = approximate
	r.Options.Driver = DriverVersion()
	folder, err := SocketScratch()
	if err != nil {
		return err
	}
	r.open = append(r.open, folder.Remove)
	r.program = profile.Options{Argv: r.Program, Agent: library, Scratch: folder.Path,
		Signals: r.Signals.Pass(), Log: r.note}
	return ctx.Err()
}

// note prints something on the way.
func (r *run) note(format string, args ...any) {
	if r.Listen != nil {
		r.Listen.Note(fmt.Sprintf(format, args...))
	}
}

// search runs the program, and looks for recipes in it or on its captures.
func (r *run) search() (run *search.Run, exit profile.Exit, err error) {
	o, notes := &r.Options, Memos{r.Store}
	o.Crashes, o.Full = MostCrashes, mostFull
	run = search.NewRun(r.Signals.Rest(), *o, r.compiler, r.decisions, notes, r.Listen)
	s, err := Captures(r.Store)
	if err != nil {
		return run, exit, err
	}
	replayer, err := BuildReplayer(r.Signals.Tuning(), r.Store, r.Tools.Dir())
	if err != nil {
		return run, exit, err
	}
	memory := newMemoryFolder()
	r.open = append(r.open, memory.Remove)
	w := &ReplaySearch{Captures: s, Run: run, Kernel: r.compiler.Kernel, Replayer: replayer,
		Agent: r.program.Agent, Scratch: r.program.Scratch, GPU: r.GPU,
		Limits: capture.Usual.Within(r.Store.Path(), r.CaptureLimit), Budget: r.Budget,
		Say: r.note, At: r.At, memory: memory}
	if r.On != nil {
		w.spread = func(ctx context.Context, w *ReplaySearch, list []Job) {
			r.spreadResults = r.spread(ctx, w, list)
		}
	}
	r.started = true
	if r.Confirm {
		exit, err = r.confirmed(false)
		r.Signals.ProgramEnded()
		return run, exit, err
	}
	if r.replays = w; len(r.Program) == 0 {
		r.Signals.ProgramEnded()
		return run, exit, w.again(r.Signals.Rest(), *o)
	}
	if !r.Look {
		w.standing = &standings{of: r.stood}
	}
	exit, err = w.observed(r, func(l *profile.Launch) error {
		err := tunable(r.compiler, *o, l)
		if err == nil && w.standing != nil {
			w.standing.find(l)
		}
		return err
	})
	return run, exit, err
}

// build rebuilds with what was found.
func (r *run) build() error {
	switch {
	case !r.Apply:
		return nil
	case r.Signals.Asked() != 0:
		return errors.New("interrupted: results so far are kept, nothing was built")
	}
	if _, err := apply.Build(r.Signals.Rest(), r.Store, apply.Aim{}, r.Stderr); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	return nil
}

// grace is how long what was found may take to reach the store after a signal that leaves the rest.
const grace = 2 * time.Second

// outlast gives a context that ends some time after another one.
func outlast(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(by, cancel) })
	return longer, func() { stop(); cancel() }
}

// endedBy is the end of a command that a signal ended.
func endedBy(s syscall.Signal) profile.Exit { return profile.Exit{Code: 128 + int(s), Signal: s} }

// tunable says why a kernel is not worth a capture.
func tunable(c *Compiler, o policy.Options, l *profile.Launch) error {
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
