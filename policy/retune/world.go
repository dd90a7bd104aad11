package retune

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/apply"
	"gnvcc/driver/environment"
	"gnvcc/driver/record"
	"gnvcc/driver/toolkit"
	"gnvcc/policy"
	"gnvcc/policy/edits"
	"gnvcc/policy/tuner"
	"gnvcc/policy/watch"
	"gnvcc/profile/capture"
	"gnvcc/rewrite/ptx"
)

// Options are what a World is made of.
type Options struct {
	Store   *cache.Store
	Folders []string // only what was built from or into these; nil: all
	Run     []string // the user's command, nil: none
	Budget  time.Duration
	Version string // gnvcc's
	Debug   func(text string)

	Machine Machine
	GPU     tuner.GPU // nil: this machine's
	// gives the agent and the replayer; nil: they are built
	Tools func() (agent, replayer string, err error)
	// may change a search's options; may be nil
	Search func(*policy.Options)
}

// A World is what gnvcc watch acts on: driver's commands and compiler, policy's search, captured
// launches.
type World struct {
	o         Options
	store     *cache.Store
	captures  *capture.Store
	compiler  *tuner.Compiler
	decisions *tuner.Decisions
	toolkit   string
	scratch   string

	mu       sync.Mutex
	builds   *apply.Builds
	units    map[string]record.Unit // by their cubins' hashes: of commands that were run again
	launches map[string]keptLaunch  // manifests that were read, by ID
	others   []int                  // processes that used the GPU when a search began
	tuning   bool
	tuned    time.Time // the last search ended
	load     loads
}

// A keptLaunch is what a manifest says that does not depend on builds.
type keptLaunch struct {
	written time.Time
	watch.Captured
	cubin string
}

// New makes one; Close removes its scratch folder.
func New(ctx context.Context, o Options) (*World, error) {
	decisions, err := tuner.OpenDecisions(ctx, o.Store)
	if err != nil {
		return nil, err
	}
	s, err := tuner.Captures(o.Store)
	if err != nil {
		return nil, err
	}
	self, _ := os.Executable()
	kit, err := toolkit.Find(self, environment.Read())
	if err != nil {
		return nil, err
	}
	c, err := tuner.NewCompiler(o.Store)
	if err != nil {
		return nil, err
	}
	w := &World{o: o, store: o.Store, captures: s, compiler: c, decisions: decisions,
		toolkit: kit.Dir(), scratch: c.Folder(), units: map[string]record.Unit{},
		launches: map[string]keptLaunch{}, load: loads{ask: o.Machine.Load}}
	if w.o.Tools == nil {
		w.o.Tools = func() (string, string, error) { return tuner.Tools(ctx, o.Store) }
	}
	return w, nil
}

func (w *World) Close() { w.compiler.Close() }

// Commands is watch.World's: what builds have recorded.
func (w *World) Commands() ([]watch.Command, error) {
	if err := w.decisions.Publish(); err != nil && !errors.Is(err, cache.ErrOwned) {
		return nil, err
	}
	b := apply.ReadBuilds(w.store)
	w.mu.Lock()
	w.builds = b
	w.mu.Unlock()
	var out []watch.Command
	for _, x := range b.Commands(w.o.Folders) {
		out = append(out, w.command(x))
	}
	return out, nil
}

func (w *World) command(b apply.Built) watch.Command {
	near, far := w.sides(b.Files)
	c := watch.Command{Built: b, Read: edits.Files{Near: near, Far: far, Tools: b.Tools}}
	for _, u := range b.Units {
		if u.Time.After(c.When) {
			c.When = u.Time
		}
		for _, k := range u.Kernels {
			c.Kernels = append(c.Kernels, watch.Kernel{Name: k.Name, Identity: k.Identity, Source: u.Source,
				CC: ptx.Capability(u.Target), Cubin: u.Cubin, Reloc: u.Reloc})
		}
	}
	slices.SortFunc(c.Kernels, func(a, b watch.Kernel) int {
		return strings.Compare(a.Identity+a.Name, b.Identity+b.Name)
	})
	return c
}

// Try is watch.World's.
func (w *World) Try(ctx context.Context, c watch.Command) (watch.Command, error) {
	trial, err := apply.Try(ctx, w.store, c.Hash)
	if err != nil {
		return c, err
	}
	w.mu.Lock()
	for _, u := range trial.Units {
		w.units[u.Cubin] = u
	}
	w.mu.Unlock()
	c.Files, c.Units, c.Stale = trial.Files, trial.Units, false
	now := w.command(c.Built)
	now.When = time.Now()
	return now, nil
}

// Captured is watch.World's.
func (w *World) Captured() ([]watch.Captured, error) {
	files, err := os.ReadDir(filepath.Join(w.captures.Path(), "launches"))
	if err != nil {
		return nil, fmt.Errorf("look at the captures: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	there := map[string]bool{}
	var out []watch.Captured
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), ".json")
		info, err := f.Info()
		if !ok || err != nil {
			continue
		}
		known, ok := w.launches[id]
		if !ok || !known.written.Equal(info.ModTime()) {
			m, err := w.captures.Load(id)
			if err != nil {
				continue // gnvcc doctor --captures says so
			}
			known = keptLaunch{info.ModTime(), watch.Captured{ID: id, Program: m.Program, Kernel: m.Kernel,
				CC: m.Major*10 + m.Minor, Device: m.Device, Made: m.Made, Weight: m.Weight()}, m.Cubin}
			w.launches[id] = known
		}
		there[id] = true
		for _, p := range w.builds.Of(known.cubin, known.Kernel) {
			if cc := ptx.Capability(p.Target); cc != 0 && cc != known.CC {
				continue // compiled by the driver from PTX of another target
			}
			c := known.Captured
			c.Place = p
			out = append(out, c)
		}
	}
	for id := range w.launches {
		if !there[id] {
			delete(w.launches, id)
		}
	}
	return out, nil
}

// Decided is watch.World's.
func (w *World) Decided(identity, device string) bool {
	return slices.ContainsFunc(w.decisions.Known(identity), func(d cache.Decision) bool {
		return d.Evidence.Device == device && !d.Approximate() && !d.Pinned
	})
}

// sides parts a user's own files from headers of toolkits and of the system, which change with an
// upgrade only.
func (w *World) sides(files []string) (near, far []string) {
	for _, f := range files {
		if strings.HasPrefix(f, "/usr/") && !strings.HasPrefix(f, "/usr/local/src/") &&
			!strings.HasPrefix(f, "/usr/src/") ||
			strings.HasPrefix(f, w.toolkit+"/") || strings.Contains(f, "/lib/gcc/") {
			far = append(far, f)
		} else {
			near = append(near, f)
		}
	}
	return near, far
}

// Busy is watch.World's.
func (w *World) Busy(gpu bool) string {
	if w.o.Machine.onBattery() {
		return "the machine runs on battery"
	}
	here := w.o.Machine.HasDriver()
	w.mu.Lock()
	ours := w.tuning || time.Since(w.tuned) < settling
	w.mu.Unlock()
	if !gpu {
		if here && !ours { // a search may follow: then the answer is there
			go w.load.now()
		}
		return ""
	}
	if !here {
		return "there is no NVIDIA driver here: launches can't be repeated"
	}
	users := gpuUsers()
	w.mu.Lock()
	others := w.others
	w.mu.Unlock()
	if ours { // its load is ours: who has come since counts
		for _, pid := range users {
			if !slices.Contains(others, pid) {
				return fmt.Sprintf("process %d uses the GPU", pid)
			}
		}
		return ""
	}
	load, known := w.load.now()
	switch {
	case known && load >= busyFrom:
		return fmt.Sprintf("the GPU is busy with work of others (%d %%)", load)
	case !known && len(users) > 0:
		return fmt.Sprintf("process %d uses the GPU", users[0])
	}
	w.mu.Lock()
	w.others = users
	w.mu.Unlock()
	return ""
}

// settling is how long nvidia-smi may still count what a search did on the GPU; its mean is over a
// second at most.
const settling = 3 * time.Second

// Run is watch.World's: the user's program, under gnvcc tune, for the kernels that wait for it
// alone.
func (w *World) Run(ctx context.Context, kernels []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var names []string
	for _, k := range kernels {
		names = append(names, regexp.QuoteMeta(k))
	}
	args := []string{"tune", "--quiet", "--kernels",
		"^(" + strings.Join(names, "|") + ")$", "--"}
	cmd := exec.CommandContext(ctx, self, append(args, w.o.Run...)...)
	cmd.Args[0] = "gnvcc"
	cmd.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", Jobs()))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(w.o.Run, " "), err, lastLine(string(out)))
	}
	return nil
}

// Program is watch.World's.
func (w *World) Program() string {
	if len(w.o.Run) == 0 {
		return ""
	}
	path, err := exec.LookPath(w.o.Run[0])
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.ModTime().UnixNano(), info.Size())
}

// know lets the compiler find a module that no build has recorded.
func (w *World) know(cubin string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if u, ok := w.units[cubin]; ok {
		w.compiler.Know(u)
	}
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
