// Command mutate puts one fault at a time into a copy of the sources, and says which ones the tests
// catch:
//
//	go run ./mutate -n 200 -out faults.jsonl rewrite driver policy
//
// A fault turns a comparison round, drops an error (if err != nil) or adds 1 to a number, at a place
// drawn from -seed. What does not compile is drawn again. The tests of the package that has the fault
// run first, then those of the packages around it (rewrite for rewrite/coarsen, which has no tests of its
// own), then, where they pass and -alone is not given, those of all packages of its top folder. -out gets
// a line a fault.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gnvcc/bench/lab"
)

func main() { lab.Main("mutate", run) }

// A fault replaces some bytes of a file.
type fault struct {
	File, Was, Is string
	Line          int
	CaughtBy      string  // "package", "around", "room" (its top folder), "" (none), "compiler"
	Seconds       float64 // of the tests
	at            int
}

func run(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("mutate", flag.ContinueOnError)
	n := set.Int("n", 200, "faults")
	seed := set.Int64("seed", 1, "of the draw")
	out := set.String("out", "faults.jsonl", "raw results, which are appended")
	alone := set.Bool("alone", false, "only the tests of the package that has the fault, and of those around it")
	root := set.String("root", "..", "the module whose sources get faults, in a copy")
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() == 0 {
		return errors.New("usage: mutate [-n 200] [-seed 1] [-out FILE] FOLDER [FOLDER ...]")
	}
	copied, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(copied)
	if err := os.CopyFS(copied, os.DirFS(*root)); err != nil {
		return err
	}
	var all []fault
	for _, dir := range set.Args() {
		some, err := faults(copied, dir)
		if err != nil {
			return err
		}
		all = append(all, some...)
	}
	caught, done := 0, 0
	for _, k := range rand.New(rand.NewSource(*seed)).Perm(len(all)) {
		if done == *n || ctx.Err() != nil {
			break
		}
		f := all[k]
		if err := f.try(ctx, copied, *alone); err != nil {
			return err
		}
		if f.CaughtBy == "compiler" || ctx.Err() != nil {
			continue
		}
		if done++; f.CaughtBy != "" {
			caught++
		}
		fmt.Printf("%d of %d caught; %s:%d %s -> %s: %q\n", caught, done, f.File, f.Line, f.Was, f.Is, f.CaughtBy)
		if err := lab.AppendLine(*out, f); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// faults lists those that the sources below a folder can get.
func faults(root, dir string) (all []fault, err error) {
	set := token.NewFileSet()
	err = filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") ||
			strings.Contains(path, "testdata") {
			return err
		}
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		add := func(pos token.Pos, was, is string) {
			p := set.Position(pos)
			all = append(all, fault{File: name, Was: was, Is: is, Line: p.Line, at: p.Offset})
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				x, _ := n.X.(*ast.Ident)
				y, _ := n.Y.(*ast.Ident)
				if x != nil && y != nil && x.Name == "err" && y.Name == "nil" && n.Op == token.NEQ {
					add(n.Pos(), "err != nil", "false && err != nil")
				} else if is := turned[n.Op]; is != "" {
					add(n.OpPos, n.Op.String(), is)
				}
			case *ast.BasicLit:
				if v, err := strconv.Atoi(n.Value); err == nil && n.Kind == token.INT {
					add(n.Pos(), n.Value, strconv.Itoa(v+1))
				}
			}
			return true
		})
		return nil
	})
	return all, err
}

var turned = map[token.Token]string{token.EQL: "!=", token.NEQ: "==", token.LSS: ">=", token.GEQ: "<",
	token.GTR: "<=", token.LEQ: ">"}

// try runs the tests with the fault, and takes it back.
func (f *fault) try(ctx context.Context, root string, alone bool) error {
	path := filepath.Join(root, f.File)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	defer os.WriteFile(path, text, 0o644)
	faulty := string(text[:f.at]) + f.Is + strings.TrimPrefix(string(text[f.at:]), f.Was)
	if err := os.WriteFile(path, []byte(faulty), 0o644); err != nil {
		return err
	}
	dir, begun := filepath.Dir(f.File), time.Now()
	fails := func(arguments ...string) bool {
		c := exec.CommandContext(ctx, "go", arguments...)
		c.Dir = root
		return c.Run() != nil
	}
	switch room, _, _ := strings.Cut(f.File, "/"); {
	case fails("build", "./"+dir):
		f.CaughtBy = "compiler"
	case tested(root, dir) && fails("test", "-timeout", "10m", "./"+dir):
		f.CaughtBy = "package"
	case slices.ContainsFunc(around(root, dir), func(p string) bool { return fails("test", "-timeout", "10m", "./"+p) }):
		f.CaughtBy = "around"
	case !alone && fails("test", "-timeout", "20m", "./"+room+"/..."):
		f.CaughtBy = "room"
	}
	f.Seconds = time.Since(begun).Seconds()
	return nil
}

// tested reports whether a package has tests.
func tested(root, dir string) bool {
	files, _ := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	return len(files) > 0
}

// around lists the packages with tests in the folders above a package, up to its top folder.
func around(root, dir string) (out []string) {
	for dir = filepath.Dir(dir); dir != "."; dir = filepath.Dir(dir) {
		if tested(root, dir) {
			out = append(out, dir)
		}
	}
	return out
}
