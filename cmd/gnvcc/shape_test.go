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

// The limits of CONTRIBUTING.md. A tab counts as one character; a Test function may be longer,
// since a table is.
const (
	mostColumns  = 100
	mostFunction = 80
	mostFile     = 700
	mostFiles    = 30 // of a folder, tests aside
)

// TestShape: no line, function or file of Go is longer than people read well, no folder has more
// files. Lines may be longer
// where a text stands in them; those of documents in tables and commands.
func TestShape(t *testing.T) {
	root, files, in := filepath.Join("..", ".."), 0, map[string]int{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != root):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".md"):
			return nil
		}
		files++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			in[filepath.Dir(name)]++
		}
		if strings.HasSuffix(path, ".md") {
			for _, line := range longProse(text) {
				t.Errorf("%s: a long line: %s", name, line)
			}
			return nil
		}
		for _, what := range misshapen(t, name, text) {
			t.Error(what)
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files: %v", files, err)
	}
	for room, n := range in {
		if n > mostFiles {
			t.Errorf("%s has %d files of Go, tests aside: which of them are a room of their own?", room, n)
		}
	}
}

// misshapen tells what is too long in a file.
func misshapen(t *testing.T, name string, text []byte) (out []string) {
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
		out = append(out, name+" "+f.Name.Name+": the function is too long: cut it where a subject ends")
	}
	return out
}

// longProse lists the long lines of a document in Markdown.
func longProse(text []byte) (out []string) {
	fenced := false
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if !fenced && utf8.RuneCountInString(line) > mostColumns && !strings.HasPrefix(line, "|") &&
			!strings.HasPrefix(line, "    ") {
			out = append(out, line)
		}
	}
	return out
}

// TestMisshapen: what is too long is found.
func TestMisshapen(t *testing.T) {
	long := strings.Repeat("x", mostColumns)
	text := "package p\n\n// " + long + "\nvar a = \"" + long + "\"\n\nfunc f() {" +
		strings.Repeat("\n", mostFunction) + "}\n" + strings.Repeat("\n", mostFile)
	got := misshapen(t, "p.go", []byte(text))
	for _, want := range []string{"p.go: the file", "p.go: a long line: // ", "p.go f: the function"} {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("%q is not found in %q", want, got)
		}
	}
	words := strings.Repeat("word ", mostColumns/5+1)
	document := words + "\n| " + words + "|\n\n    " + words + "\n```\n" + words + "\n```\n- " + words
	if got := longProse([]byte(document)); len(got) != 2 {
		t.Errorf("long lines of a document: %q", got)
	}
	if len(got) != 3 {
		t.Errorf("%d faults: %q", len(got), got)
	}
}
