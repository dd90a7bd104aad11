package record

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gnvcc/cache"
)

// TestWrites: two ways to one file are one name.
func TestWrites(t *testing.T) {
	root := t.TempDir()
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "build"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "build"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"-c k.cu -o build/k.o":     "build/k.o",
		"-c k.cu -o link/k.o":      "build/k.o",
		"-c k.cu -odir link -o k2": "k2", // nvcc takes no notice of -odir beside -o
		"-c k.cu -odir link":       "build/k.o",
		"-c x/k.cu l.cu":           "k.o l.o",
		"-dc -odir link k.cu":      "build/k.o",
		"-cubin k.cu":              "k.cubin",
		"k.cu":                     "a.out",
	} {
		var full []string
		for _, name := range strings.Fields(want) {
			full = append(full, filepath.Join(real, name))
		}
		if got := Writes(cache.Command{Args: strings.Fields(args), Dir: root}); !slices.Equal(got, full) {
			t.Errorf("%s: %q, want %q", args, got, full)
		}
	}
}
