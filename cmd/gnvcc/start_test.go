package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestStart: gnvcc starts a few times in every compile, and mostly becomes another program at once.
// So what only some processes need is made when it is asked for (sync.OnceValue), and not at the
// start of all: regular expressions, and maps that are filled.
func TestStart(t *testing.T) {
	files := 0
	for _, room := range []string{"cache", "cmd", "driver", "policy", "profile", "rewrite", "sim"} {
		err := filepath.WalkDir(filepath.Join("..", "..", room), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			for _, what := range atStart(t, path, nil) {
				t.Errorf("%s: made at the start of every process", what)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	const text = `package p
var a = regexp.MustCompile("a")
var b = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("b") })
var c = func() map[string]bool { return nil }()
var d = [2]int{1, 2}
`
	if got := atStart(t, "p.go", text); files < 100 || !slices.Equal(got, []string{"p.go:2:9", "p.go:4:9"}) {
		t.Errorf("%d files; found %q", files, got)
	}
}

// atStart lists the calls for a file's variables that compile a regular expression, or fill one.
func atStart(t *testing.T, path string, text any) (out []string) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		if _, ok := d.(*ast.GenDecl); !ok {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				_, later := n.(*ast.FuncLit)
				return !later
			}
			made := types.ExprString(call.Fun)
			if _, now := call.Fun.(*ast.FuncLit); now && strings.Contains(made, ") map[") || strings.HasPrefix(made, "regexp.") {
				out = append(out, set.Position(call.Pos()).String())
			}
			return true
		})
	}
	return out
}
