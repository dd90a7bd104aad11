package apply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/environment"
	"gnvcc/driver/scratch"
	"gnvcc/rewrite/ptx"
)

// Applying: the recorded compile commands whose kernels are now wanted otherwise than they were
// built are run again. No source has changed, so make would not; the objects are newer afterwards,
// so that make links them.
//
// Which commands: those that made the code that is in the files now (state.go), whose kernels are
// wanted otherwise. Nothing is written in place. A command runs in a scratch folder, once as it was built and
// once as it is wanted (rerun.go); only where the first gives the file that is there does the
// second one's take its place (place.go). So an object that anything else has written or changed
// since, and a source that was edited, are left alone, and named. The notes of a run become records
// when its outputs are in place, so whatever failed or was killed is done the next time.
//
// What is said in the end rests on a look, too: a revert looks at the files once more, and at those
// that no command is known to write (found.go).

// errApply is wrapped where commands failed.
var errApply = errors.New("not all could be built again")

// errLeft is wrapped where a command's output is left as it is, with the reason.
var errLeft = errors.New("left alone")

// atOnce is how many commands are run at a time: as many as there are processors; below a make that
// counts its jobs (make -j) one, since that is what this call was given a token for.
func atOnce(env *environment.Environment) int {
	if strings.Contains(env.Get("MAKEFLAGS"), "--jobserver-") { // -auth=, make 4.2 and later, or -fds=
		return 1
	}
	return runtime.GOMAXPROCS(0)
}

// An Aim is what Build is to build again.
type Aim struct {
	Under   string // only what lies in or below this folder; "": everything
	Default bool   // nvcc's own code, whatever recipes are known
	Look    string // where else device code is looked for; "": nowhere
	Dry     bool   // nothing is run: it is only said what would be
}

// Build builds again what is not as the aim wants it, and gives the number of commands that it ran.
func Build(ctx context.Context, store *cache.Store, aim Aim, out io.Writer) (int, error) {
	scratch.Sweep(os.TempDir()) // what is left there is no reason to fail
	unlock, err := lockApply(ctx, store, out)
	if err != nil {
		return 0, err
	}
	defer unlock()
	for _, note := range recoverApply(store) {
		fmt.Fprintln(out, "gnvcc:", note)
	}
	if err := store.PublishSpooled(ctx); err != nil {
		return 0, fmt.Errorf("update the decisions: %w", err)
	}
	runs, left, err := pendingFor(store, aim)
	if err != nil {
		return 0, err
	}
	for _, l := range left {
		fmt.Fprintln(out, "gnvcc: left alone:", l)
	}
	if aim.Dry {
		for _, r := range runs {
			fmt.Fprintln(out, "gnvcc: would be run again:", r)
		}
	}
	if len(runs) == 0 || aim.Dry {
		return 0, aim.last(ctx, store, out, len(runs), left)
	}
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("gnvcc's own file: %w", err)
	}
	a := &applying{store: store, env: environment.Read(), self: self, out: out, all: len(runs)}
	jobs := min(atOnce(a.env), len(runs))
	fmt.Fprintf(out, "gnvcc: %s to run again, %d at a time\n", count(len(runs), "command"), jobs)
	a.runAll(ctx, runs, jobs)
	if ctx.Err() != nil {
		return a.done, ctx.Err()
	}
	if a.failed > 0 {
		return a.done, fmt.Errorf("%w: %d of %d commands failed", errApply, a.failed, len(runs))
	}
	if !aim.Default {
		return a.done, nil
	}
	return a.done, aim.last(ctx, store, out, a.done, append(left, a.left...))
}

// last says what there is to say when nothing is left to be run, from a look at the files.
func (a Aim) last(ctx context.Context, store *cache.Store, out io.Writer, runs int,
	left []string) error {
	l := look(store)
	all, err := l.recorded(Aim{Under: a.Under, Default: a.Default})
	if err != nil {
		return err
	}
	if !a.Default {
		switch {
		case runs > 0:
		case len(all) == 0:
			fmt.Fprintln(out, "gnvcc:", a.unknown())
		case len(left) > 0:
			fmt.Fprintln(out, "gnvcc: nothing else to rebuild")
		default:
			fmt.Fprintln(out, "gnvcc: everything that was built with gnvcc has its recipes")
		}
		return nil
	}
	still, stale, err := l.remains(ctx, a.Look, all)
	if err != nil {
		return err
	}
	if a.Dry && runs > 0 { // what is to be run is not yet nvcc's own
		still, stale = nil, nil
	}
	for _, text := range still {
		fmt.Fprintln(out, "gnvcc: left alone:", text)
	}
	for _, text := range stale {
		fmt.Fprintln(out, "gnvcc: not rebuilt yet:", text)
	}
	switch {
	case len(left)+len(still) > 0:
		return fmt.Errorf("%w: what was left alone may still have recipes in it", errApply)
	case runs > 0 || len(stale) > 0:
	case len(all) == 0:
		fmt.Fprintln(out, "gnvcc:", a.unknown())
	default:
		fmt.Fprintln(out, "gnvcc: everything that was built with gnvcc is nvcc's own code")
	}
	return nil
}

// unknown says that there is nothing that could be built again.
func (a Aim) unknown() string {
	if a.Under == "" {
		return "no builds known here: build with gnvcc in nvcc's place first"
	}
	return fmt.Sprintf("no builds known in %s: build there with gnvcc first", a.Under)
}

// applying is one Build at work.
type applying struct {
	store *cache.Store
	env   *environment.Environment
	self  string // gnvcc's own file
	out   io.Writer
	all   int

	mu           sync.Mutex
	done, failed int
	left         []string
}

func (a *applying) runAll(ctx context.Context, runs []*fileState, jobs int) {
	var wg sync.WaitGroup
	next := make(chan *fileState)
	for range jobs {
		wg.Go(func() {
			for r := range next {
				begun := time.Now()
				b := &beside{rerun: r, store: a.store, env: a.env, self: a.self}
				err := b.build(ctx)
				a.tell(b, err, time.Since(begun))
			}
		})
	}
	for _, r := range runs {
		if ctx.Err() != nil {
			break
		}
		next <- r
	}
	close(next)
	wg.Wait()
}

// tell prints what became of a command.
func (a *applying) tell(b *beside, err error, took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == nil:
		a.done++
	case errors.Is(err, errLeft):
		a.left = append(a.left, b.rerun.name())
	default:
		a.failed++
	}
	at := fmt.Sprintf("[%d/%d] ", a.done+a.failed+len(a.left), a.all)
	if errors.Is(err, errLeft) {
		why := strings.TrimPrefix(err.Error(), errLeft.Error()+": ")
		fmt.Fprintf(a.out, "gnvcc: %sleft alone: %s: %s\n", at, b.rerun, why)
		return
	}
	fmt.Fprintf(a.out, "gnvcc: %s%s (%.1f s)\n", at, b.rerun, took.Seconds())
	if err != nil {
		fmt.Fprintf(a.out, "gnvcc: failed: %v; the old file stays\n%s", err, b.said)
	}
	// A recipe that could not be carried out is reported, and is not tried again until it changes.
	for _, c := range b.rerun.changes {
		if reason := reasonIn(b.notes, c); err == nil && reason != "" {
			fmt.Fprintf(a.out, "gnvcc: %s stays as it is: %s\n", ptx.ShortName(c.kernel), reason)
		}
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
