package main

import (
	"cmp"
	"context"
	"flag"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"gnvcc/bench/keep/harm"
	"gnvcc/bench/lab"
	"gnvcc/driver"
	"gnvcc/driver/stage"
)

func main() {
	become()
	lab.Main("keep", func(ctx context.Context, args []string) error {
		if len(args) > 0 && args[0] == "harm" {
			return harm.Run(ctx, args[1:])
		}
		return run(ctx, args)
	})
}

// become makes this program gnvcc where it is called by that name, or by nvcc as a stage.
func become() {
	if step, words, ok := stage.Of(os.Args[1:]); ok {
		os.Exit(stage.Run(step, words))
	}
	if filepath.Base(os.Args[0]) == "gnvcc" {
		os.Exit(driver.Face(os.Args[1:]))
	}
}

func run(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("keep", flag.ContinueOnError)
	nvcc := set.String("nvcc", "", "the real nvcc")
	out := set.String("out", "keep.jsonl", "file of results, which grows")
	limit := set.Duration("for", 7*time.Minute, "how long")
	first := set.Int64("first", 1, "the first seed")
	seeds := set.Int("seeds", math.MaxInt32, "how many")
	kernels := set.Int("kernels", 3, "of a seed")
	recipes := set.Int("recipes", 4, "of a kernel")
	table := set.Bool("table", false, "print what the file of results says, and run nothing")
	folder := set.String("forms", "", "folder of the examples, whose kernels are tried, too")
	jobs := set.Int("j", runtime.NumCPU(), "seeds at a time")
	if err := set.Parse(args); err != nil {
		return err
	}
	if *table {
		return summary(*out)
	}
	debug.SetGCPercent(400)
	if *nvcc == "" {
		*nvcc = cmp.Or(os.Getenv("GNVCC_NVCC"), "nvcc")
	}
	if err := lab.Tools(nvcc); err != nil {
		return err
	}
	r, err := newRandom(*nvcc, *out)
	if err != nil {
		return err
	}
	if *folder != "" {
		if *folder, err = filepath.Abs(*folder); err != nil {
			return err
		}
		if r.forms, err = formsOf(*folder); err != nil {
			return err
		}
	}
	r.kernels, r.recipes, r.jobs = *kernels, *recipes, *jobs
	ctx, stop := context.WithTimeout(ctx, *limit)
	defer stop()
	return r.run(ctx, *first, *seeds)
}
