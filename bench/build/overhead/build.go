package overhead

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"gnvcc/bench/lab"
)

// A Program is what was measured on one. The lists of its ways run parallel: one entry a round.
type Program struct {
	Name   string
	Ways   []Way
	Failed string `json:",omitempty"`
}

// A Way is one way of building: by whom, and what the store knew.
type Way struct {
	Compiler  string    // "nvcc" or "gnvcc"
	Store     string    // one of the stores below, "" for nvcc
	Wall, CPU []float64 // seconds; CPU is user and system, of all children
}

func (w Way) String() string { return strings.TrimSpace(w.Compiler + " " + w.Store) }

// What a store knows.
const (
	known = "known" // this very compile
	unit  = "unit"  // the toolkit, but nothing of this program: what each further file costs
	first = "first" // nothing: it is empty
	// the toolkit, and the recipes of a lock file: what their variants cost where nobody has tuned
	recipes = "recipes"
)

type builder struct {
	nvcc, gnvcc, work string
	stores            []string // which of the above
	lock              string   // the lock file of recipes
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

// ways are what is built in a round, nvcc first.
func (b builder) ways() (ways []Way, compilers []string) {
	add := func(name, path, store string) {
		ways, compilers = append(ways, Way{Compiler: name, Store: store}), append(compilers, path)
	}
	add("nvcc", b.nvcc, "")
	for _, store := range b.stores {
		add("gnvcc", b.gnvcc, store)
	}
	return ways, compilers
}

// measure builds one program in rounds: each way of building once a round, in random order.
func (b builder) measure(ctx context.Context, folder string, rounds int) (p Program) {
	p.Name = filepath.Base(folder)
	ways, compilers := b.ways()
	failed := func(err error) Program {
		p.Failed = err.Error()
		return p
	}
	abs, err := filepath.Abs(folder)
	if err != nil {
		return failed(err)
	}
	// A copy of the folder next to links to its neighbours, since programs include "../common/x.h".
	root := filepath.Join(b.work, p.Name)
	if err := copyBeside(abs, root); err != nil {
		return failed(err)
	}
	dir := filepath.Join(root, p.Name)
	seeds := map[string]string{} // by compiler: stores that know the toolkit
	for i, w := range ways {
		if w.Store == unit || w.Store == recipes {
			seeds[w.Compiler] = filepath.Join(root, ".seed-"+w.Compiler)
			if err := b.seed(ctx, compilers[i], seeds[w.Compiler]); err != nil {
				return failed(err)
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2))      // the same orders each time
	for round := -1; round < rounds; round++ { // the first fills caches and stores
		for _, i := range random.Perm(len(ways)) {
			w := &ways[i]
			store := filepath.Join(root, ".store-"+w.Compiler)
			if w.Store != known && w.Store != "" {
				store = filepath.Join(root, ".fresh")
				if err := b.freshen(store, w.Store, seeds[w.Compiler]); err != nil {
					return failed(err)
				}
			}
			lock := ""
			if w.Store == recipes {
				lock = b.lock
			}
			wall, cpu, err := b.build(ctx, dir, compilers[i], store, lock)
			if err != nil {
				return failed(err)
			}
			if round >= 0 {
				w.Wall, w.CPU = append(w.Wall, wall.Seconds()), append(w.CPU, cpu.Seconds())
			}
		}
	}
	p.Ways = ways
	return p
}

// build builds a program once, with a lock file or, "", without.
func (b builder) build(ctx context.Context, dir, compiler, store, lock string) (wall, cpu time.Duration,
	err error) {
	for _, argv := range b.commands(dir, compiler) {
		r := lab.Step{Argv: argv, Dir: dir, Limit: b.limit, Env: []string{"GNVCC_NVCC=" + b.nvcc,
			"GNVCC_STORE=" + store, "GNVCC_LOCK=" + cmp.Or(lock, "0")}}.Run(ctx)
		if r.Err != nil {
			return 0, 0, r.Err
		}
		wall += r.Wall
		cpu += r.User + r.System
	}
	return wall, cpu, nil
}

// seed makes a store that knows the toolkit: of a kernel that does nothing.
func (b builder) seed(ctx context.Context, compiler, store string) error {
	dir := store + "-source"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "seed.cu"), []byte("__global__ void seed() {}\n"),
		0o644); err != nil {
		return err
	}
	_, _, err := b.build(ctx, dir, compiler, store, "")
	return err
}

// freshen makes a store for one build.
func (b builder) freshen(store, knows, seed string) error {
	if err := os.RemoveAll(store); err != nil || knows == first {
		return err
	}
	if err := os.CopyFS(store, os.DirFS(seed)); err != nil {
		return err
	}
	return os.Chmod(store, 0o700) // CopyFS adds rights, and such a store is not believed
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
