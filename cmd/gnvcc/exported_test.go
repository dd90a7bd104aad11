package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// exportedAnyway are names that no other package reads, and why they are shown.
var exportedAnyway = map[string]string{}

// byOthers are names of methods that libraries call: fmt, errors, io, sort, heap, flag, json.
var byOthers = strings.Fields(`String Error Unwrap Is Write WriteAt Read ReadAt Seek Close Len Less
	Swap Push Pop Set Type MarshalJSON UnmarshalJSON`)

// A shownName is an exported name and where it is declared.
type shownName struct {
	name string
	// of a constant: the others of its group, and their type. An enumeration is shown whole.
	group []string
	// a type that another exported declaration mentions: who has that one has this
	reached bool
	method  bool
}

// TestExported: what a package shows, another one reads, or its tests; a name that nobody else
// needs begins with a small letter. A method counts as read where any other package selects one of
// its name, or an interface of ours asks for it.
func TestExported(t *testing.T) {
	packages := map[string]map[string]*ast.File{} // by folder, by file
	read := map[string]map[string]bool{}          // by package path: names that others read
	selected := map[string]map[string]bool{}      // names behind a dot, by folder
	asked := map[string]bool{}                    // methods of interfaces
	parseAll(t, packages)
	for dir, files := range packages {
		selected[dir] = map[string]bool{}
		for name, f := range files {
			noteReads(f, dir, strings.HasSuffix(name, "_test.go"), read, selected[dir], asked)
		}
	}
	shown, used := 0, map[string]bool{}
	for dir, files := range packages {
		reads := read["gnvcc/"+dir]
		list, visible := shownBy(files), map[string]bool{}
		for _, s := range list {
			visible[s.name] = visible[s.name] || reads[s.name] || s.reached
		}
		for _, s := range list {
			shown++
			ok := visible[s.name] ||
				slices.ContainsFunc(s.group, func(n string) bool { return visible[n] })
			if s.method {
				ok = asked[s.name] || slices.Contains(byOthers, s.name)
				for other, names := range selected {
					ok = ok || other != dir && names[s.name]
				}
			}
			full := dir + " " + s.name
			if used[full] = !ok; !ok && exportedAnyway[full] == "" {
				t.Errorf("%s is exported, and no other package reads it", full)
			}
		}
	}
	for full := range exportedAnyway {
		if !used[full] {
			t.Errorf("%s stands among those that are exported for no reader: it has one, or is gone", full)
		}
	}
	if shown < 500 {
		t.Errorf("only %d exported names: the test tested little", shown)
	}
}

// parseAll reads all Go files of the project.
func parseAll(t *testing.T, packages map[string]map[string]*ast.File) {
	t.Helper()
	root, set := filepath.Join("..", ".."), token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != root):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		dir, _ := filepath.Rel(root, filepath.Dir(path))
		if packages[dir] == nil {
			packages[dir] = map[string]*ast.File{}
		}
		packages[dir][d.Name()] = f
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// noteReads notes what a file reads of other packages. A test from outside (package x_test) reads
// errors only: who calls x is to tell them apart; everything else it could as well test from
// inside.
func noteReads(f *ast.File, dir string, test bool, read map[string]map[string]bool,
	selected, asked map[string]bool) {
	imported := map[string]string{} // local name -> path
	for _, spec := range f.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		name := path[strings.LastIndexByte(path, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imported[name] = path
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			name := n.Sel.Name
			selected[name] = true
			x, ok := n.X.(*ast.Ident)
			if !ok || imported[x.Name] == "" {
				break
			}
			path := imported[x.Name]
			if own := path == "gnvcc/"+dir; own && !strings.HasPrefix(name, "Err") {
				break
			}
			if read[path] == nil {
				read[path] = map[string]bool{}
			}
			read[path][name] = true
		case *ast.InterfaceType:
			for _, m := range n.Methods.List {
				for _, name := range m.Names {
					asked[name.Name] = true
				}
			}
		}
		return true
	})
}

// shownBy gives a package's exported names, tests and programs aside.
func shownBy(files map[string]*ast.File) (out []shownName) {
	types := map[string]bool{}
	reached := map[string]bool{}
	add := func(s shownName) {
		if ast.IsExported(s.name) {
			out = append(out, s)
		}
	}
	for name, f := range files {
		if strings.HasSuffix(name, "_test.go") || f.Name.Name == "main" {
			continue
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() {
					reach(d.Type, reached)
				}
				if d.Recv == nil || ast.IsExported(receiver(d)) {
					add(shownName{name: d.Name.Name, method: d.Recv != nil})
				}
			case *ast.GenDecl:
				var values, group []string
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						if types[spec.Name.Name] = true; spec.Name.IsExported() {
							reach(spec.Type, reached)
						}
					case *ast.ValueSpec:
						for _, id := range spec.Names {
							values = append(values, id.Name)
							if id.IsExported() && d.Tok == token.VAR && spec.Type != nil {
								reach(spec.Type, reached)
							}
						}
						if id, ok := spec.Type.(*ast.Ident); ok {
							group = append(group, id.Name)
						}
					}
				}
				if group = append(group, values...); d.Tok == token.VAR {
					group = nil
				}
				for _, name := range values {
					add(shownName{name: name, group: group})
				}
			}
		}
	}
	for name := range types {
		add(shownName{name: name, reached: reached[name]})
	}
	return out
}

// receiver is the name of a method's type.
func receiver(d *ast.FuncDecl) string {
	name := ""
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return true
	})
	return name
}

// reach notes the names in a type that others see: all but a struct's fields with small letters.
func reach(e ast.Expr, reached map[string]bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			for _, f := range n.Fields.List {
				if len(f.Names) == 0 || slices.ContainsFunc(f.Names, (*ast.Ident).IsExported) {
					reach(f.Type, reached)
				}
			}
			return false
		case *ast.Ident:
			reached[n.Name] = true
		}
		return true
	})
}
