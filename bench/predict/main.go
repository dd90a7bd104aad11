package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"

	"gnvcc/bench/lab"
)

func main() {
	lab.Main("predict", func(ctx context.Context, args []string) error { return run(ctx, args, os.Stdout) })
}

func run(ctx context.Context, args []string, w io.Writer) error {
	flags := flag.NewFlagSet("predict", flag.ContinueOnError)
	reports := flags.String("reports", "",
		"folder of reports: PROGRAM.json is what `gnvcc report --json` printed")
	stores := flags.String("stores", "",
		"folder of stores: PROGRAM, the same code built again by gnvcc")
	half := flags.String("half", "", "a or b: only this half of the programs, by a hash of the name")
	least := flags.Float64("least", 2, "leave out kernels whose launch takes less, microseconds")
	alone := flags.Bool("alone", false,
		"only recipes of one lever: what joins several was tried since the parts were fast, which is no news to a predictor")
	registers := flags.Bool("registers", false,
		"only recipes for registers: caps, demote, and what joins them")
	from := flags.String("from", "",
		"in place of -reports: files that -rows wrote, with commas between; needs no toolkit")
	rows := flags.String("rows", "", "write one line a trial, with what was measured and predicted")
	launches := flags.String("xmodel", "",
		"only the X-model, on a file of launches that were counted and timed; with -stores, a store with their programs, by machine code too")
	jobs := flags.Int("j", runtime.NumCPU(), "programs at a time")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *launches != "" {
		return compareX(ctx, w, *launches, *stores)
	}
	if *half != "" && *half != "a" && *half != "b" {
		return fmt.Errorf("-half %q: a or b", *half)
	}
	g := gatherer{reports: *reports, stores: *stores, least: *least * 1000, alone: *alone, jobs: *jobs,
		say: w, registers: *registers}
	var kernels []kernel
	var err error
	if *from != "" {
		kernels, err = read(*from, *registers)
	} else {
		kernels, err = g.gather(ctx, *half)
	}
	if err != nil {
		return err
	}
	if len(kernels) < 2 {
		return fmt.Errorf("%d kernels of the reports could be built again, two are needed", len(kernels))
	}
	if err := lab.WriteLines(*rows, lines(kernels)); err != nil {
		return err
	}
	tell(w, kernels)
	return nil
}

// A line is a trial in the file of raw results.
type line struct {
	Program, Kernel, Device, Recipe string
	Launch                          [3]int  // threads of a block, dynamic shared memory, blocks
	Ratio                           float64 // measured, over the default's
	Ours                            float64 // predicted, over the default's
	Paper                           float64 // the same by RegDem's predictor
	Registers, Warps                int
	Spills                          float64
	Stacks                          bool    // see predict.Ranked
	Sectors                         float64 // of a warp: sectors of 32 bytes
}

func lines(kernels []kernel) (out []line) {
	for _, k := range kernels {
		for _, t := range k.trials {
			out = append(out, line{Program: k.program, Kernel: k.name, Device: k.device,
				Recipe: t.recipe, Ratio: t.ratio,
				Registers: t.run.Registers,
				Launch:    [3]int{t.run.Shape.Threads, k.dynamic, t.run.Shape.Blocks},
				Warps:     t.estimate.Occupancy.Warps,
				Stacks:    t.ranked.Stacks,
				Ours:      t.ranked.Time,
				Paper:     t.paper,
				Spills:    t.estimate.Spills, Sectors: t.estimate.Sectors})
		}
	}
	return out
}
