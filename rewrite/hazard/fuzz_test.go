package hazard_test

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"gnvcc/rewrite/hazard"
	"gnvcc/rewrite/ptx"
)

// FuzzFind gives hostile PTX to the search for hazards: whatever it is, there is an answer, and
// each finding says what to do.
func FuzzFind(f *testing.F) {
	files, err := filepath.Glob("../testdata/spin-*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatal("no goldens", err)
	}
	for _, path := range files {
		a, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range a.Files {
			if filepath.Ext(file.Name) == ".ptx" {
				f.Add(file.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 1<<16 {
			return
		}
		m, err := ptx.Parse(src)
		if err != nil {
			return
		}
		for _, e := range m.Entries() {
			found, err := hazard.Find(m, e.Name)
			if err != nil {
				continue
			}
			for _, x := range found {
				if x.Kernel != e.Name || x.Text == "" || x.Advice == "" {
					t.Fatalf("%+v", x)
				}
			}
		}
	})
}
