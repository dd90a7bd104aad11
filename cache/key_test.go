package cache

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestFileKey: a file is known by its content, whatever its time says.
func TestFileKey(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path, long := filepath.Join(dir, "ptxas"), time.Unix(1, 0)
	put := func(text string, at time.Time) string {
		t.Helper()
		// as package managers do it: a new file, with the time that the package says
		if err := os.WriteFile(path+".new", []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path+".new", at, at); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		var keys [3]string
		for i, s := range []*Store{s, s, nil} {
			if keys[i], err = s.FileKey(path); err != nil || keys[i] != keys[0] {
				t.Fatal(keys, err)
			}
		}
		return keys[0]
	}
	first, second := put("one tool", long), put("two tool", long)
	if first == second {
		t.Error("another tool of the same size and time has the same key")
	}
	if again := put("one tool", time.Now()); again != first {
		t.Error("the time alone changes the key")
	}
	// in place
	if err := os.WriteFile(path, []byte("two tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	if key, err := s.FileKey(path); err != nil || key != second {
		t.Error("written in place with its old time:", err)
	}
	other := filepath.Join(dir, "other")
	if err := os.Link(path, other); err != nil {
		t.Fatal(err)
	}
	if key, _ := s.FileKey(other); key == second {
		t.Error("one key for two paths: a script may look at its own")
	}
	if id := buildID("/proc/self/exe"); id == "" {
		t.Error("no build ID in this program")
	}
	if OwnKey() == "unknown" {
		t.Error(OwnKey())
	}
}
