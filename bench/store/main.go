// The command line, and the table.

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gnvcc/bench/lab"
)

// A Raw is everything that was measured.
type Raw struct {
	Machine  lab.Machine
	Builders int
	Lookups  int // of each builder
	Cells    []Cell
}

// A Cell is one line of the table. Times are nanoseconds, those of one builder behind those of the
// other.
type Cell struct {
	Round        int
	Records      int
	Publishing   bool // an owner publishes a new snapshot every 20 ms
	Working      bool // builders compute between their look-ups; else they sleep
	Publications int
	Load         string // load average when it began
	Wall, CPU    []int64
}

func main() {
	if job := os.Getenv(jobEnv); job != "" {
		if err := build(job); err != nil {
			fmt.Fprintln(os.Stderr, "store:", err)
			os.Exit(1)
		}
		return
	}
	lab.Main("store", run)
}

func run(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("store", flag.ContinueOnError)
	builders := set.Int("builders", 64, "processes")
	lookups := set.Int("lookups", 50, "look-ups of each process")
	list := set.String("records", "10,1000,30000", "decisions in the store")
	rounds := set.Int("rounds", 1, "the whole table as often")
	working := set.Bool("working", true, "also with builders that compute between their look-ups")
	commit := set.String("commit", "", "gnvcc's commit, where there is no git")
	out := set.String("out", "", "file for the raw results")
	if err := set.Parse(args); err != nil {
		return err
	}
	if *builders < 1 || *lookups < 1 || *rounds < 1 {
		return fmt.Errorf("-builders, -lookups and -rounds must be at least 1")
	}
	var sizes []int
	for _, word := range strings.Split(*list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return fmt.Errorf("-records %s: numbers of 1 and above with commas between them", *list)
		}
		sizes = append(sizes, n)
	}
	raw := Raw{Machine: lab.Gather(ctx, "", "", *commit), Builders: *builders, Lookups: *lookups}
	fmt.Printf("%s; %d cores; load %s; gnvcc %s\n%d processes, %d look-ups each, microseconds\n\n",
		raw.Machine.CPU, raw.Machine.Cores, raw.Machine.Load, raw.Machine.Commit, *builders, *lookups)
	fmt.Printf("%8s %-10s %-8s %9s %9s %9s   %9s %9s   %9s %9s   %s\n", "records", "publishing",
		"builders", "p50", "p99", "max", "first p50", "first p99", "cpu p50", "cpu p99", "load")
	for round := range *rounds {
		for _, records := range sizes {
			dir, err := os.MkdirTemp("", "gnvcc-bench-store-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			store, err := filled(ctx, filepath.Join(dir, "store"), records)
			if err != nil {
				return err
			}
			for _, mode := range []struct{ publishing, working bool }{{false, false}, {true, false},
				{true, true}} {
				if mode.working && !*working {
					continue
				}
				c, err := measure(ctx, store, Cell{Round: round, Records: records, Publishing: mode.publishing,
					Working: mode.working}, *builders, *lookups)
				if err != nil {
					return err
				}
				raw.Cells = append(raw.Cells, c)
				fmt.Println(c.line(*lookups))
			}
		}
	}
	fmt.Println(
		"\nbuilders: asleep for 0 to 100 ms between look-ups, or at work for as long; first: the first look-up of each process; the goal is p99 of 2000 at most")
	return lab.WriteJSON(*out, raw)
}

func (c Cell) line(lookups int) string {
	var firsts []int64
	for i := 0; i < len(c.Wall); i += lookups {
		firsts = append(firsts, c.Wall[i])
	}
	us := func(times []int64, q float64) float64 { return float64(quantile(times, q)) / 1e3 }
	word := map[bool]string{false: "asleep", true: "at work"}[c.Working]
	publishing := map[bool]string{false: "no", true: "yes"}[c.Publishing]
	return fmt.Sprintf("%8d %-10s %-8s %9.1f %9.1f %9.1f   %9.1f %9.1f   %9.1f %9.1f   %s", c.Records,
		publishing, word,
		us(c.Wall, 0.5), us(c.Wall, 0.99), us(c.Wall, 1), us(firsts, 0.5), us(firsts, 0.99),
		us(c.CPU, 0.5), us(c.CPU, 0.99), c.Load)
}

// quantile gives the smallest value that a share of q of them does not exceed.
func quantile(times []int64, q float64) int64 {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	n := int(q*float64(len(sorted))+0.999999) - 1
	return sorted[min(max(n, 0), len(sorted)-1)]
}
