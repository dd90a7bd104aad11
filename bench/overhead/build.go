// Whole builds, in pairs.

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"gnvcc/bench/command"
	"gnvcc/bench/step"
)

// A Program is what was measured on one. The lists run parallel: one entry a pair, seconds.
type Program struct {
	Name     string
	Nvcc     []float64
	Gnvcc    []float64 // the store knows the compile
	First    []float64 // the store is empty
	NvccCPU  []float64 // user and system, all children
	GnvccCPU []float64
	Failed   string `json:",omitempty"`
}

type builder struct {
	nvcc, gnvcc, work string
	flags             []string
	limit             time.Duration
}

// find lists the programs among the arguments: folders with a Makefile or .cu files, or folders of
// them.
func find(args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("which programs? name folders")
	}
	var out []string
	for _, arg := range args {
		if buildable(arg) {
			out = append(out, arg)
			continue
		}
		inside, err := os.ReadDir(arg)
		if err != nil {
			return nil, err
		}
		before := len(out)
		for _, e := range inside {
			if path := filepath.Join(arg, e.Name()); e.IsDir() && buildable(path) {
				out = append(out, path)
			}
		}
		if len(out) == before {
			return nil, fmt.Errorf("%s: neither a Makefile nor .cu files in it or in its folders", arg)
		}
	}
	return out, nil
}

func hasMakefile(dir string) bool {
	for _, name := range []string{"Makefile", "makefile", "GNUmakefile"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

func sources(dir string) []string {
	paths, _ := filepath.Glob(filepath.Join(dir, "*.cu")) // the pattern is good, so there is no error
	sort.Strings(paths)
	return paths
}

func buildable(dir string) bool { return hasMakefile(dir) || len(sources(dir)) > 0 }

// measure builds one program in pairs.
func (b builder) measure(ctx context.Context, folder string, pairs int) Program {
	p := Program{Name: filepath.Base(folder)}
	abs, err := filepath.Abs(folder)
	if err != nil {
		p.Failed = err.Error()
		return p
	}
	// A copy of the folder beside links to its neighbours, since programs include "../common/x.h".
	root := filepath.Join(b.work, p.Name)
	if err := copyBeside(abs, root); err != nil {
		p.Failed = err.Error()
		return p
	}
	dir := filepath.Join(root, p.Name)
	warm, fresh := filepath.Join(root, ".store"), filepath.Join(root, ".fresh")
	build := func(compiler, store string) (wall, cpu float64, err error) {
		for _, argv := range b.commands(dir, compiler) {
			r := step.Step{Argv: argv, Dir: dir, Limit: b.limit, Env: []string{"GNVCC_NVCC=" + b.nvcc,
				"GNVCC_STORE=" + store}}.Run(ctx)
			if r.Err != nil {
				return 0, 0, r.Err
			}
			wall += r.Wall.Seconds()
			cpu += (r.User + r.System).Seconds()
		}
		return wall, cpu, nil
	}
	for i := -1; i < pairs; i++ { // the first fills the file cache and the store
		if err := os.RemoveAll(fresh); err != nil {
			p.Failed = err.Error()
			return p
		}
		var wall, cpu [3]float64 // nvcc, gnvcc, gnvcc with an empty store
		order := []int{0, 1, 2}
		if i%2 == 1 {
			order = []int{2, 1, 0}
		}
		for _, which := range order {
			compiler, store := b.gnvcc, warm
			switch which {
			case 0:
				compiler = b.nvcc
			case 2:
				store = fresh
			}
			if wall[which], cpu[which], err = build(compiler, store); err != nil {
				p.Failed = err.Error()
				return p
			}
		}
		if i < 0 {
			continue
		}
		p.Nvcc, p.Gnvcc, p.First = append(p.Nvcc, wall[0]), append(p.Gnvcc, wall[1]),
			append(p.First, wall[2])
		p.NvccCPU, p.GnvccCPU = append(p.NvccCPU, cpu[0]), append(p.GnvccCPU, cpu[1])
	}
	return p
}

// commands builds everything anew.
func (b builder) commands(dir, compiler string) [][]string {
	if hasMakefile(dir) {
		return [][]string{{"make", "-s", "-B", "NVCC=" + compiler}}
	}
	var out [][]string
	for _, path := range sources(dir) {
		argv := append([]string{compiler}, b.flags...)
		out = append(out, append(argv, "-c", filepath.Base(path), "-o",
			strings.TrimSuffix(filepath.Base(path), ".cu")+".o"))
	}
	return out
}

func copyBeside(folder, root string) error {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	neighbours, err := os.ReadDir(filepath.Dir(folder))
	if err != nil {
		return err
	}
	for _, n := range neighbours {
		if n.Name() == filepath.Base(folder) {
			continue
		}
		if err := os.Symlink(filepath.Join(filepath.Dir(folder), n.Name()),
			filepath.Join(root, n.Name())); err != nil {
			return err
		}
	}
	return os.CopyFS(filepath.Join(root, filepath.Base(folder)), os.DirFS(folder))
}

func (r Raw) all() []float64 {
	var out []float64
	for _, p := range r.Programs {
		out = append(out, command.Ratios(p.Gnvcc, p.Nvcc)...)
	}
	return out
}
