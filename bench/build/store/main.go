package store

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
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
	Records      int
	Publishing   bool // an owner publishes a new snapshot every 20 ms
	Publications int
	Load         string // load average when it began
	Wall, CPU    []int64
}

// Run is the command; the processes that it starts are this program, too (Builder).
func Run(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("store", flag.ContinueOnError)
	builders := set.Int("builders", 64, "processes")
	lookups := set.Int("lookups", 50, "look-ups of each process")
	list := set.String("records", "10,1000,30000", "decisions in the store")
	commit := set.String("commit", "", "gnvcc's commit, where there is no git")
	out := set.String("out", "", "file for the raw results")
	if err := set.Parse(args); err != nil {
		return err
	}
	if *builders < 1 || *lookups < 1 {
		return fmt.Errorf("-builders and -lookups must be at least 1")
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
	fmt.Printf("%8s %-10s %9s %9s %9s   %9s %9s   %9s %9s   %s\n", "records", "publishing",
		"p50", "p99", "max", "first p50", "first p99", "cpu p50", "cpu p99", "load")
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
		for _, publishing := range []bool{false, true} {
			c, err := measure(ctx, store, Cell{Records: records, Publishing: publishing}, *builders,
				*lookups)
			if err != nil {
				return err
			}
			raw.Cells = append(raw.Cells, c)
			fmt.Println(c.line(*lookups))
		}
	}
	fmt.Println("\nbuilders sleep for 0 to 100 ms between look-ups; first: the first look-up of each process")
	return lab.WriteJSON(*out, raw)
}

func (c Cell) line(lookups int) string {
	var firsts []int64
	for i := 0; i < len(c.Wall); i += lookups {
		firsts = append(firsts, c.Wall[i])
	}
	us := func(times []int64, q float64) float64 {
		list := make([]float64, len(times))
		for i, ns := range times {
			list[i] = float64(ns) / 1e3
		}
		return lab.Quantile(list, q)
	}
	publishing := map[bool]string{false: "no", true: "yes"}[c.Publishing]
	return fmt.Sprintf("%8d %-10s %9.1f %9.1f %9.1f   %9.1f %9.1f   %9.1f %9.1f   %s", c.Records,
		publishing,
		us(c.Wall, 0.5), us(c.Wall, 0.99), us(c.Wall, 1), us(firsts, 0.5), us(firsts, 0.99),
		us(c.CPU, 0.5), us(c.CPU, 0.99), c.Load)
}
