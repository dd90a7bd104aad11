package tuner

import (
	"os"
	"testing"
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
	t.Setenv("TMPDIR", t.TempDir())
	if f := newMemoryFolder(); f.For(1) != "" {
		t.Error("the user's place for temporary files is not used")
	}
}
