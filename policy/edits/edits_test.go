package edits

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// write writes a file in place, by one call: it is never empty for a moment, which a watcher may
// rightly tell of.
func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(int64(len(text))); err != nil {
		t.Fatal(err)
	}
}

// changes waits for a batch, and gives the names below the folder.
func changes(t *testing.T, w *Watcher, dir string) []string {
	t.Helper()
	select {
	case batch := <-w.Changes():
		var out []string
		for _, path := range batch {
			rel, _ := filepath.Rel(dir, path)
			out = append(out, rel)
		}
		return out
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was reported")
		return nil
	}
}

// nothing says that no batch comes.
func nothing(t *testing.T, w *Watcher, within time.Duration) {
	t.Helper()
	select {
	case batch := <-w.Changes():
		t.Errorf("reported: %q", batch)
	case <-time.After(within):
	}
}

// changed gives notifiers of which a part is another one.
func changed(change func(n *notifier)) func() (*notifier, error) {
	return func() (*notifier, error) {
		n, err := newNotifier()
		if err == nil {
			change(n)
		}
		return n, err
	}
}

// failing are watchers with each fault that makes them sweep, and one without.
func watchers() map[string]Options {
	quick := Options{Quiet: 50 * time.Millisecond, Sweep: 50 * time.Millisecond}
	out := map[string]Options{}
	add := func(name string, change func(*Options)) {
		o := quick
		change(&o)
		out[name] = o
	}
	add("inotify", func(*Options) {})
	add("max_user_watches", func(o *Options) {
		o.notifier = changed(func(n *notifier) {
			n.add = func(string) error { return syscall.ENOSPC }
		})
	})
	add("no inotify", func(o *Options) {
		o.notifier = func() (*notifier, error) { return nil, syscall.EMFILE }
	})
	add("nfs", func(o *Options) { o.network = func(string) string { return "nfs" } })
	return out
}

// TestEdits: what people and their tools do to files, each way of watching.
func TestEdits(t *testing.T) {
	for name, o := range watchers() {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := func(name string) string { return filepath.Join(dir, name) }
			write(t, path("src/a.cu"), "a")
			write(t, path("src/b.cu"), "b")
			write(t, path("include/h.h"), "h")
			write(t, path("true/real.h"), "real")
			if err := os.Symlink("../true/real.h", path("include/link.h")); err != nil {
				t.Fatal(err)
			}
			os.Symlink("loop.h", path("include/loop.h"))
			w := New(o)
			defer w.Close()
			w.Set(Files{Near: []string{path("src/a.cu"), path("src/b.cu"), path("include/h.h"),
				path("include/link.h"), path("include/loop.h"), path("gone/x.h")}})
			want := func(names ...string) {
				t.Helper()
				if got := changes(t, w, dir); !slices.Equal(got, names) {
					t.Errorf("reported: %q, want %q", got, names)
				}
			}
			if s := w.State(); (s.Swept == s.Folders) == (name == "inotify") || s.Files != 6 {
				t.Errorf("%+v", s)
			}
			write(t, path("src/a.cu"), "a2")
			want("src/a.cu")
			// An editor writes beside and renames.
			write(t, path("src/.b.cu.swp"), "b2")
			os.Rename(path("src/.b.cu.swp"), path("src/b.cu"))
			want("src/b.cu")
			// Saved as it was; times touched; another file.
			write(t, path("src/a.cu"), "a2")
			os.Chtimes(path("src/b.cu"), time.Now(), time.Now().Add(-time.Hour))
			write(t, path("src/c.cu"), "c")
			nothing(t, w, 300*time.Millisecond)
			// A clock that goes back: a file's time is earlier than before, its size the same.
			write(t, path("src/a.cu"), "a3")
			os.Chtimes(path("src/a.cu"), time.Unix(1e9, 0), time.Unix(1e9, 0))
			want("src/a.cu")
			os.Remove(path("include/h.h"))
			want("include/h.h")
			write(t, path("include/h.h"), "h2")
			want("include/h.h")
			write(t, path("true/real.h"), "real2")
			want("include/link.h")
			write(t, path("gone/x.h"), "x")
			want("gone/x.h")
			// A folder makes place for another one.
			os.Rename(path("src"), path("old"))
			write(t, path("src/a.cu"), "a4")
			write(t, path("src/b.cu"), "b2")
			for seen := ""; !strings.Contains(seen, "a.cu"); {
				seen = strings.Join(changes(t, w, dir), " ")
			}
			time.Sleep(200 * time.Millisecond)
			select {
			case <-w.Changes():
			default:
			}
			write(t, path("src/b.cu"), "b3")
			want("src/b.cu")
			w.Set(Files{Near: []string{path("src/a.cu")}, Tools: []string{path("src/b.cu")}})
			write(t, path("src/b.cu"), "b4")
			nothing(t, w, 200*time.Millisecond) // tools are looked at with all files
		})
	}
}

// TestBatch: a branch switch of 5,000 files is reported as one batch, also where events are lost.
func TestBatch(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for i := range 5000 {
		files = append(files, filepath.Join(dir, fmt.Sprintf("d%02d", i%50), fmt.Sprintf("f%d.h", i)))
		write(t, files[i], "one")
	}
	overflow := make(chan error)
	w := New(Options{Quiet: 500 * time.Millisecond, Longest: time.Minute,
		notifier: changed(func(n *notifier) { n.errors = overflow })})
	defer w.Close()
	w.Set(Files{Near: files})
	for _, f := range files {
		write(t, f, "two")
	}
	if got := changes(t, w, dir); len(got) != len(files) {
		t.Errorf("reported: %d files, want %d", len(got), len(files))
	}
	nothing(t, w, 500*time.Millisecond)
	for i, f := range files { // and back; of a tenth no event comes
		if i%10 == 0 {
			os.Chtimes(f, time.Now(), time.Now())
		}
		write(t, f, "one")
	}
	overflow <- fsnotify.ErrEventOverflow
	if got := changes(t, w, dir); len(got) != len(files) {
		t.Errorf("after an overflow reported %d files, want %d", len(got), len(files))
	}
}

// TestMissed: what no event reported is found when all files are looked at.
func TestMissed(t *testing.T) {
	dir := t.TempDir()
	near, far, tool := filepath.Join(dir, "a.cu"), filepath.Join(dir, "sys/math.h"),
		filepath.Join(dir, "bin/ptxas")
	for _, f := range []string{near, far, tool} {
		write(t, f, "one")
	}
	w := New(Options{All: 100 * time.Millisecond, notifier: changed(func(n *notifier) {
		n.events = nil
	})})
	defer w.Close()
	w.Set(Files{Near: []string{near}, Far: []string{far}, Tools: []string{tool}})
	for _, f := range []string{near, far, tool} {
		write(t, f, "two")
		if got := changes(t, w, dir); len(got) != 1 || filepath.Join(dir, got[0]) != f {
			t.Errorf("reported: %q, want %s", got, f)
		}
	}
}

// TestUnreadable: what can't be read is as if it were gone, and no trouble.
func TestUnreadable(t *testing.T) {
	if l := at("/dev/zero", true); l.stamp.there {
		t.Error("a device was read")
	}
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if l := at(pipe, true); l.stamp.there || sum(pipe) == [32]byte{} &&
		time.Since(begun) > 5*time.Second {
		t.Error("a pipe held us up")
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}
