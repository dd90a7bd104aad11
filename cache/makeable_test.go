package cache

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestImpossible: doctor sees before the first build that a store can't be made, and says what to
// do.
func TestImpossible(t *testing.T) {
	dir := t.TempDir()
	file, link, locked := filepath.Join(dir, "file"), filepath.Join(dir, "link"),
		filepath.Join(dir, "locked")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "nothing"), link); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(locked, 0o500); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(file, "a", "b"), link, filepath.Join(link, "a"),
		filepath.Join(locked, "a", "b")} {
		if strings.HasPrefix(path, locked) && os.Geteuid() == 0 {
			t.Log("SKIPPED: root may write everywhere: a folder that can't be written was not tried")
			continue
		}
		found := Check(path)
		if len(found) != 1 || found[0].Level != Problem || !strings.Contains(found[0].Advice,
			"GNVCC_STORE") {
			t.Errorf("%s: %+v", path, found)
			continue
		}
		if strings.Contains(found[0].What, found[0].Advice) {
			t.Errorf("%s: the advice stands there twice: %+v", path, found)
		}
	}
	for _, path := range []string{filepath.Join(dir, "a"), filepath.Join(dir, "a", "b", "c")} {
		if found := Check(path); len(found) != 1 || found[0].Level != Note {
			t.Errorf("%s: %+v", path, found)
		}
	}
}
