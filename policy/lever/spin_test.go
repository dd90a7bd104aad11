package lever

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// TestSpinValues: each value that is tried can be carried out on a kernel with a spin loop, none is
// tried on one without.
func TestSpinValues(t *testing.T) {
	path := filepath.Join("..", "..", "rewrite", "testdata")
	read := func(name string) []byte {
		a, err := txtar.ParseFile(filepath.Join(path, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if f.Name == "in.ptx" {
				return f.Data
			}
		}
		t.Fatal(name, os.ErrNotExist)
		return nil
	}
	for _, c := range []struct {
		file  string
		spins bool
	}{{"spin-test.txtar", true}, {"spin-acquire.txtar", true}, {"spin-none.txtar", false},
		{"bypass.txtar", false}} {
		text := read(c.file)
		m, err := ptx.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range m.Entries() {
			k := &policy.Kernel{Name: f.Name}
			if err := k.ReadPTX(m); err != nil {
				t.Fatal(err)
			}
			list := levers()["spin"].Try(&Situation{Kernel: k})
			if (len(list) > 0) != c.spins {
				t.Errorf("%s: %s: %d values are tried, %d spin loops", c.file, f.Name, len(list), spins.Of(k))
			}
			for _, r := range list {
				out, refused := rewrite.Options{}.Rewrite(m, map[string]recipe.Recipe{f.Name: r})
				if len(refused) > 0 || string(out.Bytes()) == string(text) {
					t.Errorf("%s: %s on %s: %v", c.file, r, f.Name, refused)
				}
			}
		}
	}
}
