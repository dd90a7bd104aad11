// The command line.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"

	"gnvcc/bench/machine"
)

// A Raw is everything that was measured.
type Raw struct {
	Machine machine.Facts
	Flags   string
	Files   []File
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "rebuild:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("rebuild", flag.ContinueOnError)
	gnvcc := set.String("gnvcc", "bin/gnvcc", "gnvcc")
	nvcc := set.String("nvcc", "nvcc", "the real nvcc")
	pairs := set.Int("pairs", 5, "pairs per file")
	flags := set.String("flags", "-O3 -arch=sm_90", "flags of nvcc")
	limit := set.Duration("limit", 5*time.Minute, "of one build")
	commit := set.String("commit", "", "gnvcc's commit, where there is no git")
	out := set.String("out", "", "file for the raw results")
	if err := set.Parse(args); err != nil {
		return err
	}
	if *pairs < 1 || set.NArg() == 0 {
		return fmt.Errorf("which files? name .cu files; -pairs must be at least 1")
	}
	var err error
	if *gnvcc, err = program(*gnvcc); err != nil {
		return err
	}
	if *nvcc, err = program(*nvcc); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "gnvcc-rebuild-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	raw := Raw{Machine: machine.Gather(ctx, *nvcc, *gnvcc, *commit), Flags: *flags}
	raw.Machine.Nvcc, raw.Machine.Gnvcc = filepath.Base(*nvcc), filepath.Base(*gnvcc) // paths say nothing to others
	fmt.Println(raw.Machine)
	fmt.Printf("\n%-16s %8s %8s %7s %7s   %s\n", "file", "nvcc s", "apply s", "ratio", "cpu", "nvcc's steps, seconds")
	b := builder{*nvcc, *gnvcc, work, strings.Fields(*flags), *limit}
	var all, allCPU []float64
	for _, file := range set.Args() {
		f, err := b.measure(ctx, file, *pairs)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		raw.Files = append(raw.Files, f)
		wall, cpu := ratios(f.Apply, f.Nvcc), ratios(f.ApplyCPU, f.NvccCPU)
		all, allCPU = append(all, wall...), append(allCPU, cpu...)
		fmt.Printf("%-16s %8.2f %8.2f %7.3f %7.3f   %s\n", f.Name, median(f.Nvcc), median(f.Apply), median(wall), median(cpu), f.steps())
	}
	fmt.Printf("%-16s %8s %8s %7.3f %7.3f   (median of %d pairs; the goal is 0.35 at most)\n", "all", "", "", median(all), median(allCPU), len(all))
	if *out == "" {
		return nil
	}
	text, err := json.MarshalIndent(raw, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(*out, append(text, '\n'), 0o644)
}

func ratios(a, b []float64) []float64 {
	out := make([]float64, min(len(a), len(b)))
	for i := range out {
		out[i] = a[i] / b[i]
	}
	return out
}

func (f File) steps() string {
	var names []string
	for name := range f.Steps {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool { return f.Steps[names[i]] > f.Steps[names[j]] })
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %.2f", name, f.Steps[name])
	}
	return strings.Join(names, ", ")
}

func median(list []float64) float64 {
	s := append([]float64(nil), list...)
	sort.Float64s(s)
	if n := len(s); n%2 == 1 {
		return s[n/2]
	} else if n > 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return 0
}

func program(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is no program that can be run: %w", name, err)
	}
	return filepath.Abs(path)
}
