package tuner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gnvcc/driver/scratch"
)

// Memory is taken for what fits well, not where the user names a place, and nothing is left.
func TestMemoryFolder(t *testing.T) {
	t.Setenv("TMPDIR", "")
	f := newMemoryFolder()
	if f.folder == nil {
		t.Skip("SKIPPED, NOT TESTED: no /dev/shm here")
	}
	dir := f.For(1)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%q: %v, %v", dir, info, err)
	}
	if big := f.For(1 << 60); big != "" {
		t.Errorf("an exabyte would go to %q", big)
	}
	f.Remove()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("left behind: %v", err)
	}
	killed, err := scratch.Unswept("/dev/shm")
	if err != nil {
		t.Fatal(err)
	}
	left := killed.Path + "x" // of nobody's, as after kill -9, and long ago
	if err := errors.Join(os.Rename(killed.Path, left), os.Chtimes(left, time.Time{},
		time.Now().Add(-time.Hour))); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(left)
	killed.Remove()
	t.Setenv("TMPDIR", t.TempDir())
	if f := newMemoryFolder(); f.For(1) != "" {
		t.Error("the user's place for temporary files is not used")
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("what a killed process left in memory stays there: %v", err)
	}
}

// TestSocketScratch: the folder's path is short enough for a socket, and it is ours alone.
func TestSocketScratch(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	s, err := SocketScratch()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Remove()
	if info, err := os.Stat(s.Path); err != nil || info.Mode().Perm() != 0o700 ||
		!strings.HasPrefix(s.Path, "/tmp/gnvcc-") {
		t.Errorf("%s: %v, %v", s.Path, info, err)
	}
}
