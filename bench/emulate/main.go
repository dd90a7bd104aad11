package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"gnvcc/bench/lab"
	"gnvcc/driver"
	"gnvcc/driver/stage"
	"gnvcc/policy/judge"
)

func main() {
	become()
	lab.Main("emulate", run)
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
	set := flag.NewFlagSet("emulate", flag.ContinueOnError)
	kernel := set.String("kernel", "", "only kernels whose names hold this")
	nvcc := set.String("nvcc", "", "the real nvcc")
	grid := set.String("grid", "4x1x1", "the grid, where the recipe does not say")
	block := set.String("block", "64x1x1", "the block, where the recipe does not say")
	var o options
	set.IntVar(&o.dynamic, "dynamic", 0, "bytes of dynamic shared memory, where the recipe does not say")
	set.IntVar(&o.rounds, "rounds", judge.Kinds, "launches of each, with other data")
	set.IntVar(&o.bytes, "bytes", 1<<16, "bytes of each buffer")
	set.Int64Var(&o.seed, "seed", 1, "of the data; with -fuzz the first kernel")
	random := set.Int("fuzz", 0, "so many files of random kernels and recipes")
	keep := set.String("keep", "", "folder for random kernels that give other results")
	generators := set.String("generators", "bench/rounding", "folder of the generators of random kernels")
	jobs := set.Int("j", runtime.NumCPU(), "with -fuzz, files at a time")
	var flags, fixed lab.List
	set.Var(&flags, "flag", "a flag for nvcc; several times")
	set.Var(&fixed, "set", "an argument's value, NAME=VALUE; several times")
	if err := set.Parse(args); err != nil {
		return err
	}
	o.set = fixed
	var err error
	if o.grid, err = size(*grid); err == nil {
		o.block, err = size(*block)
	}
	if err != nil {
		return err
	}
	if *nvcc == "" {
		*nvcc = cmp.Or(os.Getenv("GNVCC_NVCC"), "nvcc")
	}
	if err := lab.Tools(nvcc); err != nil {
		return err
	}
	if *random > 0 {
		f := &fuzz{nvcc: *nvcc, generators: *generators, keep: *keep, kernels: 2, recipes: 3, rounds: 3,
			jobs: *jobs, say: func(line string) { fmt.Println(line) }}
		if f.generators, err = filepath.Abs(f.generators); err != nil {
			return err
		}
		bad := f.seeds(ctx, o.seed, *random)
		fmt.Println(f)
		if bad > 0 {
			err = fmt.Errorf("%d recipes give other results", bad)
		}
		return err
	}
	if set.NArg() < 2 {
		return errors.New("usage: emulate [-kernel TEXT] [-flag FLAG] [-set NAME=VALUE] FILE.cu RECIPE")
	}
	bad, err := file(ctx, *nvcc, set.Arg(0), *kernel, set.Args()[1:], flags, o)
	if err == nil && bad > 0 {
		err = fmt.Errorf("%d recipes give other results", bad)
	}
	return err
}

// file tries recipes for the kernels of a file, and counts those that give other results.
func file(ctx context.Context, nvcc, name, kernel string, recipes, flags []string, o options) (bad int, err error) {
	work, err := os.MkdirTemp("", "gnvcc-emulate-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(work)
	p, err := build(ctx, nvcc, name, work, flags)
	if err != nil {
		return 0, err
	}
	list := p.matching(kernel)
	if len(list) == 0 {
		return 0, fmt.Errorf("%s has no kernel whose name holds %q; it has %s", name, kernel,
			strings.Join(p.kernels, " "))
	}
	for _, k := range list {
		for _, text := range recipes {
			v := p.try(ctx, k, text, o)
			note := ""
			if v.approximate {
				note = " (with special functions, modelled)"
			}
			fmt.Printf("%-7s %s %s: %d launches, %d instructions in place of %d%s %s\n", v.what, k, text,
				v.launches, v.steps[1], v.steps[0], note, v.why)
			if v.what == "OTHER" || v.what == "FAULT" {
				bad++
			}
		}
	}
	return bad, nil
}

// try carries a recipe out and compares.
func (p *project) try(ctx context.Context, kernel, text string, o options) verdict {
	list, err := p.variants(ctx, kernel, text)
	if err != nil {
		return verdict{what: "refused", why: err.Error()}
	}
	var out verdict
	for _, v := range list {
		if one := v.compare(o); one.worse(out) {
			out = one
		}
	}
	return out
}

// size reads a size of three dimensions.
func size(text string) (out [3]int, err error) {
	parts := strings.Split(text, "x")
	if len(parts) > 3 {
		return out, fmt.Errorf("%q is no size: 64x1x1 is one", text)
	}
	for n := range out {
		out[n] = 1
		if n < len(parts) {
			if out[n], err = strconv.Atoi(parts[n]); err != nil || out[n] < 1 {
				return out, fmt.Errorf("%q is no size: 64x1x1 is one", text)
			}
		}
	}
	return out, nil
}
