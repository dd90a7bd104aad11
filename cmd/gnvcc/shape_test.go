package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// The limits of CONTRIBUTING.md. A tab counts as one character; tests may have functions that are
// longer, since a table is.
const (
	mostColumns  = 100
	mostFunction = 80
	mostFile     = 700
)

// Functions that may be longer, and why.
var longFunctions = map[string]string{
	"cmd/gnvcc/tune.go tuneRun":                  "the steps of a tuning run, most with something to close",
	"rewrite/source/decl.go declarator":          "one automaton over the tokens of a declaration",
	"sim/sass/special.go special":                "a table: each case is an operation",
	"rewrite/tileloop.go computed":               "a table: each case is an instruction",
	"rewrite/fold/same/model.go memory":          "a table: each case is a space of memory",
	"rewrite/tilemachine_test.go compute":        "a table: each case is an instruction",
	"rewrite/tilefuzz_test.go body":              "a kernel's parts, one after the other",
	"rewrite/tilefuzz_test.go loop":              "a loop's parts, one after the other",
	"rewrite/interpret_test.go thread":           "a table: each case is an instruction",
	"bench/suite/main.go run":                    "a table of flags, and what follows from them",
	"policy/search/simgpu_test.go runWith":       "a simulated run: what happens in which order",
	"rewrite/source/layout_fuzz_test.go field":   "a table: each case is a kind of field",
	"rewrite/source/program_test.go testProgram": "one question after another to one program",
}

// TestShape: no line, function or file of Go is longer than people read well. Lines may be longer
// where a text stands in them.
func TestShape(t *testing.T) {
	root, files := filepath.Join("..", ".."), 0
	used := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != root):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		files++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		for _, what := range misshapen(t, name, text, used) {
			t.Error(what)
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files: %v", files, err)
	}
	for name := range longFunctions {
		if !used[name] {
			t.Errorf("%s stands in the list of long functions and is none", name)
		}
	}
}

// misshapen tells what is too long in a file.
func misshapen(t *testing.T, name string, text []byte, used map[string]bool) (out []string) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) > mostFile+1 {
		out = append(out, name+": the file is too long: does it have one subject?")
	}
	at := func(p token.Pos) int { return set.Position(p).Line }
	texts := map[int]bool{} // lines with a text in them
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			for line := at(lit.Pos()); line <= at(lit.End()); line++ {
				texts[line] = true
			}
		}
		return true
	})
	for n, line := range lines {
		if utf8.RuneCountInString(line) > mostColumns && !texts[n+1] && !strings.HasPrefix(line, "//\t") {
			out = append(out, set.Position(file.FileStart).Filename+": a long line: "+line)
		}
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || strings.HasPrefix(f.Name.Name, "Test") || at(f.End())-at(f.Pos()) < mostFunction {
			continue
		}
		key := name + " " + f.Name.Name
		if used[key] = true; longFunctions[key] == "" {
			out = append(out, key+": the function is too long: cut it where a subject ends")
		}
	}
	return out
}

// TestMisshapen: what is too long is found.
func TestMisshapen(t *testing.T) {
	long := strings.Repeat("x", mostColumns)
	text := "package p\n\n// " + long + "\nvar a = \"" + long + "\"\n\nfunc f() {" +
		strings.Repeat("\n", mostFunction) + "}\n" + strings.Repeat("\n", mostFile)
	got := misshapen(t, "p.go", []byte(text), map[string]bool{})
	for _, want := range []string{"p.go: the file", "p.go: a long line: // ", "p.go f: the function"} {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("%q is not found in %q", want, got)
		}
	}
	if len(got) != 3 {
		t.Errorf("%d faults: %q", len(got), got)
	}
}
