// The command line.

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"gnvcc/bench/command"
	"gnvcc/bench/machine"
)

// A Raw is everything that was measured.
type Raw struct {
	Machine  machine.Facts
	Pairs    int
	Programs []Program
	Start    Start
}

func main() { command.Main("overhead", run) }

func run(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("overhead", flag.ContinueOnError)
	gnvcc := set.String("gnvcc", "bin/gnvcc", "gnvcc")
	nvcc := set.String("nvcc", "nvcc", "the real nvcc")
	pairs := set.Int("pairs", 7, "pairs of builds per program")
	starts := set.Int("starts", 200, "starts of the face")
	flags := set.String("flags", "-O3 -arch=sm_90", "flags for folders without a Makefile")
	limit := set.Duration("limit", 5*time.Minute, "of one build")
	commit := set.String("commit", "", "gnvcc's commit, where there is no git")
	out := set.String("out", "", "file for the raw results")
	if err := set.Parse(args); err != nil {
		return err
	}
	if *pairs < 1 || *starts < 1 {
		return fmt.Errorf("-pairs and -starts must be at least 1")
	}
	if err := command.Programs(gnvcc, nvcc); err != nil {
		return err
	}
	folders, err := find(set.Args())
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "gnvcc-overhead-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	raw := Raw{Machine: machine.Gather(ctx, *nvcc, *gnvcc, *commit), Pairs: *pairs}
	fmt.Println(raw.Machine)
	b := builder{nvcc: *nvcc, gnvcc: *gnvcc, work: work, flags: strings.Fields(*flags), limit: *limit}
	fmt.Printf("\n%-24s %9s %9s %7s   %9s %7s   %7s\n", "program", "nvcc s", "gnvcc s", "ratio",
		"first s", "ratio", "cpu")
	failed := 0
	for _, folder := range folders {
		p := b.measure(ctx, folder, *pairs)
		raw.Programs = append(raw.Programs, p)
		if p.Failed != "" {
			fmt.Printf("%-24s %s\n", p.Name, p.Failed)
			failed++
			continue
		}
		fmt.Printf("%-24s %9.3f %9.3f %7.3f   %9.3f %7.3f   %7.3f\n", p.Name, command.Median(p.Nvcc),
			command.Median(p.Gnvcc), command.Median(command.Ratios(p.Gnvcc, p.Nvcc)),
			command.Median(p.First), command.Median(command.Ratios(p.First, p.Nvcc)),
			command.Median(command.Ratios(p.GnvccCPU, p.NvccCPU)))
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	all := raw.all()
	if len(all) > 0 {
		fmt.Printf("%-24s %9s %9s %7.3f   (median of %d pairs; the goal is 1.02 at most)\n", "all", "",
			"", command.Median(all), len(all))
	}
	fmt.Println(
		"gnvcc s: with a store that knows the compile, no recipe; first s: with an empty store; cpu: ratio of processor times, all children")
	if raw.Start, err = b.start(ctx, *starts); err != nil {
		return err
	}
	fmt.Printf(
		"\nstart to exec of nvcc: %.2f ms median, %.2f ms at the 95th percentile (%d starts, the fake's own %.2f ms taken off; the goal is 5 ms)\n",
		raw.Start.median(), raw.Start.high(), len(raw.Start.Face), command.Median(raw.Start.Alone))
	fmt.Println("nvcc is a fake here, which only exits: it is gnvcc's own start that is measured")
	if err := command.Write(*out, raw); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d programs could not be built", failed, len(folders))
	}
	return nil
}
