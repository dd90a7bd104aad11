package source

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"gnvcc/rewrite/ptx"
)

// Every kernel of a program with a recipe of its own: variants by cicc, shared arrays merged, entries put together, the
// whole by ptxas. Entries without a recipe stay as they were to the byte, and nobody has more shared memory than before.
func TestAssemble(t *testing.T) {
	eachToolkit(t, func(t *testing.T, tk toolkit) {
		t.Parallel()
		flags := [][]string{{}, {"-rdc=true", "-lineinfo"}}
		if tk.version != "13.0" && tk.version != "GNVCC_NVCC" {
			flags = flags[1:]
		}
		for _, f := range flags {
			t.Run(strings.Join(f, " "), func(t *testing.T) { testAssemble(t, tk, f) })
		}
	})
}

func testAssemble(t *testing.T, tk toolkit, flags []string) {
	p, ii := prepare(t, tk, filepath.Join("testdata", "programs", "modules.cu"), flags...)
	u, err := Parse(ii)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := p.ptx(t, ii)
	if err != nil {
		t.Fatal(err)
	}
	m, err := ptx.Parse(plain)
	if err != nil {
		t.Fatal(err)
	}
	variants := map[string][]byte{}
	for _, e := range m.Entries() {
		r := "unroll=2 spec{n=3,blockDim.x=64} spec{n=4}"
		switch {
		case strings.Contains(e.Name, "untouched"):
			continue
		case strings.Contains(e.Name, "secondIf"): // the other instantiation stays the default's
			r = "spec{n=3}"
		case strings.Contains(e.Name, "secondId"):
			continue
		case strings.Contains(e.Name, "third"):
			r = "unroll@L11=4 spec{n=3}"
		case strings.Contains(e.Name, "fourth"):
			r = "unroll=2"
		}
		terms := recipe(t, r)
		text, err := u.Rewrite(e.Name, terms, Options{Signature: Signature(e)})
		if err != nil {
			t.Fatal(err)
		}
		v, err := p.ptx(t, text)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		if v, err = u.MergeShared(e.Name, terms, plain, v); err != nil {
			t.Fatal(err)
		}
		variants[e.Name] = v
	}
	if len(variants) != 4 {
		t.Fatalf("%d variants", len(variants))
	}
	out, err := Assemble(plain, variants)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.cubin(t, out); err != nil {
		t.Fatal(err)
	}
	m2, err := ptx.Parse(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range m.Entries() {
		e2 := m2.Entry(e.Name)
		_, changed := variants[e.Name]
		if same := bytes.Equal(e.Text(), e2.Text()); same == changed {
			t.Errorf("%s is unchanged: %v", e.Name, same)
		}
		before, err := m.Traits(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		after, err := m2.Traits(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		if before.SharedStatic != after.SharedStatic || before.SharedDynamic != after.SharedDynamic {
			t.Errorf("%s: %d bytes of shared memory, %d before", e.Name, after.SharedStatic, before.SharedStatic)
		}
		if n := strings.Count(string(e2.Text()), "vprintf"); changed && strings.Contains(e.Name, "third") && n < 2 {
			t.Errorf("third prints in %d places", n)
		}
	}
	if !bytes.Contains(out, []byte("_Z3sumPKfi$gnvcc1")) {
		t.Error("the unrolled sum is not beside the default's")
	}
	// The same once more, and with nothing to do.
	again, err := Assemble(plain, variants)
	if err != nil || !bytes.Equal(out, again) {
		t.Errorf("not the same when repeated: %v", err)
	}
	if same, err := Assemble(plain, nil); err != nil || !bytes.Equal(same, plain) {
		t.Errorf("nothing to do, and something was done: %v", err)
	}
	for _, e := range m.Entries() { // the default's own entries put into it change nothing
		same, err := Assemble(plain, map[string][]byte{e.Name: plain})
		if err != nil {
			t.Error(err)
			continue
		}
		sm, err := ptx.Parse(same)
		if err != nil || !bytes.Equal(sm.Entry(e.Name).Text(), e.Text()) {
			t.Errorf("%s put into its own module differs: %v", e.Name, err)
		}
	}
	// Strings that printf gets are those of the source.
	for _, s := range []string{"hello %d %s\n", "other %d\n", "third %d\n", "untouched\n"} {
		var b []string
		for _, c := range []byte(s) {
			b = append(b, fmt.Sprint(c))
		}
		if !bytes.Contains(out, []byte(strings.Join(b, ", "))) {
			t.Errorf("string %q is gone", s)
		}
	}
}

// Goldens of Assemble on small hand-written modules: what is found, added, renamed, refused.
func TestAssembleRules(t *testing.T) {
	files, err := filepath.Glob("testdata/assemble/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no archives", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(f)
			if err != nil {
				t.Fatal(err)
			}
			def := part(a, "default")
			out, err := Assemble([]byte(def), map[string][]byte{strings.TrimSpace(part(a, "entry")): []byte(part(a, "variant"))})
			name, got := "result", string(out)
			if err != nil {
				name, got = "refusal", err.Error()+"\n"
				if !strings.Contains(got, "left alone") {
					t.Errorf("no refusal: %s", got)
				}
			}
			if *update {
				a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return f.Name == "result" || f.Name == "refusal" })
				a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(got)})
				if err := os.WriteFile(f, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if want := part(a, name); want != got {
				t.Errorf("%s is\n%s\nand should be\n%s", name, got, want)
			}
		})
	}
}

func TestAssembleRulesAssembled(t *testing.T) {
	tk := newest(t)
	p := &program{dir: t.TempDir(), env: os.Environ(), ptxas: filepath.Join(filepath.Dir(tk.nvcc), "ptxas") + ` -arch=sm_90 "$1" -o "$2"`}
	files, _ := filepath.Glob("testdata/assemble/*.txtar")
	for _, f := range files {
		a, err := txtar.ParseFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if text := part(a, "result"); text != "" {
			if _, err := p.cubin(t, []byte(text)); err != nil {
				t.Errorf("%s: %v", f, err)
			}
		}
	}
}
