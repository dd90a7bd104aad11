package driver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"

	"gnvcc/cache"
	"gnvcc/rewrite/ptx"
)

// Applying: the recorded compile commands whose kernels are now wanted otherwise than they were built are run again, in place. No source has changed,
// so make would not; the objects are newer afterwards, so that make links them.
//
// Which commands: the last one that is known to have written its output, with the newest assembly of each of its
// files and targets. A command is left alone, and named, when its folder or a source is gone, when its output is not there (make will build
// it), or when it has read from standard input.

// A rerun is a command to run again.
type rerun struct {
	hash    string
	command cache.Command
	changes []change
}

// A change is a kernel that is wanted otherwise than it was built.
type change struct {
	kernel, target   string
	built, wanted    string
	identity, source string
}

// errApply is wrapped where commands failed.
var errApply = errors.New("not all could be built again")

// atOnce is how many commands are run at a time: as many as there are processors; below a make that counts its jobs (make -j) one, since that is what
// this call was given a token for.
func atOnce() int {
	if strings.Contains(os.Getenv("MAKEFLAGS"), "--jobserver-") { // -auth=, make 4.2 and later, or -fds=
		return 1
	}
	return runtime.GOMAXPROCS(0)
}

// Apply runs the commands again, and gives the number of those that did.
func Apply(ctx context.Context, store *cache.Store, out io.Writer) (int, error) {
	Sweep(os.TempDir()) // what is left there is no reason to fail
	if err := publish(ctx, store); err != nil {
		return 0, fmt.Errorf("bring the decisions up to date: %w", err)
	}
	runs, left, err := Pending(store)
	if err != nil {
		return 0, err
	}
	for _, l := range left {
		fmt.Fprintln(out, "gnvcc: left alone:", l)
	}
	if len(runs) == 0 {
		fmt.Fprintln(out, "gnvcc: everything that was built with gnvcc has its recipes")
		return 0, nil
	}
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("gnvcc's own file: %w", err)
	}
	jobs := min(atOnce(), len(runs))
	fmt.Fprintf(out, "gnvcc: %s to run again, %d at a time\n", count(len(runs), "command"), jobs)
	var mu sync.Mutex
	var wg sync.WaitGroup
	done, failed := 0, 0
	next := make(chan *rerun)
	for range jobs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for r := range next {
				begun := time.Now()
				said, err := r.run(ctx, self, store.Path())
				mu.Lock()
				if err == nil {
					done++
				} else {
					failed++
				}
				fmt.Fprintf(out, "gnvcc: [%d/%d] %s (%.1f s)\n", done+failed, len(runs), r, time.Since(begun).Seconds())
				if err != nil {
					fmt.Fprintf(out, "gnvcc: failed: %v; what was there is as it was\n%s", err, said)
				}
				mu.Unlock()
			}
		}()
	}
	for _, r := range runs {
		if ctx.Err() != nil {
			break
		}
		next <- r
	}
	close(next)
	wg.Wait()
	if ctx.Err() != nil {
		return done, ctx.Err()
	}
	// What became of it: a recipe that could not be carried out is told, and is not tried again until it changes.
	ix := readIndex(store)
	for _, r := range runs {
		for _, c := range r.changes {
			if reason := ix.reason(r.hash, c); reason != "" {
				fmt.Fprintf(out, "gnvcc: %s stays as it is: %s\n", c.kernel, reason)
			}
		}
	}
	if failed > 0 {
		return done, fmt.Errorf("%w: %d of %d commands failed", errApply, failed, len(runs))
	}
	return done, nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// publish merges and publishes what is spooled. That another is the owner just now is no failure: what was published counts.
func publish(ctx context.Context, store *cache.Store) error {
	owner, err := store.Own(ctx)
	if errors.Is(err, cache.ErrOwned) {
		return nil
	}
	if err != nil {
		return err
	}
	defer owner.Close()
	if _, err := owner.Merge(); err != nil {
		return err
	}
	return owner.Publish()
}

// Pending lists what Apply would run, and what it leaves alone with the reasons.
func Pending(store *cache.Store) (runs []*rerun, left []string, err error) {
	sn, err := store.Snapshot()
	if errors.Is(err, cache.ErrNone) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer sn.Close()
	ix := readIndex(store)
	for hash, units := range ix.byCommand(store) {
		var changes []change
		for _, a := range units {
			changes = append(changes, changesOf(store, sn, a)...)
		}
		if len(changes) == 0 {
			continue
		}
		c, err := loadCommand(store, hash)
		if err != nil {
			left = append(left, fmt.Sprintf("%s: its command is not in the store any more; build it once more", changes[0].kernel))
			continue
		}
		if !isLast(store, hash, c) {
			continue // another command writes that file now
		}
		r := &rerun{hash, c, changes}
		if why := r.impossible(); why != "" {
			left = append(left, fmt.Sprintf("%s: %s", r, why))
			continue
		}
		runs = append(runs, r)
	}
	sort.Slice(runs, func(i, j int) bool { return runs[i].String() < runs[j].String() })
	sort.Strings(left)
	return runs, left, nil
}

// byCommand groups the assemblies by command, the newest of each source file and target.
func (ix *index) byCommand(store *cache.Store) map[string]map[string]cache.Assembly {
	out := map[string]map[string]cache.Assembly{}
	for _, list := range ix.assemblies {
		for _, a := range list {
			if a.Command == "" {
				continue
			}
			unit := a.Target + "\x00" + sourceOf(store, a)
			units := out[a.Command]
			if units == nil {
				units = map[string]cache.Assembly{}
				out[a.Command] = units
			}
			if old, ok := units[unit]; !ok || a.Time.After(old.Time) {
				units[unit] = a
			}
		}
	}
	return out
}

// sourceOf names the source file of an assembly, "" where that is not known.
func sourceOf(store *cache.Store, a cache.Assembly) string {
	if t, ok := loadTranslation(store, a.PTX); ok {
		return t.Source
	}
	return ""
}

// changesOf compares an assembly with what is wanted now.
func changesOf(store *cache.Store, sn *cache.Snapshot, a cache.Assembly) []change {
	if call, err := readPtxas(a.Args); err != nil || call.debug {
		return nil
	}
	c, err := loadCommand(store, a.Command)
	getenv := os.Getenv
	if err == nil {
		getenv = recordedEnv(c)
	}
	recipes, _ := wanted(sn, a.Kernels, askerOf(store, a.Command, getenv))
	var out []change
	for _, k := range a.Kernels {
		want := recipes[k.Name].String()
		if want == k.Recipe || want != "" && strings.HasPrefix(k.Reason, want+": ") {
			continue
		}
		out = append(out, change{k.Name, a.Target, k.Recipe, want, k.Identity, sourceOf(store, a)})
	}
	return out
}

// reason says why a change was not made after all, from the record of the run.
func (ix *index) reason(command string, c change) string {
	var newest time.Time
	reason := ""
	for _, list := range ix.assemblies {
		for _, a := range list {
			if a.Command != command || a.Target != c.target || a.Time.Before(newest) {
				continue
			}
			for _, k := range a.Kernels {
				if k.Name == c.kernel && k.Identity == c.identity {
					newest, reason = a.Time, ""
					if k.Recipe != c.wanted {
						reason = k.Reason
					}
				}
			}
		}
	}
	return reason
}

// String is the command for people: its sources, or its output.
func (r *rerun) String() string {
	l := r.line()
	name := strings.Join(l.Inputs, " ")
	if l.Output != "" {
		name += " -> " + l.Output
	}
	var kernels []string
	for _, c := range r.changes {
		text := c.wanted
		if text == "" {
			text = "nvcc's own"
		}
		kernels = append(kernels, ptx.Plain(c.kernel)+": "+text)
	}
	const most = 3
	if len(kernels) > most {
		kernels = append(kernels[:most], fmt.Sprintf("and %d more", len(kernels)-most))
	}
	return name + " [" + strings.Join(kernels, "; ") + "]"
}

func (r *rerun) line() *Line { return ReadLine(r.command.Args, recordedEnv(r.command)) }

// recordedEnv looks variables up in a recorded command.
func recordedEnv(c cache.Command) func(string) string {
	return func(name string) string {
		for _, setting := range c.Env {
			if value, ok := strings.CutPrefix(setting, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// impossible says why a command can't be run again, "" if it can.
func (r *rerun) impossible() string {
	if info, err := os.Stat(r.command.Dir); err != nil || !info.IsDir() {
		return "its folder " + r.command.Dir + " is gone"
	}
	l := r.line()
	if l.Stdin {
		return "it reads standard input"
	}
	for _, in := range l.Inputs {
		if _, err := os.Stat(inside(r.command.Dir, in)); err != nil {
			return in + " is gone"
		}
	}
	if l.Output != "" {
		if _, err := os.Stat(l.Target(r.command.Dir)); err != nil {
			return "its output is not there; the next build makes it, with the recipes"
		}
	}
	return ""
}

func inside(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// run runs the command again, as its user did. It gives what was printed.
func (r *rerun) run(ctx context.Context, self, store string) (string, error) {
	cmd := exec.CommandContext(ctx, self, r.command.Args...)
	cmd.Args[0] = "gnvcc"
	cmd.Dir = r.command.Dir
	cmd.Env = without(restored(r.command.Env, os.Environ()), varChain, varDepth, varOff, varReuse, "PWD", "GNVCC_STORE")
	cmd.Env = append(cmd.Env, "PWD="+r.command.Dir, "GNVCC_STORE="+store, varReuse+"=1")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// SIGINT: nvcc removes its temporary files then.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	return said.String(), err
}
