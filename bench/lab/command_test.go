package lab

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestNumbers(t *testing.T) {
	if m := Median([]float64{3, 1, 2}); m != 2 {
		t.Error(m)
	}
	if m := Median([]int64{4, 1, 2, 3}); m != 2 {
		t.Error(m)
	}
	if m := Median([]float64{4, 1, 2, 3}); m != 2.5 {
		t.Error(m)
	}
	if Median[float64](nil) != 0 || Quantile(nil, 0.5) != 0 {
		t.Error("the median of nothing")
	}
	list := []float64{30, 10, 20}
	if q := Quantile(list, 0.75); q != 25 || Quantile(list, 1) != 30 || list[0] != 30 {
		t.Error(q, list)
	}
	if r := Ratios([]float64{2, 6, 9}, []float64{1, 3}); !slices.Equal(r, []float64{2, 2}) {
		t.Error(r)
	}
}

func TestPrograms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(path))
	tool, sh := "./tool", "sh"
	if err := Tools(&tool, &sh); err != nil || tool != path || !filepath.IsAbs(sh) {
		t.Error(err, tool, sh)
	}
	none := "./none"
	if err := Tools(&none); err == nil || !strings.Contains(err.Error(),
		"none is no program that can be run") {
		t.Error(err)
	}
}

func TestWork(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	path, remove, err := Work("", "x", "/bin/gnvcc")
	if _, gone := os.Stat(path); err != nil || gone != nil || !strings.HasPrefix(filepath.Base(path),
		"gnvcc-x-") {
		t.Error(path, err, gone)
	}
	remove()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error("a temporary folder is still there:", err)
	}
	kept := filepath.Join(t.TempDir(), "a", "b")
	path, remove, err = Work(kept, "x", "/bin/gnvcc")
	remove()
	if _, gone := os.Stat(kept); err != nil || gone != nil || path != kept {
		t.Error("the folder that was named:", path, err, gone)
	}
	if _, _, err := Work(filepath.Join(t.TempDir(), "with space"), "x", "/bin/gnvcc"); err == nil ||
		!strings.Contains(err.Error(), "can't use a path with spaces") {
		t.Error(err)
	}
	if err := (List{"A=b", "=c"}).Variables(); err == nil || err.Error() != `-set "=c": NAME=VALUE` {
		t.Error(err)
	}
}
