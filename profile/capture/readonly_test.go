package capture

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestReadOnly opens captures where nobody may make a folder: there are none, and nothing is kept.
func TestReadOnly(t *testing.T) {
	place := "/sys/gnvcc" // not even root's
	if os.Geteuid() != 0 {
		place = filepath.Join(t.TempDir(), "store")
		if err := os.Mkdir(place, 0o555); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(place, "other"), 0o700); err == nil || !os.IsPermission(err) {
		t.Skipf("SKIPPED: no folder here that can't be written: %v", err)
	}
	s, err := Open(filepath.Join(place, "captures"))
	if err != nil {
		t.Fatal(err)
	}
	if list, skipped := s.List(); len(list) != 0 || skipped != 0 {
		t.Errorf("captures in a folder that is not there: %d, skipped %d", len(list), skipped)
	}
	if _, err := s.put(bytes.Repeat([]byte("x"), 100)); err == nil {
		t.Error("a chunk was kept in a folder that can't be written")
	}
}
