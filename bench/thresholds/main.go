package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"gnvcc/bench/command"
	"gnvcc/bench/decisions"
	"gnvcc/bench/jsonl"
	"gnvcc/cache"
	"gnvcc/policy/lever"
	"gnvcc/rewrite/ptx"
)

func main() {
	command.Main("thresholds", func(_ context.Context, args []string) error {
		return run(args, os.Stdout)
	})
}

func run(args []string, w io.Writer) error {
	flags := flag.NewFlagSet("thresholds", flag.ContinueOnError)
	rows := flags.String("rows", "", "write one line a configuration")
	within := flags.Float64("within", 0.03, "of the best measured time: the vote is right")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var all []row
	for _, file := range flags.Args() {
		list, err := read(file, w)
		if err != nil {
			fmt.Fprintf(w, "left out: %s: %v\n", file, err)
		}
		all = append(all, list...)
	}
	if len(all) == 0 {
		return fmt.Errorf("no configuration of %d reports was sampled and measured", flags.NArg())
	}
	if err := jsonl.Write(*rows, all); err != nil {
		return err
	}
	tell(w, all, *within)
	return nil
}

// A row is a configuration: each threshold's cycles in the launch that was sampled, and the time
// that was measured, over the default's.
type row struct {
	Program, Kernel string
	Grid, Block     [3]int
	Microseconds    float64 // of the default's launch
	Sampled         cache.Sampled
}

func read(file string, w io.Writer) ([]row, error) {
	all, err := decisions.Report(file)
	if err != nil {
		return nil, err
	}
	var out []row
	for _, d := range all {
		for _, l := range d.Evidence.Launches {
			r := row{Program: strings.TrimSuffix(filepath.Base(file), ".json"),
				Kernel: ptx.ShortName(d.Kernel), Grid: l.Grid, Block: l.Block,
				Microseconds: l.Before.Median / 1e3}
			switch {
			case l.Sampled == nil:
				continue
			case l.Sampled.Why != "":
				fmt.Fprintf(w, "not sampled: %s %s: %s\n", r.Program, r.Kernel, l.Sampled.Why)
				continue
			}
			r.Sampled = *l.Sampled
			if len(r.measured()) >= 2 {
				out = append(out, r)
			}
		}
	}
	return out, nil
}

// measured are the places of the thresholds that were measured.
func (r row) measured() []int {
	var out []int
	for i, ratio := range r.Sampled.Ratios {
		if ratio > 0 {
			out = append(out, i)
		}
	}
	return out
}

// best is the place of the threshold with the least time.
func (r row) best() int {
	places := r.measured()
	sort.SliceStable(places, func(a, b int) bool {
		return r.Sampled.Ratios[places[a]] < r.Sampled.Ratios[places[b]]
	})
	return places[0]
}

// spread is how much longer the slowest threshold takes than the fastest.
func (r row) spread() float64 {
	most := 0.0
	for _, i := range r.measured() {
		most = max(most, r.Sampled.Ratios[i])
	}
	return most/r.Sampled.Ratios[r.best()] - 1
}

// voted are the places of those measured, by the cycles that were sampled.
func (r row) voted() []int {
	places := r.measured()
	sort.SliceStable(places, func(a, b int) bool {
		return r.Sampled.Cycles[places[a]] < r.Sampled.Cycles[places[b]]
	})
	return places
}

// today are the places in the order that thresholds are tried in without a sample: those of the
// lever's list, and behind them what it leaves out.
func (r row) today() []int {
	var out []int
	for _, i := range r.measured() {
		if lever.Tried(r.Sampled.Thresholds[i], (r.Block[0]*r.Block[1]*r.Block[2]+31)/32) {
			out = append(out, i)
		}
	}
	return out
}

// after is how many have to be measured in an order until one is within a part of the best; 0: none
// of them is.
func (r row) after(order []int, within float64) int {
	for n, i := range order {
		if r.Sampled.Ratios[i] <= (1+within)*r.Sampled.Ratios[r.best()] {
			return n + 1
		}
	}
	return 0
}

func tell(w io.Writer, all []row, within float64) {
	fmt.Fprintf(w, "%-44s %9s %4s %6s %7s %6s %7s %6s\n", "", "us", "of", "voted", "ratio", "best",
		"ratio", "loses")
	var some []row
	for _, r := range all {
		v, b := r.voted()[0], r.best()
		x := r.Sampled
		fmt.Fprintf(w, "%-44.44s %9.0f %4d %6d %7.3f %6d %7.3f %5.1f%%\n", r.Program+" "+r.Kernel,
			r.Microseconds, len(r.measured()), x.Thresholds[v], x.Ratios[v], x.Thresholds[b],
			x.Ratios[b], 100*(x.Ratios[v]/x.Ratios[b]-1))
		if r.spread() > within {
			some = append(some, r)
		}
	}
	sum := func(what string, list []row) {
		if len(list) == 0 {
			return
		}
		right, first, ours, today, loss := 0, 0, 0, 0, 0.0
		for _, r := range list {
			ratios := r.Sampled.Ratios
			v, t := r.voted(), r.today()
			loss += math.Log(ratios[v[0]] / ratios[r.best()])
			if ratios[v[0]] <= (1+within)*ratios[r.best()] {
				right++
			}
			if len(t) > 0 && ratios[t[0]] <= (1+within)*ratios[r.best()] {
				first++
			}
			ours += r.after(v, within)
			n := r.after(t, within)
			if n == 0 {
				n = len(r.measured())
			}
			today += n
		}
		n := float64(len(list))
		fmt.Fprintf(w, "%s: %d; the voted threshold is within %.0f %% of the best on %d (%.0f %%), "+
			"%.1f %% slower in the mean; today's first one is on %d; measured until one is: %.2f "+
			"by votes, %.2f in today's order\n", what, len(list), 100*within, right,
			100*float64(right)/n, 100*(math.Exp(loss/n)-1), first, float64(ours)/n, float64(today)/n)
	}
	sum("configurations", all)
	sum(fmt.Sprintf("of them thresholds differ by over %.0f %%", 100*within), some)
}
