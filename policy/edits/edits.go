package edits

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"gnvcc/cache"
)

// Options of a Watcher; zero values are the usual ones.
type Options struct {
	Quiet time.Duration // changes are reported when none has come for so long (usual: 150 ms)
	// and when the first of them is so old (usual: 10 s): a branch switch is one batch
	Longest time.Duration
	// swept folders are looked at so often (usual: 2 s); more rarely where that takes long
	Sweep time.Duration
	All   time.Duration // and all files so often, in case that something was missed (usual: 5 min)

	notifier func() (*notifier, error) // for tests
	network  func(dir string) string
}

// Files are what is watched. One that is in several lists belongs to the first.
type Files struct {
	Near  []string // the user's own: folders are watched
	Far   []string // a toolkit's and the system's headers: looked at with all files only
	Tools []string // likewise; programs, whose size and times are compared and not their content
}

// A State is how files are watched.
type State struct {
	Files, Folders int
	Swept          int    // folders that inotify does not tell of
	Why            string // the first of them, and the reason
}

// A Watcher watches files.
type Watcher struct {
	o       Options
	changes chan []string
	stop    context.CancelFunc
	done    chan struct{}

	mu      sync.Mutex
	files   map[string]*file
	folders map[string]*folder
	notify  *notifier
	refused string           // why there is no inotify at all
	touched map[string]stamp // files that an event named, zero; or a sweep, as they looked then
	first   time.Time        // of these events
	all     bool             // events were lost: look at everything
	took    time.Duration
	reals   map[string]string // files by their true paths, where these are others
	poke    chan struct{}     // what is watched has changed
}

type file struct {
	look    look
	near    bool
	content bool     // it is compared by content
	folders []string // held for it
	real    string   // its true path, where it is reached by a link; else ""
}

// New begins to watch, nothing yet. Changes come until Close.
func New(o Options) *Watcher {
	o.Quiet, o.Longest = cmp.Or(o.Quiet, 150*time.Millisecond), cmp.Or(o.Longest, 10*time.Second)
	o.Sweep, o.All = cmp.Or(o.Sweep, 2*time.Second), cmp.Or(o.All, 5*time.Minute)
	if o.notifier == nil {
		o.notifier = newNotifier
	}
	if o.network == nil {
		o.network = cache.NetworkFS
	}
	ctx, stop := context.WithCancel(context.Background())
	w := &Watcher{o: o, changes: make(chan []string), stop: stop, done: make(chan struct{}),
		files: map[string]*file{}, folders: map[string]*folder{}, touched: map[string]stamp{},
		reals: map[string]string{}, poke: make(chan struct{}, 1)}
	var err error
	if w.notify, err = o.notifier(); err != nil {
		w.notify, w.refused = nil, err.Error()
	}
	go w.run(ctx)
	return w
}

// Changes gives the files whose content has changed, that have come, or that have gone: each batch
// sorted.
func (w *Watcher) Changes() <-chan []string { return w.changes }

// Close ends it.
func (w *Watcher) Close() {
	w.stop()
	<-w.done
	if w.notify != nil {
		_ = w.notify.close()
	}
}

// State describes how files are watched.
func (w *Watcher) State() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := State{Files: len(w.files), Folders: len(w.folders)}
	s.Swept, s.Why = w.sweptNow()
	return s
}

// Set says which files are watched from now on. What is new is taken as it is now; a change to what
// was watched before is reported as ever.
func (w *Watcher) Set(f Files) {
	w.mu.Lock()
	defer w.mu.Unlock()
	want := map[string]bool{}
	add := func(list []string, near, content bool) {
		for _, path := range list {
			if want[path] {
				continue
			}
			want[path] = true
			if old := w.files[path]; old != nil && old.near == near && old.content == content {
				continue
			} else if old != nil {
				w.drop(path, old)
			}
			n := &file{near: near, content: content}
			if near {
				w.follow(path, n) // before the look: what is written in between is reported
			}
			n.look = at(path, content)
			w.files[path] = n
		}
	}
	add(f.Near, true, true)
	add(f.Far, false, true)
	add(f.Tools, false, false)
	for path, old := range w.files {
		if !want[path] {
			w.drop(path, old)
		}
	}
	select {
	case w.poke <- struct{}{}:
	default:
	}
}

func (w *Watcher) drop(path string, f *file) {
	for _, dir := range f.folders {
		w.release(dir)
	}
	delete(w.reals, f.real)
	delete(w.touched, path)
	delete(w.files, path)
}

// run waits for events and times.
func (w *Watcher) run(ctx context.Context) {
	defer close(w.done)
	var events <-chan fsnotify.Event
	var errs <-chan error
	if w.notify != nil {
		events, errs = w.notify.events, w.notify.errors
	}
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	sweep, all := time.NewTimer(time.Hour), time.NewTimer(w.o.All)
	sweep.Stop()
	sweeps := false // its timer runs
	for {
		var batch []string
		select {
		case <-ctx.Done():
			return
		case <-w.poke:
		case e, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			if w.event(e) {
				quiet.Reset(w.wait())
			}
		case _, ok := <-errs: // the queue has overflowed, or worse: look at everything
			if !ok {
				errs = nil
				continue
			}
			w.lost()
			quiet.Reset(w.o.Quiet)
		case <-quiet.C:
			if batch = w.settle(); w.waits() {
				quiet.Reset(w.o.Quiet)
			}
		case <-sweep.C:
			if w.sweep(w.isSwept) {
				quiet.Reset(w.wait())
			}
			sweeps = false
		case <-all.C:
			if w.sweep(func(*file) bool { return true }) {
				quiet.Reset(w.wait())
			}
			all.Reset(w.o.All)
		}
		if len(batch) > 0 {
			select {
			case w.changes <- batch:
			case <-ctx.Done():
				return
			}
		}
		if !sweeps && w.State().Swept > 0 { // a sweep takes a hundredth of the time at most
			sweep.Reset(max(w.o.Sweep, 100*w.took))
			sweeps = true
		}
	}
}

// event notes what an event names, and reports whether that is of any interest.
func (w *Watcher) event(e fsnotify.Event) bool {
	if e.Op == fsnotify.Chmod {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	path := filepath.Clean(e.Name)
	if f := w.folders[path]; f != nil && e.Op&(fsnotify.Remove|fsnotify.Rename) != 0 {
		f.swept = "the folder was removed, or has another name" // until it is there again
		w.all = true
		return w.note("")
	}
	if f := w.files[path]; f != nil && f.near {
		return w.note(path)
	}
	if name := w.reals[path]; name != "" {
		return w.note(name)
	}
	return false
}

func (w *Watcher) note(path string) bool {
	if w.first.IsZero() {
		w.first = time.Now()
	}
	if path != "" {
		w.touched[path] = stamp{}
	}
	return true
}

// lost notes that events are missing.
func (w *Watcher) lost() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = true
	w.note("")
}

// waits reports whether something was noted.
func (w *Watcher) waits() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.first.IsZero()
}

// wait is how long it is until a batch is reported.
func (w *Watcher) wait() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(min(w.o.Quiet, w.o.Longest-time.Since(w.first)), 0)
}

// settle compares what was touched with what it was, and gives what has changed.
func (w *Watcher) settle() []string {
	w.mu.Lock()
	all := w.all
	w.mu.Unlock()
	if all {
		w.sweep(func(*file) bool { return true })
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all, w.first = false, time.Time{}
	var out []string
	waits := map[string]stamp{}
	for path, seen := range w.touched {
		f := w.files[path]
		if f == nil {
			continue // watched no more
		}
		now := at(path, f.content)
		if seen.there && now.stamp != seen { // it is being written
			waits[path] = now.stamp
			continue
		}
		same := now.same(f.look, f.content)
		f.look = now
		if same {
			continue
		}
		out = append(out, path)
		if f.near { // a link may lead elsewhere now
			w.follow(path, f)
		}
	}
	if w.touched = waits; len(waits) > 0 {
		w.note("")
	}
	slices.Sort(out)
	return out
}

// sweep looks at files by stat, and asks again for folders. What does not look as it did is as good
// as named by an event: it may be half written, and is read a little later. It reports whether a
// batch begins with it; one that has begun waits no longer for what sweeps find.
func (w *Watcher) sweep(which func(*file) bool) bool {
	begun := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	waits := !w.first.IsZero()
	for path, f := range w.files {
		if which(f) && (f.look.fresh || stampOf(path) != f.look.stamp) {
			w.note(path)
			w.touched[path] = stampOf(path)
		}
	}
	w.again()
	w.took = time.Since(begun)
	return !waits && !w.first.IsZero()
}

func (w *Watcher) isSwept(f *file) bool {
	return slices.ContainsFunc(f.folders, func(dir string) bool {
		held := w.folders[dir]
		return held != nil && held.swept != ""
	})
}

// follow holds the folders of a file as they are now: its own, and where it is a link, or lies
// behind one, that of the file itself.
func (w *Watcher) follow(path string, f *file) {
	before := f.folders
	delete(w.reals, f.real)
	f.folders, f.real = []string{filepath.Dir(path)}, ""
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		f.real = real
		w.reals[real] = path
		if dir := filepath.Dir(real); dir != f.folders[0] {
			f.folders = append(f.folders, dir)
		}
	}
	for _, dir := range f.folders {
		w.hold(dir)
	}
	for _, dir := range before {
		w.release(dir)
	}
}
