package rewrite

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"gnvcc/rewrite/coarsen"
	"gnvcc/rewrite/ptx"
	"gnvcc/rewrite/recipe"
)

// FuzzApply gives hostile PTX and a hostile recipe to the passes. Whatever they make of it, the
// result is a module with the same kernels, a kernel that was refused has its own text, and one
// that nobody asked for too.
func FuzzApply(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatal("no goldens", err)
	}
	for _, path := range files {
		a, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		g := &golden{archive: a}
		in, err := g.text()
		if err != nil {
			f.Fatal(err)
		}
		recipes, _ := g.file("recipes")
		for _, line := range lines(recipes) {
			if _, text, ok := bytes.Cut([]byte(line), []byte(": ")); ok {
				f.Add(in, string(text), uint8(len(line)))
			}
		}
	}
	f.Fuzz(func(t *testing.T, src []byte, text string, how uint8) {
		r, err := recipe.Parse(text)
		if err != nil || len(src) > 1<<16 {
			return
		}
		m, err := ptx.Parse(src)
		if err != nil {
			return
		}
		recipes := map[string]recipe.Recipe{}
		entries := m.Entries()
		for i, e := range entries {
			if i%2 == 0 {
				recipes[e.Name] = r
			}
		}
		o := Options{ReadBack: how&1 != 0, Relocatable: how&8 != 0}
		if how&16 != 0 {
			o.Dynamic = noDynamic(recipes)
		}
		if how&32 == 0 {
			o.Coarse = map[string][3]int{}
			for name := range recipes {
				o.Coarse[name] = coarsen.Of(r)
			}
		}
		out, refused, err := o.apply(src, recipes)
		if err != nil {
			t.Fatalf("what can be parsed was not taken: %v", err)
		}
		after, err := ptx.Parse(out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		now := after.Entries()
		if len(now) != len(entries) {
			t.Fatalf("%d kernels became %d\n%s", len(entries), len(now), out)
		}
		for i, e := range entries {
			_, asked := recipes[e.Name]
			if now[i].Name != e.Name {
				t.Fatalf("kernel %s became %s", e.Name, now[i].Name)
			}
			if (!asked || refused[e.Name] != nil) && !bytes.Equal(now[i].Text(), e.Text()) {
				t.Fatalf("%s was left alone (%v) and changed", e.Name, refused[e.Name])
			}
		}
	})
}
