package main

import (
	"go/ast"
	"go/parser"
	"go/token"
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
		root := filepath.Join("..", "..", room)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
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
	if files < 100 {
		t.Fatalf("%d files", files)
	}
	const text = `package p
var a = regexp.MustCompile("a")
var b = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("b") })
var c = func() map[string]bool { return nil }()
var d = [2]int{1, 2}
`
	if got := atStart(t, "p.go", text); !slices.Equal(got, []string{"p.go:2 a", "p.go:4 c"}) {
		t.Errorf("found %q", got)
	}
}

// atStart lists the variables of a file that are dear to initialise.
func atStart(t *testing.T, path string, text any) (out []string) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, spec := range g.Specs {
			v := spec.(*ast.ValueSpec)
			for n, value := range v.Values {
				if dear(value) {
					at := set.Position(v.Pos())
					out = append(out, strings.TrimSuffix(at.String(), ":"+
						strings.Split(at.String(), ":")[2])+" "+v.Names[n].Name)
				}
			}
		}
	}
	return out
}

// dear tells of a value that is a compiled regular expression, or a map that a function fills.
func dear(value ast.Expr) (found bool) {
	ast.Inspect(value, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			_, later := n.(*ast.FuncLit)
			return !later
		}
		switch f := call.Fun.(type) {
		case *ast.SelectorExpr:
			x, _ := f.X.(*ast.Ident)
			found = found || x != nil && x.Name == "regexp"
		case *ast.FuncLit:
			if r := f.Type.Results; r != nil && len(r.List) == 1 {
				_, isMap := r.List[0].Type.(*ast.MapType)
				found = found || isMap
			}
		}
		return true
	})
	return found
}
