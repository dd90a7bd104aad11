package witness

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gnvcc/cache"
	"gnvcc/sim/fatbin"
)

// TestFind: files with device code are found by their first bytes, but in stores: one's own, and
// others in the same folder, whose objects nobody links.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	fat := "\x50\xed\x55\xba" + strings.Repeat("\x00", 60)
	for _, name := range []string{"a.o", "objects/b.fatbin", "text", ".git/c.o"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		content := fat
		if name == "text" {
			content = "nothing of ours, but long enough"
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var stores []string
	for _, name := range []string{"own", "team/store"} {
		store, err := cache.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.PutObject([]byte(fat)); err != nil {
			t.Fatal(err)
		}
		if err := store.PutMemo("kind", strings.Repeat("ab", 32), []byte("{}")); err != nil {
			t.Fatal(err)
		}
		stores = append(stores, store.Path())
	}
	found, err := Find(t.Context(), dir, stores[0])
	want := []string{filepath.Join(dir, "a.o"), filepath.Join(dir, "objects/b.fatbin")}
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("%q, %v; want %q", found, err, want)
	}
}

// TestPipe: a named pipe, where an object is expected, has nobody wait for who writes to it.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k.o")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	done := make(chan error, 1)
	go func() {
		if kind := KindOf(path); kind != fatbin.None {
			t.Errorf("a pipe is taken for %v", kind)
		}
		_, err := Look(nil, nil, path)
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "is not a regular file") {
			t.Errorf("%v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for the pipe")
	}
}
