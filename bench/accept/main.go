package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"gnvcc/bench/lab"
	"gnvcc/cache"
	"gnvcc/driver/record"
	"gnvcc/policy/tuner"
)

// A run is what the command line asks for.
type run struct {
	gnvcc, nvcc, program, dir, arch, out, work string
	some, levers                               string
	flags                                      lab.List
	each, jobs                                 int
	limit                                      time.Duration

	store *cache.Store
	mu    sync.Mutex // of the file out
}

func main() { lab.Main("accept", start) }

func start(ctx context.Context, args []string) error {
	var r run
	set := flag.NewFlagSet("accept", flag.ContinueOnError)
	set.StringVar(&r.gnvcc, "gnvcc", "bin/gnvcc", "gnvcc")
	set.StringVar(&r.nvcc, "nvcc", "nvcc", "the real nvcc")
	set.StringVar(&r.program, "program", "", "what distinguishes the lines")
	set.StringVar(&r.dir, "dir", ".", "where the compiler runs")
	set.StringVar(&r.arch, "arch", "sm_90", "nvcc's -arch")
	set.StringVar(&r.some, "kernel", "", "only kernels whose names hold this")
	set.StringVar(&r.levers, "levers", "", "only these levers, with commas between")
	set.Var(&r.flags, "flag", "a flag for the compiler; several times")
	set.IntVar(&r.each, "each", 2, "of one template only so many kernels a file; 0: all")
	set.IntVar(&r.jobs, "j", runtime.NumCPU(), "at a time")
	set.StringVar(&r.out, "out", "", "file for the raw results, which are appended")
	limit := set.Int("limit", 120, "seconds for one recipe")
	shown := set.String("table", "", "print the table of a file of raw results, and compile nothing")
	if err := set.Parse(args); err != nil {
		return err
	}
	if *shown != "" {
		return print(*shown)
	}
	if r.jobs < 1 || set.NArg() == 0 || *limit < 1 {
		return errors.New("usage: accept [-program NAME] [-dir FOLDER] [-flag FLAG] [-out FILE] FILE.cu [FILE.cu ...]")
	}
	r.limit = time.Duration(*limit) * time.Second
	if err := lab.Tools(&r.gnvcc, &r.nvcc); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "gnvcc-accept-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r.work = work
	if r.program == "" {
		r.program = filepath.Base(r.dir)
	}
	return r.all(ctx, set.Args())
}

// all compiles the files, and asks of the kernels that came out of them.
func (r *run) all(ctx context.Context, files []string) error {
	place := filepath.Join(r.work, "store")
	lab.Each(r.jobs, files, func(file string) {
		object := strings.NewReplacer("/", "_", ".", "_").Replace(file) + ".o"
		argv := append([]string{r.gnvcc, "-c", "-arch=" + r.arch, "-o", filepath.Join(r.work, object)},
			r.flags...)
		build := lab.Step{Argv: append(argv, file), Dir: r.dir, Limit: 20 * time.Minute,
			Env: []string{"GNVCC_NVCC=" + r.nvcc, "GNVCC_STORE=" + place}}
		if end := build.Run(ctx); end.Err != nil {
			fmt.Fprintf(os.Stderr, "%s %s is left out: %v\n", r.program, file, end.Err)
		}
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var err error
	if r.store, err = cache.Open(place); err != nil {
		return err
	}
	if err := r.store.PublishSpooled(ctx); err != nil {
		return err
	}
	compiler, err := tuner.NewCompiler(r.store)
	if err != nil {
		return err
	}
	defer compiler.Close()
	compiler.Limit = r.limit
	built := record.Built(r.store)
	if len(built) == 0 {
		return errors.New("no kernel was built")
	}
	var asked []question
	for _, b := range built {
		if !strings.Contains(b.Name, r.some) {
			continue
		}
		q, err := about(compiler, b)
		if err != nil {
			return fmt.Errorf("%s: %w", b.Name, err)
		}
		asked = append(asked, q)
	}
	var rows []Row
	lab.Each(r.jobs, choose(asked, r.each), func(q question) {
		for _, row := range r.ask(ctx, compiler, q) {
			r.mu.Lock()
			rows = append(rows, row)
			if r.out != "" {
				if err := lab.AppendLine(r.out, row); err != nil {
					fmt.Fprintln(os.Stderr, "accept:", err)
				}
			}
			r.mu.Unlock()
		}
	})
	fmt.Print(table(rows))
	return ctx.Err()
}

// print prints the table of raw results.
func print(path string) error {
	rows, err := lab.ReadLines(path, Row.key)
	if err == nil {
		fmt.Print(table(rows))
	}
	return err
}
