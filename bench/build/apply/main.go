package apply

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gnvcc/bench/lab"
)

// A Raw is everything that was measured.
type Raw struct {
	Machine lab.Machine
	Flags   string
	Recipe  string
	Files   []File
}

// Run is the command.
func Run(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("apply", flag.ContinueOnError)
	gnvcc := set.String("gnvcc", "bin/gnvcc", "gnvcc")
	nvcc := set.String("nvcc", "nvcc", "the real nvcc")
	pairs := set.Int("pairs", 5, "pairs per file")
	flags := set.String("flags", "-O3 -arch=sm_90", "flags of nvcc")
	recipe := set.String("recipe", "maxnreg=%d",
		"of every kernel; %d is another number in every pair: spec{blockDim.x=%d} changes host code, too")
	limit := set.Duration("limit", 5*time.Minute, "of one build")
	commit := set.String("commit", "", "gnvcc's commit, where there is no git")
	out := set.String("out", "", "file for the raw results")
	if err := set.Parse(args); err != nil {
		return err
	}
	if *pairs < 1 || set.NArg() == 0 {
		return fmt.Errorf("which files? name .cu files; -pairs must be at least 1")
	}
	if err := lab.Tools(gnvcc, nvcc); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "gnvcc-rebuild-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	raw := Raw{Machine: lab.Gather(ctx, *nvcc, *gnvcc, *commit), Flags: *flags, Recipe: *recipe}
	// paths say nothing to others
	raw.Machine.Nvcc, raw.Machine.Gnvcc = filepath.Base(*nvcc), filepath.Base(*gnvcc)
	fmt.Println(raw.Machine)
	fmt.Printf("\n%-16s %8s %8s %7s %7s %7s\n", "file", "nvcc s", "apply s", "ratio", "cpu",
		"first")
	b := builder{*nvcc, *gnvcc, work, strings.Fields(*flags), *recipe, *limit}
	var all, allCPU []float64
	for _, file := range set.Args() {
		f, err := b.measure(ctx, file, *pairs)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		raw.Files = append(raw.Files, f)
		wall, cpu := lab.Ratios(f.Apply, f.Nvcc), lab.Ratios(f.ApplyCPU, f.NvccCPU)
		all, allCPU = append(all, wall...), append(allCPU, cpu...)
		fmt.Printf("%-16s %8.2f %8.2f %7.3f %7.3f %7.3f\n", f.Name, lab.Median(f.Nvcc),
			lab.Median(f.Apply), lab.Median(wall), lab.Median(cpu), f.First)
	}
	fmt.Printf("%-16s %8s %8s %7.3f %7.3f           (median of %d pairs; the goal is 0.35 at most)\n",
		"all", "", "", lab.Median(all), lab.Median(allCPU), len(all))
	return lab.WriteJSON(*out, raw)
}
