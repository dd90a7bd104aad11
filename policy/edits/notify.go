package edits

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// Folders. Every folder of a watched file has an inotify watch; where that is refused, or can't be
// believed, the folder is swept.

// A notifier is fsnotify's watcher, of which tests replace parts.
type notifier struct {
	add, remove func(folder string) error
	close       func() error
	events      <-chan fsnotify.Event
	errors      <-chan error
}

func newNotifier() (*notifier, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return &notifier{w.Add, w.Remove, w.Close, w.Events, w.Errors}, nil
}

// A folder of watched files.
type folder struct {
	files int    // watched ones in it
	swept string // why it is swept, "" where inotify reports changes
	inode uint64 // of the folder when inotify was asked: another may stand at its place since
}

// hold has a folder watched.
func (w *Watcher) hold(dir string) {
	f := w.folders[dir]
	if f == nil {
		f = &folder{}
		w.folders[dir] = f
		w.ask(dir, f)
	}
	f.files++
}

// release ends that for one file.
func (w *Watcher) release(dir string) {
	f := w.folders[dir]
	if f == nil {
		return
	}
	if f.files--; f.files <= 0 {
		if w.notify != nil && f.swept == "" {
			_ = w.notify.remove(dir) // it may be gone
		}
		delete(w.folders, dir)
	}
}

// ask asks inotify for a folder.
func (w *Watcher) ask(dir string, f *folder) {
	f.swept = w.refused
	if f.swept != "" {
		return
	}
	if kind := w.o.network(dir); kind != "" {
		f.swept = "inotify does not tell what others write on " + kind
		return
	}
	f.inode = inodeOf(dir)
	err := w.notify.add(dir)
	switch {
	case err == nil:
	case errors.Is(err, syscall.ENOSPC):
		f.swept = "fs.inotify.max_user_watches is reached (sysctl raises it)"
	case errors.Is(err, syscall.EMFILE):
		f.swept = "fs.inotify.max_user_instances is reached (sysctl raises it)"
	default:
		f.swept = err.Error()
	}
}

// again asks once more for folders that inotify does not tell of, since they were not there, or of
// which another one stands at their place.
func (w *Watcher) again() {
	if w.refused != "" {
		return
	}
	for dir, f := range w.folders {
		inode := inodeOf(dir)
		if inode == 0 || f.swept == "" && f.inode == inode {
			continue
		}
		if f.swept == "" {
			_ = w.notify.remove(dir)
		}
		w.ask(dir, f)
	}
}

func inodeOf(dir string) uint64 {
	var st syscall.Stat_t
	if syscall.Stat(dir, &st) != nil {
		return 0
	}
	return st.Ino
}

// sweptNow says how many folders are swept, and why the first of them is.
func (w *Watcher) sweptNow() (n int, why string) {
	for dir, f := range w.folders {
		if f.swept == "" {
			continue
		}
		if n++; why == "" {
			why = fmt.Sprintf("%s: %s", dir, f.swept)
		}
	}
	return n, why
}
