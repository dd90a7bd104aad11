package lowered

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"gnvcc/rewrite/recipe"
)

// seeds are lowered texts: of every golden and program of testdata.
func seeds(t testing.TB) (texts []string) {
	files, err := filepath.Glob("testdata/*.gpu")
	if err != nil || len(files) == 0 {
		t.Fatal("no seeds", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return append(texts, small)
}

// FuzzParse: whatever comes in, nothing panics; the declarations, with what stands between them,
// are the text; and a slice is read again, with the same kernel in it.
func FuzzParse(f *testing.F) {
	for _, text := range seeds(f) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		u, err := Parse(text)
		if err != nil {
			return
		}
		var out []byte
		at := int32(0)
		for _, d := range u.decls {
			from, stop := u.tokens[d.from].off, u.tokens[d.to-1].end
			if from < at {
				t.Fatal("declarations overlap")
			}
			out = append(append(out, text[at:from]...), text[from:stop]...)
			at = stop
		}
		if out = append(out, text[at:]...); !bytes.Equal(out, text) {
			t.Fatal("printed, it is another text")
		}
		for _, d := range u.decls {
			if !d.kernel || d.body == 0 {
				continue
			}
			entry := u.words[d.name]
			k, err := u.Kernel(entry)
			if err != nil {
				continue
			}
			slice, err := k.Slice()
			if err != nil {
				continue
			}
			_, slice, _ = bytes.Cut(slice, []byte("extern \"C\" {\n"))
			if again, err := read(bytes.TrimSuffix(slice, []byte("}\n"))); err != nil || again.definition(entry) < 0 {
				t.Fatalf("the slice is not read: %v\n%s", err, slice[:min(len(slice), 2000)])
			}
			k.MathCalls()
			k.Values(nil)
			for _, term := range []recipe.Term{{Lever: "unroll", Value: "2"}, {Lever: "fastmath", Value: "all"},
				{Lever: recipe.Second, Value: "blockDim.x=8,#0=3,align(#1)=16", Brace: true}} {
				k.Rewrite([]recipe.Term{term}, nil)
			}
		}
	})
}
