package source

// Goldens: one archive a rule or refusal, in testdata/rules. `before` is preprocessed text without
// the headers, `recipe` an entry and a recipe, `after` the text or `refusal` the words that come
// out. They are compiled, all in one text, by the real cicc and ptxas of every toolkit: as they
// were, and as rewritten.

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"gnvcc/install/kits"
	"gnvcc/rewrite/ptx"
)

type rule struct {
	file                  string
	archive               *txtar.Archive
	before, entry, recipe string
	nocompile             bool
}

func rules(t testing.TB) []rule {
	t.Helper()
	files, err := filepath.Glob("testdata/rules/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no rules", err)
	}
	var all []rule
	for _, f := range files {
		a, err := txtar.ParseFile(f)
		if err != nil {
			t.Fatal(err)
		}
		r := rule{file: f, archive: a, before: part(a, "before")}
		r.entry, r.recipe, _ = strings.Cut(strings.TrimSpace(part(a, "recipe")), " ")
		r.nocompile = strings.Contains(part(a, "options"), "nocompile")
		all = append(all, r)
	}
	return all
}

func part(a *txtar.Archive, name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func TestRules(t *testing.T) {
	for _, r := range rules(t) {
		t.Run(strings.TrimSuffix(filepath.Base(r.file), ".txtar"), func(t *testing.T) {
			u, err := Parse([]byte(r.before))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(u.text, []byte(r.before)) {
				t.Error("reading changed the text")
			}
			var sig []string
			if s := strings.Fields(part(r.archive, "signature")); len(s) > 0 {
				sig = s
			}
			out, err := u.Rewrite(r.entry, termsOf(t, r.recipe), sig)
			name, got := "after", string(out)
			if err != nil {
				name, got = "refusal", err.Error()+"\n"
			}
			if *update {
				kept := r.archive.Files[:0]
				for _, f := range r.archive.Files {
					if f.Name != "after" && f.Name != "refusal" {
						kept = append(kept, f)
					}
				}
				r.archive.Files = append(kept, txtar.File{Name: name, Data: []byte(got)})
				if err := os.WriteFile(r.file, txtar.Format(r.archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := part(r.archive, name); want != got {
				t.Errorf("%s is\n%s\nand should be\n%s", name, got, want)
			}
			if err == nil {
				if _, err := Parse(out); err != nil {
					t.Errorf("the rewritten text is not read again: %v", err)
				}
			}
		})
	}
}

func TestRulesCompiled(t *testing.T) {
	eachToolkit(t, func(t *testing.T, tk kits.Kit) {
		t.Parallel()
		p, head := prepare(t, tk, "testdata/empty.cu")
		// Everything behind the headers is the empty file's own.
		before, after := bytes.NewBuffer(bytes.Clone(head)), bytes.NewBuffer(bytes.Clone(head))
		for _, r := range rules(t) {
			if r.nocompile {
				continue
			}
			before.WriteString("\n" + r.before)
			if text := part(r.archive, "after"); text != "" {
				after.WriteString("\n" + text)
			} else {
				after.WriteString("\n" + r.before)
			}
		}
		plain, err := p.ptx(t, before.Bytes())
		if err != nil {
			t.Fatalf("before: %v", err)
		}
		out, err := p.ptx(t, after.Bytes())
		if err != nil {
			t.Fatalf("after: %v", err)
		}
		if _, err := p.cubin(t, out); err != nil {
			t.Fatal(err)
		}
		m, err := ptx.Parse(plain)
		if err != nil {
			t.Fatal(err)
		}
		m2, err := ptx.Parse(out)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rules(t) {
			e, e2 := m.Entry(r.entry), m2.Entry(r.entry)
			if r.nocompile || strings.Contains(r.file, "no-unknown") ||
				strings.Contains(r.file, "no-linkage-c") {
				continue
			}
			if e == nil || e2 == nil {
				t.Errorf("%s: no entry %s", r.file, r.entry)
				continue
			}
			changed := !bytes.Equal(labels(e.Text()), labels(e2.Text()))
			if tk.Version == "11.8" && strings.HasSuffix(r.file, "spec-field.txtar") && !changed {
				continue // 11.8's cicc makes nothing of what is known of a struct's fields
			}
			if fires := part(r.archive, "after") != ""; fires != changed {
				t.Errorf("%s: the PTX of %s changed: %v, and should: %v", r.file, r.entry, changed, fires)
			}
			// What the front end alone tells must be what PTX tells, too.
			u, err := Parse([]byte(r.before))
			if err != nil {
				t.Fatal(err)
			}
			one, err := u.Rewrite(r.entry, termsOf(t, r.recipe), Signature(e))
			want := part(r.archive, "after")
			if err == nil && want != string(one) && want != "" {
				t.Errorf("%s: with the signature %v the text is another one:\n%s", r.file, Signature(e), one)
			}
			if err != nil && want != "" {
				t.Errorf("%s: with the signature %v: %v", r.file, Signature(e), err)
			}
		}
	})
}

// TestNearest: of several unroll pragmas before a loop cicc goes by the last, so that unroll@SITE
// can be put behind the source's own.
func TestNearest(t *testing.T) {
	const text = `template <int N> __global__ void k(float *a, int n) {
  _Pragma("unroll N")
#pragma unroll %s
  for (int i = threadIdx.x; i < n; i += 32) a[i] = a[i] * 2 + 1;
}
template __global__ void k<8>(float *, int);
`
	eachToolkit(t, func(t *testing.T, tk kits.Kit) {
		for factor, want := range map[string]int{"1": 1, "2": 3} { // loads, with the remainder's
			cu := filepath.Join(t.TempDir(), "k.cu")
			if err := os.WriteFile(cu, fmt.Appendf(nil, text, factor), 0o644); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(tk.Nvcc(), "-arch=sm_90", "-ptx", "-o", cu+".ptx", cu).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			out, err = os.ReadFile(cu + ".ptx")
			if got := strings.Count(string(out), "ld.global"); err != nil || got != want {
				t.Errorf("unroll %s behind unroll 8: %d loads, want %d (%v)", factor, got, want, err)
			}
		}
	})
}
