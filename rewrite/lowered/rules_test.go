package lowered

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"gnvcc/rewrite/recipe"
)

var update = flag.Bool("update", false, "write the goldens anew")

// TestRules: what terms come to, in goldens. testdata/rules.gpu is lowered code of one kernel a rule (of another file where it says so);
// a golden has the recipe, the PTX types of the kernel's parameters, and the lines that change in its
// slice, or the refusal.
func TestRules(t *testing.T) {
	units := map[string]*Unit{}
	for _, name := range []string{"", "fastmath.gpu"} {
		text, err := os.ReadFile(filepath.Join("testdata", cmp.Or(name, "rules.gpu")))
		if err != nil {
			t.Fatal(err)
		}
		if units[name], err = Parse(text); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob("testdata/rules/*.txtar")
	if err != nil || len(files) < 40 {
		t.Fatal("rules", len(files), err)
	}
	for _, path := range files {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		part := map[string]string{}
		for _, f := range a.Files {
			part[f.Name] = strings.TrimSuffix(string(f.Data), "\n")
		}
		entry, terms, _ := strings.Cut(part["recipe"], " ")
		r, err := recipe.Parse(terms)
		if err != nil {
			t.Fatal(path, err)
		}
		name, got := "change", ""
		u := units[part["text"]]
		after, err := u.Rewrite(entry, r.Terms, strings.Fields(part["signature"]))
		if err != nil {
			name, got = "refusal", err.Error()
		} else if k, err := u.Kernel(entry); err != nil {
			t.Fatal(path, err)
		} else if before, err := k.Slice(); err != nil {
			t.Fatal(path, err)
		} else {
			got = difference(strings.Split(string(before), "\n"), strings.Split(string(after), "\n"))
		}
		if *update {
			a.Files = append(slices.DeleteFunc(a.Files, func(f txtar.File) bool { return f.Name == "change" || f.Name == "refusal" }),
				txtar.File{Name: name, Data: []byte(got + "\n")})
			if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if want := part[name]; want == "" || got != want {
			t.Errorf("%s: %s\n%s\nwant\n%s", path, name, got, want)
		}
	}
}

// difference has the lines that went, with -, and came, with +.
func difference(a, b []string) string {
	most := make([][]int, len(a)+1) // lines in common from (i, j) on
	for i := range most {
		most[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if most[i][j] = max(most[i+1][j], most[i][j+1]); a[i] == b[j] {
				most[i][j] = most[i+1][j+1] + 1
			}
		}
	}
	var out strings.Builder
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && most[i+1][j] >= most[i][j+1]:
			fmt.Fprintln(&out, "-", a[i])
			i++
		default:
			fmt.Fprintln(&out, "+", b[j])
			j++
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}
