// The command line and the table.

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"gnvcc/bench/command"
	"gnvcc/bench/machine"
)

// A Raw is everything that was measured.
type Raw struct {
	Machine machine.Facts
	Jobs    int // compiles at a time
	Series  []Series
}

// A Series is one kernel compiled by one kind of recipes.
type Series struct {
	Program, Kernel, Kind string
	Runs                  []Run
}

// A Run is one time that n candidates were compiled. Seconds; the processor's time is that of all
// tools and our own.
type Run struct {
	N                 int
	Wall, CPU         float64
	Cicc, Ptxas       int // runs of the tool
	Failed            int // recipes that could not be carried out, or that ptxas refused
	CiccTime, PtxTime float64
	CiccCPU           float64 // of the processor's time, cicc's
}

func main() { command.Main("candidates", run) }

func run(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("candidates", flag.ContinueOnError)
	gnvcc := set.String("gnvcc", "bin/gnvcc", "gnvcc")
	nvcc := set.String("nvcc", "nvcc", "the real nvcc")
	numbers := set.String("n", "1,10,60", "numbers of candidates, separated by commas")
	runs := set.Int("runs", 3, "repetitions")
	jobs := set.Int("j", runtime.NumCPU(), "compiles at a time")
	commit := set.String("commit", "", "gnvcc's commit, where there is no git")
	out := set.String("out", "", "file for the raw results")
	if err := set.Parse(args); err != nil {
		return err
	}
	var ns []int
	for _, word := range strings.Split(*numbers, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 || n > len(recipes(byPTX)) {
			return fmt.Errorf("-n %q: numbers from 1 to %d", *numbers, len(recipes(byPTX)))
		}
		ns = append(ns, n)
	}
	if *runs < 1 || *jobs < 1 || set.NArg() == 0 {
		return errors.New("usage: candidates [-n 1,10,60] [-runs 3] [-j N] FOLDER [FOLDER ...]")
	}
	if err := command.Programs(gnvcc, nvcc); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "gnvcc-candidates-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	raw := Raw{Machine: machine.Gather(ctx, *nvcc, *gnvcc, *commit), Jobs: *jobs}
	fmt.Println(raw.Machine)
	for _, folder := range set.Args() {
		b := builder{gnvcc: *gnvcc, nvcc: *nvcc, work: filepath.Join(work, filepath.Base(folder)),
			jobs: *jobs}
		if err := b.build(ctx, folder); err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
		for _, kind := range []string{byPTX, bySource, byWhole} {
			s := Series{Program: filepath.Base(folder), Kernel: b.kernel, Kind: kind}
			for range *runs {
				for _, n := range ns {
					r, err := b.compile(ctx, kind, recipes(kind)[:n])
					if err != nil {
						return fmt.Errorf("%s: %w", folder, err)
					}
					s.Runs = append(s.Runs, r)
				}
			}
			raw.Series = append(raw.Series, s)
		}
	}
	fmt.Print(table(raw))
	return command.Write(*out, raw)
}

// table prints the medians, and each against one candidate of the same kind.
func table(raw Raw) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-14s %-7s %4s %6s %6s %9s %9s %9s %11s %11s %9s %9s\n", "program", "kind", "n",
		"cicc", "ptxas", "cicc CPU", "wall s", "CPU s", "wall s each", "CPU s each", "wall/one", "CPU/one")
	for _, s := range raw.Series {
		var ns []int
		for _, r := range s.Runs {
			if !slices.Contains(ns, r.N) {
				ns = append(ns, r.N)
			}
		}
		of := func(n int, value func(Run) float64) float64 {
			var all []float64
			for _, r := range s.Runs {
				if r.N == n {
					all = append(all, value(r))
				}
			}
			return command.Median(all)
		}
		wall, cpu := func(r Run) float64 { return r.Wall }, func(r Run) float64 { return r.CPU }
		for _, n := range ns {
			against := func(value func(Run) float64) string {
				if one := of(1, value); one > 0 {
					return fmt.Sprintf("%.1f", of(n, value)/one)
				}
				return "-"
			}
			fmt.Fprintf(&b, "%-14s %-7s %4d %6.0f %6.0f %9.2f %9.2f %9.2f %11.3f %11.3f %9s %9s\n", s.Program,
				s.Kind, n,
				of(n, func(r Run) float64 {
					return float64(r.Cicc)
				}), of(n, func(r Run) float64 { return float64(r.Ptxas) }),
				of(n, func(r Run) float64 {
					return r.CiccCPU
				}), of(n, wall), of(n, cpu), of(n, wall)/float64(n), of(n, cpu)/float64(n), against(wall),
				against(cpu))
		}
	}
	fmt.Fprintf(&b, "%d compiles at a time; medians; CPU: all tools' and gnvcc's own.\n", raw.Jobs)
	return b.String()
}
