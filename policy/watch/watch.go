package watch

import (
	"cmp"
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"gnvcc/driver/apply"
	"gnvcc/policy/edits"
)

// A Command is a recorded compile command, with what it gives.
type Command struct {
	apply.Built
	Read    edits.Files // its files and tools, as they are watched
	Kernels []Kernel
	When    time.Time // it was built, or run again
}

// edited reports whether a file of a command was written after it was built, or a tool is another
// one.
func (c *Command) edited() bool {
	return c.Stale || slices.ContainsFunc(slices.Concat(c.Files, c.Tools), func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || info.ModTime().After(c.When)
	})
}

func (c *Command) sources() []string {
	var out []string
	for _, k := range c.Kernels {
		if !slices.Contains(out, k.Source) {
			out = append(out, k.Source)
		}
	}
	return out
}

// An Outcome is what tuning a kernel gave.
type Outcome struct {
	Recipe     string  // "": best as it is
	Ratio      float64 // its time over the default's; 0 without a recipe
	Launch     float64 // what a launch takes without a recipe, seconds; 0: not measured
	Candidates int     // measured
	Why        string  // it was left alone; "" where there is a decision
	Run        bool    // a run of the program would help
}

// A World does what watch asks for.
type World interface {
	// Commands gives the recorded commands as they were built last.
	Commands() ([]Command, error)
	// Try runs a command again as its sources are now.
	Try(ctx context.Context, c Command) (Command, error)
	// Captured gives the launches that there are.
	Captured() ([]Captured, error)
	// Stale says why a kernel that is as it was captured is to be tuned again, on these captures.
	Stale(k Kernel, list []Captured) News
	// Decided reports whether there is a decision for a kernel on a GPU.
	Decided(identity, device string) bool
	// Tune searches for a recipe, and keeps the decision. An error: it was interrupted, and is to be
	// done again.
	Tune(ctx context.Context, j Job) (Outcome, error)
	// Busy says why nothing should be run on this machine now (battery), or nothing on the GPU; "":
	// all is free.
	Busy(gpu bool) string
	// Run runs the user's program, for launches of kernels. It is asked only where Options.Runs says
	// so.
	Run(ctx context.Context, kernels []string) error
	// Program shows by another text that this program has been built anew.
	Program() string
}

// Options of a Watcher.
type Options struct {
	Tries  int           // commands run at a time
	Settle time.Duration // a build is over when it has noted nothing for so long (usual: 5 s)
	// before a command is tried again that failed by no fault of its sources (usual: 1 min)
	Retry    time.Duration
	Pause    time.Duration     // between looks at whether the machine is free again (usual: 5 s)
	Runs     bool              // World.Run may be asked
	Watch    func(edits.Files) // has files watched from now on
	Base     Status            // what the status begins with
	Log      func(Event)
	OnStatus func(Status) // is called when the status has changed
}

// An Event is something to be logged.
type Event struct {
	What            string // "edited", "tried", "tuned", "waits", "failed", "paused", ...
	Kernel, Command string
	Files, Commands int
	Text            string
	Took            time.Duration
	Candidates      int
	Err             error
}

// A Watcher is the loop.
type Watcher struct {
	o     Options
	world World

	mu      sync.Mutex
	changed chan struct{} // closed when something has

	base     Status
	built    map[string]Command  // as they were built, by hash
	commands map[string]Command  // as they are now
	byFile   map[string][]string // hashes of commands
	match    *match
	results  map[string][]result // of earlier runs, by command

	dirty   map[string]bool // commands to be run again
	trying  map[string]context.CancelFunc
	failing map[string]string
	retry   map[string]time.Time // when those are tried again that failed by no fault of their sources

	tuning  *Job
	cancel  context.CancelFunc // of the tuning
	decided map[[2]string]bool // identity and device
	left    map[string]left    // kernels that were left alone, by identity
	history map[place][]string // identities that were decided, the last one first
	ran     map[string]string  // identities for which the program was run, with what Program said
	gpu     sync.Mutex         // held by who uses the GPU: a search, or the user's program

	noticed time.Time       // the last edit
	noted   time.Time       // when something was noted last
	paused  map[bool]string // why nothing is run; true: on the GPU
	doing   map[string]bool
	logged  map[string]bool // waits
	last    []Done

	measured              map[string]int
	batches, tried, tuned int
}

// A left is why a kernel was left alone, and what the search rested on.
type left struct {
	why string
	run bool
	on  string
}

// A result is what a command gave for certain contents of its files.
type result struct {
	digest  string
	command Command
}

// New makes a loop; Run starts it.
func New(world World, o Options) *Watcher {
	o.Settle, o.Pause = cmp.Or(o.Settle, 5*time.Second), cmp.Or(o.Pause, 5*time.Second)
	o.Retry = cmp.Or(o.Retry, time.Minute)
	return &Watcher{o: o, world: world, base: o.Base, changed: make(chan struct{}),
		built: map[string]Command{}, commands: map[string]Command{}, byFile: map[string][]string{},
		match:   newMatch(world, nil),
		results: map[string][]result{}, dirty: map[string]bool{}, trying: map[string]context.CancelFunc{},
		failing: map[string]string{}, retry: map[string]time.Time{}, decided: map[[2]string]bool{},
		left: map[string]left{}, paused: map[bool]string{}, history: map[place][]string{},
		ran: map[string]string{}, doing: map[string]bool{},
		logged: map[string]bool{}, measured: map[string]int{}}
}

// Run works until ctx ends. edits are files whose content has changed; notes comes when a build, or
// a run of a program, has left something in the store.
func (w *Watcher) Run(ctx context.Context, edits <-chan []string, notes <-chan struct{}) error {
	if err := w.reload(true); err != nil {
		return err
	}
	var work sync.WaitGroup
	defer work.Wait()
	for range max(w.o.Tries, 1) {
		work.Go(func() { w.each(ctx, w.tryNext) })
	}
	work.Go(func() { w.each(ctx, w.tuneNext) })
	settled := time.NewTimer(w.o.Settle)
	defer settled.Stop()
	w.stir()
	for {
		select {
		case <-ctx.Done():
			return nil
		case batch := <-edits:
			w.edited(batch)
		case <-notes:
			w.mu.Lock()
			w.noted = time.Now()
			w.mu.Unlock()
			settled.Reset(min(w.o.Settle, time.Second))
			continue
		case <-settled.C:
			if err := w.reload(false); err != nil {
				w.o.Log(Event{What: "failed", Text: "what builds have noted can't be read", Err: err})
			}
			if over := w.o.Settle - time.Since(w.noted); over > 0 {
				settled.Reset(over)
			} else if w.o.Runs && w.runs(ctx, &work) && time.Since(w.noted) < linking {
				settled.Reset(w.o.Settle)
			}
		}
		w.stir()
	}
}

// linking is how long after a build's last note the program may come that it links.
const linking = 10 * time.Minute

// stir lets everybody look again, and prints the status.
func (w *Watcher) stir() {
	w.mu.Lock()
	close(w.changed)
	w.changed = make(chan struct{})
	s := w.status()
	w.mu.Unlock()
	w.o.OnStatus(s)
}

// each does one thing after another, whenever there may be one.
func (w *Watcher) each(ctx context.Context, next func(context.Context) (did bool)) {
	for ctx.Err() == nil {
		w.mu.Lock()
		changed := w.changed
		w.mu.Unlock()
		if next(ctx) {
			w.stir()
			continue
		}
		var again <-chan time.Time // while something stands in the way, it is looked at again
		w.mu.Lock()
		if w.paused[false] != "" || w.paused[true] != "" || len(w.retry) > 0 {
			again = time.After(w.o.Pause)
		}
		w.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-changed:
		case <-again:
		}
	}
}

// reload reads what builds and runs have left in the store. What a build gave counts until a
// command is run again, and again from the next build on.
func (w *Watcher) reload(first bool) error {
	list, err := w.world.Commands()
	if err != nil {
		return err
	}
	captured, err := w.world.Captured()
	if err != nil {
		return err
	}
	m := newMatch(w.world, captured)
	w.mu.Lock()
	w.match = m
	clear(w.decided) // gnvcc pin --forget may have dropped some
	built := map[string]Command{}
	for _, c := range list {
		built[c.Hash] = c
		old, known := w.built[c.Hash]
		if known && sameKernels(old, c) && old.When.Equal(c.When) {
			continue
		}
		tried, has := w.commands[c.Hash]
		w.commands[c.Hash] = c
		if known && has && !sameKernels(tried, c) {
			w.dirty[c.Hash] = true // the build may have been of an older text than the trial
		}
		if _, any := m.weight(c); any {
			switch edited := c.edited(); {
			case edited && !known || w.asks(c):
				w.dirty[c.Hash] = true
			case !edited: // what it gives with its files as they are need not be asked
				w.remember(edits.Digest(c.Read), c)
			}
		}
		delete(w.failing, c.Hash)
	}
	w.built = built
	for hash := range w.commands {
		if _, there := built[hash]; !there {
			delete(w.commands, hash)
			delete(w.dirty, hash)
			delete(w.results, hash)
			delete(w.failing, hash)
			delete(w.retry, hash)
		}
	}
	w.mu.Unlock()
	w.follow()
	if first {
		w.o.Log(Event{What: "watching", Files: len(w.byFile), Commands: len(built),
			Candidates: len(captured)})
	}
	return nil
}

// remember keeps what a command gives for certain contents of its files; w.mu is held.
func (w *Watcher) remember(digest string, c Command) {
	list := append([]result{{digest, c}}, w.results[c.Hash]...)
	w.results[c.Hash] = list[:min(len(list), remembered)]
}

// asks reports whether a kernel of a command, as it was built, is to be tuned: it was edited while
// nobody watched. The command is run again for its module, which a build does not keep; w.mu is
// held.
func (w *Watcher) asks(c Command) bool {
	return slices.ContainsFunc(c.Kernels, func(k Kernel) bool {
		job, _ := w.match.look(c, k)
		return job != nil && job.Again == "" && !w.isDecided(k.Identity, job.Device)
	})
}

func sameKernels(a, b Command) bool { return slices.Equal(a.Kernels, b.Kernels) }

// follow has the files of all commands watched.
func (w *Watcher) follow() {
	w.mu.Lock()
	byFile := map[string][]string{}
	var all edits.Files
	for hash, c := range w.commands {
		add := func(to *[]string, files []string) {
			for _, f := range files {
				if byFile[f] == nil {
					*to = append(*to, f)
				}
				byFile[f] = append(byFile[f], hash)
			}
		}
		add(&all.Near, c.Read.Near)
		add(&all.Far, c.Read.Far)
		add(&all.Tools, c.Read.Tools)
	}
	w.byFile = byFile
	w.mu.Unlock()
	w.o.Watch(all)
}

// edited marks the commands that read one of the files.
func (w *Watcher) edited(batch []string) {
	w.mu.Lock()
	n := 0
	for _, file := range batch {
		for _, hash := range w.byFile[file] {
			if !w.dirty[hash] {
				n++
			}
			w.dirty[hash] = true
			if cancel := w.trying[hash]; cancel != nil {
				cancel() // it is begun again with the files as they are now
			}
		}
	}
	w.noticed = time.Now()
	w.batches++
	w.mu.Unlock()
	text := ""
	if len(batch) > 0 {
		text = batch[0]
	}
	w.o.Log(Event{What: "edited", Files: len(batch), Text: text, Commands: n})
}
