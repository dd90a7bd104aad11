package compile

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestAskers tells which of several builds of the same code a program came from.
func TestAskers(t *testing.T) {
	temp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(temp, "x")
	root = filepath.Dir(root)
	file := func(name string) string {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a, b, deep, app := file("a/k.o"), file("b/k.o"), file("a/lib/k.o"), file("a/app")
	gone := filepath.Join(root, "c/k.o")
	for name, c := range map[string]struct {
		all          []string
		program, dir string
		want         []string
	}{
		"one":                {[]string{b}, app, root, []string{b}},
		"the program":        {[]string{a, app}, app, root, []string{app}},
		"beside the program": {[]string{a, b}, app, root, []string{a}},
		"nearest":            {[]string{deep, b}, app, root, []string{deep}},
		"where it was called": {[]string{a, b}, "/opt/bin/app", filepath.Join(root, "b"),
			[]string{b}},
		"no way to tell":           {[]string{a, b}, "/opt/bin/app", root, nil},
		"not on record":            {nil, app, root, nil},
		"what is gone asks nobody": {[]string{a, gone}, "/opt/bin/app", "/", []string{a}},
	} {
		got, err := (&Source{Kernel: "k", outputs: c.all}).Askers(c.program, c.dir)
		if !slices.Equal(got, c.want) || (err != nil) != (c.want == nil) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}
