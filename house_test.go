// Package house_test holds the project to its own rules of size and structure. It reads sources
// and documents only, and takes about a second.
package house_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gnvcc/rewrite"
)

// sources returns the paths of all Go files below the top folder.
func sources(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || path != "." && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(path, ".go"):
			paths = append(paths, filepath.ToSlash(path))
		}
		return nil
	})
	if err != nil || len(paths) < 100 {
		t.Fatalf("%d Go files, %v", len(paths), err)
	}
	return paths
}

// TestSize compares the lines of Go, and of C that runs in users' processes, with the numbers in the
// file SIZE. They may fall freely. Who
// makes one larger raises it in SIZE, with a line that says what the lines bought and what went.
func TestSize(t *testing.T) {
	text, err := os.ReadFile("SIZE")
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]int{}
	for _, path := range sources(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		kind := "code"
		switch {
		case strings.HasPrefix(path, "bench/"):
			kind = "bench"
		case strings.HasSuffix(path, "_test.go"):
			kind = "tests"
		}
		lines[kind] += bytes.Count(text, []byte("\n"))
	}
	for _, pattern := range []string{"profile/agent/source/*.[ch]", "profile/replay/source/*.[ch]"} {
		paths, _ := filepath.Glob(pattern)
		if len(paths) < 5 {
			t.Errorf("%s: %d files", pattern, len(paths))
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines["C"] += bytes.Count(text, []byte("\n"))
		}
	}
	for _, kind := range []string{"code", "tests", "bench", "C"} {
		m := regexp.MustCompile(`(?m)^` + kind + ` (\d+)$`).FindSubmatch(text)
		if m == nil {
			t.Errorf("SIZE has no line %q with a number", kind)
			continue
		}
		if most, _ := strconv.Atoi(string(m[1])); lines[kind] > most {
			t.Errorf("%s: %d lines, %d in SIZE: take something away, or say in SIZE what it bought", kind, lines[kind], most)
		}
	}
}

// Limits of CONTRIBUTING.md. A test function may be longer, since a table is.
const (
	mostFunction = 80 // lines
	mostFolder   = 30 // files, tests aside
)

// TestShape checks the length of functions and the number of files in a folder.
func TestShape(t *testing.T) {
	folders := map[string]int{}
	for _, path := range sources(t) {
		if !strings.HasSuffix(path, "_test.go") {
			folders[filepath.Dir(path)]++
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || strings.HasPrefix(f.Name.Name, "Test") {
				continue
			}
			if n := set.Position(f.End()).Line - set.Position(f.Pos()).Line; n > mostFunction {
				t.Errorf("%s: %s has %d lines, at most %d: split it", path, f.Name.Name, n, mostFunction)
			}
		}
	}
	for folder, n := range folders {
		if n > mostFolder {
			t.Errorf("%s has %d files of Go, at most %d: which of them are a package of their own?", folder, n, mostFolder)
		}
	}
}

// mayImport lists, for each top folder, the top folders that its packages may import.
var mayImport = map[string][]string{
	"cache":   {"cache"},
	"graph":   {},
	"rewrite": {"rewrite", "graph"},
	"sim":     {"sim", "graph"},
	"profile": {"profile", "sim", "rewrite"},
	"driver":  {"driver", "profile", "sim", "rewrite", "cache"},
	"policy":  {"policy", "driver", "profile", "sim", "rewrite", "cache"},
}

// forTests are packages that only tests, and each other, may import.
var forTests = []string{"install/kits", "rewrite/ptx/ptxtest", "driver/drivertest", "policy/tuner/tunertest",
	"profile/capture/capturetest", "profile/profiletest"}

// TestLayout checks that imports go one way, that every package has a doc.go, and that
// ARCHITECTURE.md names it.
func TestLayout(t *testing.T) {
	architecture, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]bool{}
	for _, path := range sources(t) {
		folder := filepath.Dir(path)
		top, _, _ := strings.Cut(folder, "/")
		if folder == "." || top == "bench" {
			continue
		}
		packages[folder] = true
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		allowed, ruled := mayImport[top]
		for _, spec := range file.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			other, ours := strings.CutPrefix(name, "gnvcc/")
			if !ours || strings.HasSuffix(path, "_test.go") || slices.Contains(forTests, folder) {
				continue
			}
			to, _, _ := strings.Cut(other, "/")
			if slices.Contains(forTests, other) {
				t.Errorf("%s imports %s, which is for tests", path, other)
			} else if ruled && !slices.Contains(allowed, to) {
				t.Errorf("%s imports %s: %s may import %v", path, other, top, allowed)
			}
		}
	}
	for folder := range packages {
		if _, err := os.Stat(filepath.Join(folder, "doc.go")); err != nil {
			t.Errorf("%s has no doc.go", folder)
		}
		if !slices.Contains(forTests, folder) && !bytes.Contains(architecture, []byte("`"+folder+"/`")) {
			t.Errorf("ARCHITECTURE.md's table of packages does not name `%s/`", folder)
		}
	}
}

// documents returns the texts of the project's documents, by path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range []string{"*.md", "*/*.md", "*/*/*.md", "*/*/*/*.md"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			texts[filepath.ToSlash(path)] = string(text)
		}
	}
	if len(texts) < 12 {
		t.Fatalf("only %d documents", len(texts))
	}
	return texts
}

// TestLinks checks that each link of a document leads to a file, and to a heading that it has.
func TestLinks(t *testing.T) {
	all, n := documents(t), 0
	for name, text := range all {
		for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				t.Errorf("%s links to %s, outside the project", name, m[1])
				continue
			}
			n++
			file, heading, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = filepath.Join(filepath.Dir(name), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, m[1])
			} else if heading != "" && !slices.Contains(headings(all[target]), heading) {
				t.Errorf("%s links to %s: no such heading", name, m[1])
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d links were found", n)
	}
}

// headings returns the names by which the headings of a document are linked to.
func headings(text string) (names []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ +(.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

// TestPaths checks that each source file named by a document exists.
func TestPaths(t *testing.T) {
	var files []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		files = append(files, "/"+filepath.ToSlash(path))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range documents(t) {
		if strings.Contains(name, "/") && !strings.HasPrefix(name, "docs/") || name == "CHANGELOG.md" {
			continue // raw results describe the files of their commit
		}
		for _, m := range regexp.MustCompile("`([a-z_0-9/-]+\\.(?:go|c|h|sh|py))`").FindAllStringSubmatch(text, -1) {
			if !slices.ContainsFunc(files, func(f string) bool { return strings.HasSuffix(f, "/"+m[1]) }) {
				t.Errorf("%s names %s, which does not exist", name, m[1])
			}
		}
	}
}

// TestLevers: a lever is a pass, a file of package lever and a row. Its name stands as a literal in
// at most five places outside tests and the tables of rewrite/passes.go: elsewhere it is asked for by
// a constant, or, better, the lever says itself what is particular to it.
func TestLevers(t *testing.T) {
	const most, table = 5, "rewrite/passes.go"
	places := map[string][]string{}
	for _, p := range rewrite.Levers() {
		places[p.Lever] = nil
	}
	for _, path := range sources(t) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "bench/") || path == table {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			word := regexp.MustCompile("^[\"`](\\w+)([\"`@=]|$)").FindStringSubmatch(lit.Value)
			if word == nil {
				return true
			}
			if _, is := places[word[1]]; is {
				places[word[1]] = append(places[word[1]], set.Position(lit.Pos()).String())
			}
			return true
		})
	}
	for name, list := range places {
		if len(list) > most {
			t.Errorf("%s stands as a literal in %d places, at most %d: %v", name, len(list), most, list)
		}
	}
}
