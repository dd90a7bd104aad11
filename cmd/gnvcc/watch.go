package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/shlex"
	"github.com/spf13/cobra"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/edits"
	"gnvcc/policy/retune"
	"gnvcc/policy/watch"
)

const watchAbout = `Watches the sources of what was built with gnvcc. When a file's content changes, the recorded compile commands that
read it are run again in a scratch folder, up to the host compiler; kernels that have changed are tuned on the launches
that are captured of them, and nothing else is. Another GPU or another driver make
decisions stale: these kernels are tuned again, or wait for a run of the program. Your next build takes what was found. Nothing of yours is written.

With FOLDERs only what is built from or into these is watched. One watch runs on a machine, at low priority; it lets builds and other
users of the GPU go first, and rests while the machine runs on battery.`

// watchOptions are what the user may say.
type watchOptions struct {
	folders      []string
	run          string
	status, stop bool
}

// watchBudget is the longest time for one kernel's search.
const watchBudget = 20 * time.Second

// watchVerb watches sources, and tunes edited kernels again.
func watchVerb() *cobra.Command {
	var o watchOptions
	c := newVerb("watch [OPTIONS] [FOLDER...]", "tune edited kernels again while you work, on launches that were captured", watchAbout, cobra.ArbitraryArgs)
	fs := c.Flags()
	fs.StringVar(&o.run, "run", "", "run this `command` after a build in which kernels have new names or parameters, and tune them on its launches (words as a shell has them; no shell runs)")
	fs.BoolVar(&o.status, "status", false, "say what the running watch does, what waits, and what it has found")
	fs.BoolVar(&o.stop, "stop", false, "end the running watch")
	return tries(c, 2, func(args []string) error {
		o.folders = args
		return watchMain(o)
	})
}

func watchMain(o watchOptions) error {
	store, err := openStore()
	if err != nil {
		return err
	}
	place := watchPlace{filepath.Join(store.Path(), "watch")}
	switch {
	case o.status && o.stop:
		return errors.New("--status and --stop are two calls")
	case o.status:
		return watchStatus(place)
	case o.stop:
		return watchStop(place)
	}
	var run []string
	if o.run != "" {
		if run, err = commandWords(o.run); err != nil {
			return fmt.Errorf("--run: %w", err)
		}
	}
	for i, f := range o.folders {
		if o.folders[i], err = realFolder(f); err != nil {
			return err
		}
	}
	held, err := place.hold()
	if err != nil {
		return err
	}
	defer held.Close()
	return watchFor(store, place, o, run)
}

// commandWords cuts a command that was given as one text into its words.
func commandWords(text string) ([]string, error) {
	words, err := shlex.Split(text)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	if len(words) == 0 { // empty, or shlex takes it for a comment
		return nil, fmt.Errorf("%q is no command", text)
	}
	return words, nil
}

// These are variables for tests: what watch looks at, and what it searches with.
var (
	watchMachine = retune.ThisMachine()
	watchTools   func() (agent, replayer string, err error)
	watchSearch  func(*policy.Options)
)

// watchFor watches until a signal ends it.
func watchFor(store *cache.Store, place watchPlace, o watchOptions, run []string) error {
	retune.LowerPriority()
	ctx, stop := ended(context.Background())
	defer stop()
	lines := place.logger()
	files := edits.New(edits.Options{})
	defer files.Close()
	_ = os.Remove(place.file("status.json")) // it is another watch's
	world, err := retune.New(ctx, retune.Options{Store: store, Folders: o.folders,
		Run:    run,
		Budget: watchBudget, Version: ownVersion(), Debug: func(text string) { lines.Print(text) },
		Machine: watchMachine, GPU: gpu, Tools: watchTools, Search: watchSearch})
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	defer world.Close()
	notes := noteChanges(ctx, filepath.Join(store.Path(), "spool"), filepath.Join(store.Path(), "captures", "launches"))
	base := watch.Status{PID: os.Getpid(), Version: version, Since: time.Now(), Folders: o.folders}
	teller := &teller{place: place, files: files}
	defer teller.write()
	w := watch.New(world, watch.Options{Tries: retune.Jobs(), Runs: len(run) > 0, Base: base, Watch: files.Set,
		OnStatus: teller.tell, Log: func(e watch.Event) {
			lines.Print(sentence(e))
			fmt.Fprintf(stderr, "gnvcc watch: %s %s\n", time.Now().Format(time.TimeOnly), sentence(e))
		}})
	if err := w.Run(ctx, files.Changes(), notes); ctx.Err() == nil {
		return err
	}
	return nil
}

// A watchPlace is the folder in the store that a watch keeps its lock, status and log in.
type watchPlace struct{ dir string }

func (p watchPlace) file(name string) string { return filepath.Join(p.dir, name) }

// machineLock is the file that the one watch of a machine holds.
func machineLock() string { return filepath.Join(os.TempDir(), "gnvcc-watch.lock") }

// hold takes both locks: that of the store and that of the machine. The kernel takes them away with
// the process, however that ends.
func (p watchPlace) hold() (*heldLocks, error) {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder for gnvcc watch: %w", err)
	}
	own, err := os.OpenFile(p.file("lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the lock of gnvcc watch: %w", err)
	}
	if syscall.Flock(int(own.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		pid := readPID(own)
		own.Close()
		return nil, fmt.Errorf("gnvcc watch is running already (process %d); gnvcc watch --status shows what it does", pid)
	}
	h := &heldLocks{own: own}
	h.machine, err = openShared(machineLock())
	if err == nil && syscall.Flock(int(h.machine.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		h.Close()
		return nil, fmt.Errorf("another gnvcc watch is running on this machine, with another store: one is enough (it holds %s)", machineLock())
	}
	if err != nil {
		h.Close()
		return nil, fmt.Errorf("the machine's lock of gnvcc watch: %w", err)
	}
	if err := own.Truncate(0); err == nil {
		fmt.Fprintln(own, os.Getpid())
	}
	return h, nil
}

type heldLocks struct{ own, machine *os.File }

func (h *heldLocks) Close() {
	if h.machine != nil {
		h.machine.Close()
	}
	h.own.Close()
}

// openShared opens a lock file that other users may have made: it is for locking alone, nothing is
// read from it or written to it.
func openShared(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		if f, err = os.OpenFile(path, os.O_RDONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW,
			0o644); errors.Is(err, os.ErrExist) {
			f, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
		}
	}
	return f, err
}

func readPID(f *os.File) int {
	text := make([]byte, 32)
	n, _ := f.ReadAt(text, 0)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	return pid
}

// running gives the process that watches with this store, 0 if none does.
func (p watchPlace) running() int {
	f, err := os.Open(p.file("lock"))
	if err != nil {
		return 0
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		return 0
	}
	return readPID(f)
}

// watchStop ends the running watch, and waits until it has ended.
func watchStop(p watchPlace) error {
	pid := p.running()
	if pid <= 1 {
		fmt.Fprintln(console, "gnvcc watch is not running")
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("end process %d: %w", pid, err)
	}
	for range 100 {
		time.Sleep(100 * time.Millisecond)
		if p.running() != pid {
			fmt.Fprintln(console, "gnvcc watch has ended")
			return nil
		}
	}
	return fmt.Errorf("process %d was told to end, and has not after 10 s", pid)
}

// watchStatus prints what the running watch says, or the last one said: then the exit code is 1.
func watchStatus(p watchPlace) error {
	pid := p.running()
	var s watch.Status
	text, err := os.ReadFile(p.file("status.json"))
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	s.PID = pid
	switch {
	case errors.Is(err, os.ErrNotExist) && pid == 0:
		fmt.Fprintln(console, "gnvcc watch is not running, and never was with this store")
		return exit(1)
	case errors.Is(err, os.ErrNotExist):
		fmt.Fprintf(console, "gnvcc watch (process %d) is just starting\n", pid)
		return nil
	case err == nil:
		printStatus(s)
	}
	if err != nil {
		return fmt.Errorf("the status of gnvcc watch: %w", err)
	}
	if pid == 0 {
		return exit(1)
	}
	return nil
}

func printStatus(s watch.Status) {
	if s.PID == 0 {
		fmt.Fprintf(console, "gnvcc watch is not running; at %s it said:\n", s.At.Format(time.DateTime))
	} else {
		fmt.Fprintf(console, "gnvcc watch (process %d) since %s\n", s.PID, s.Since.Format(time.DateTime))
	}
	fmt.Fprintf(console, "%d files in %d folders, of %d commands\n", s.Files, s.Watched, s.Commands)
	if s.Swept > 0 {
		fmt.Fprintf(console, "%d folders are looked at every few seconds: %s\n", s.Swept, s.WhySwept)
	}
	if s.Paused != "" {
		fmt.Fprintln(console, "resting:", s.Paused)
	}
	for _, d := range s.Doing {
		fmt.Fprintln(console, strings.Replace(d, "tuning ", "tuning: ", 1))
	}
	if s.Idle && s.PID != 0 {
		fmt.Fprintln(console, "nothing to do")
	}
	for _, f := range s.Failing {
		fmt.Fprintf(console, "%s can't be run again now: %s\n", f.Command, f.Why)
	}
	folder, _ := os.Getwd()
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	here := &scope{folder: folder, real: map[string]string{}}
	for _, x := range s.Waiting {
		fmt.Fprintf(console, "%s (%s): %s", policy.ShortName(x.Kernel), here.short(x.Source), x.Why)
		if x.Run {
			fmt.Fprint(console, "; it waits for the next run (gnvcc tune -- ./app, or gnvcc watch --run)")
		}
		fmt.Fprintln(console)
	}
	for _, u := range s.Unobserved {
		fmt.Fprintf(console, "%s: of its %s no launch is captured: it waits for a first run (gnvcc tune -- ./app)\n",
			here.short(u.Source), policy.Count(u.Kernels, "kernel"))
	}
	for _, d := range s.Done {
		what := "best as it is"
		if d.Recipe != "" {
			what = fmt.Sprintf("%s, %.2f times as fast", d.Recipe, 1/max(d.Ratio, 1e-9))
		} else if d.Why != "" {
			what = "left alone: " + d.Why
		}
		fmt.Fprintf(console, "%s %s: %s (%d candidates, %.1f s after the edit)\n", d.When.Format(time.TimeOnly), policy.ShortName(d.Kernel), what, d.Candidates, d.Took)
	}
}

// What gnvcc watch writes down, and how it learns of builds.

// maxLog is how large the log may be when a watch begins, bytes; then it is put aside, in place of
// the one before.
const maxLog = 1 << 20

// logger writes lines to the log file.
func (p watchPlace) logger() *log.Logger {
	path := p.file("log")
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		_ = os.Rename(path, path+".1")
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(stderr, "gnvcc watch: there is no log:", err)
		return log.New(io.Discard, "", 0)
	}
	return log.New(f, fmt.Sprintf("[%d] ", os.Getpid()), log.LstdFlags|log.Lmsgprefix)
}

// sentence is an event for people.
func sentence(e watch.Event) string {
	name := policy.ShortName(e.Kernel)
	switch e.What {
	case "watching":
		switch {
		case e.Commands == 0:
			return "no builds known here: build with gnvcc in nvcc's place, then gnvcc tune -- ./app; what is built is watched from then on"
		case e.Candidates == 0:
			return fmt.Sprintf(
				"watching %d files; no launches captured yet: gnvcc tune -- ./app captures some", e.Files)
		}
		return fmt.Sprintf("watching %d files, %d launches of their kernels are captured", e.Files,
			e.Candidates)
	case "edited":
		if e.Files == 1 {
			return fmt.Sprintf("%s was edited; compile commands that read it: %d", e.Text, e.Commands)
		}
		return fmt.Sprintf("%d files were edited (%s, ...); compile commands that read them: %d", e.Files,
			e.Text, e.Commands)
	case "known":
		return e.Command + ": as it was before"
	case "tried":
		return fmt.Sprintf("%s: run again (%.1f s)", e.Command, e.Took.Seconds())
	case "tuned":
		if e.Err != nil {
			return fmt.Sprintf("%s: %v", name, e.Err)
		}
		return fmt.Sprintf("%s: %s (%d candidates, %.1f s)", name, e.Text, e.Candidates, e.Took.Seconds())
	case "waits":
		return fmt.Sprintf("%s waits: %s", name, e.Text)
	case "paused":
		return "resting: " + e.Text
	case "run":
		if e.Err != nil {
			return fmt.Sprintf("the program was run for %s: %v", e.Text, e.Err)
		}
		return fmt.Sprintf("the program was run for %s (%.1f s)", e.Text, e.Took.Seconds())
	}
	if e.Err != nil {
		return fmt.Sprintf("%s%s: %v", e.Command, e.Text, e.Err)
	}
	return e.What + ": " + e.Command + e.Text
}

// noteEvery is how often the store's folders are looked at: what builds and runs leave there appears
// in one step.
const noteEvery = 500 * time.Millisecond

// noteChanges reports when something new is in one of some folders.
func noteChanges(ctx context.Context, dirs ...string) <-chan struct{} {
	out := make(chan struct{}, 1)
	list := func() map[string]bool {
		names := map[string]bool{}
		for _, dir := range dirs {
			entries, _ := os.ReadDir(dir)
			for _, e := range entries {
				names[e.Name()] = true
			}
		}
		return names
	}
	had := list()
	go func() {
		every := time.NewTicker(noteEvery)
		defer every.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-every.C:
			}
			now, news := list(), false
			for name := range now {
				news = news || !had[name]
			}
			if had = now; !news {
				continue
			}
			select {
			case out <- struct{}{}:
			default: // one is waiting to be seen
			}
		}
	}()
	return out
}

// A teller writes the status file, the newest status alone.
type teller struct {
	place  watchPlace
	files  *edits.Watcher
	mu     sync.Mutex
	newest watch.Status
	timer  *time.Timer // not nil: a status waits to be written
}

// tellEvery is how often the status file is written at most.
const tellEvery = 100 * time.Millisecond

func (t *teller) tell(s watch.Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !s.At.After(t.newest.At) {
		return // an older one came later
	}
	if t.newest = s; t.timer == nil {
		t.timer = time.AfterFunc(tellEvery, t.write)
	}
}

// write writes what waits.
func (t *teller) write() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil {
		return
	}
	t.timer.Stop()
	t.timer = nil
	s, state := t.newest, t.files.State()
	s.Files, s.Watched, s.Swept, s.WhySwept = state.Files, state.Folders, state.Swept, state.Why
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return
	}
	path := t.place.file("status.json")
	if os.WriteFile(path+".new", text, 0o600) == nil { // a full disk: the status stays an old one
		_ = os.Rename(path+".new", path)
	}
}
