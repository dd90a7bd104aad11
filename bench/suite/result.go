// What is known about one program, and the file of such lines.

package main

import (
	"fmt"
	"slices"
	"sort"

	"gnvcc/bench/lab"
	"gnvcc/cache"
)

// A Result is one program's line. Times of steps are seconds of wall time, times of kernels
// nanoseconds of the GPU's.
type Result struct {
	Program string
	Machine lab.Machine
	Failed  string `json:",omitempty"` // the step that failed, and why; what comes later is empty

	BuildNvcc, BuildGnvcc float64
	Plain                 []float64 `json:",omitempty"` // runs of nvcc's build, without a clock
	Tune                  float64   // the whole run under gnvcc tune
	Rebuild               float64
	Waited                float64 `json:",omitempty"` // for the GPU, with other suites

	// From the store that gnvcc left. Counts only: every time here is the clock's.
	Decisions, Adopted, Configurations, Candidates, Built int
	// kernel -> adopted recipe
	Recipes  map[string]string `json:",omitempty"`
	Searches []Search          `json:",omitempty"`
	Tuned    []Tuned           `json:",omitempty"`
	Observed *Observed         `json:",omitempty"`
	Claims   []Claim           `json:",omitempty"`
	Other    *Other            `json:",omitempty"` // with -again -other
	Figures  []Figure          `json:",omitempty"` // with -figures

	claimed map[string]float64 // what adopted recipes bring, by kernel

	Runs          int
	Before, After []int64 // all kernels' time, one entry a run
	Least         bool    `json:",omitempty"` // kernels' times are the least, and not the medians
	Kernels       []Kernel
	Lost          int64  // launches that the clock missed, all runs
	Stdout        string // "same", "differs: ...", "not comparable: ..."
}

// A Kernel is one kernel in one launch configuration. Where a build has none such, its count is 0:
// gnvcc may launch another entry in its place.
type Kernel struct {
	Name              string
	Grid, Block       [3]int
	Dynamic           int
	Count, CountAfter int // launches in one run (the first)
	// of one launch: the least of the runs' medians
	Before, After                   int64
	TotalBefore, TotalAfter         int64 // of one run: the least
	RegistersBefore, RegistersAfter int
	// of each run: all launches
	RunsBefore, RunsAfter []int64 `json:",omitempty"`
}

// count takes the numbers of configurations and candidates from a store. No snapshot: nothing was
// decided.
func (r *Result) count(dir string) error {
	store, err := cache.Open(dir)
	if err != nil {
		return err
	}
	list, err := decisionsOf(store)
	if err != nil || list == nil {
		return err
	}
	r.Recipes, r.claimed = map[string]string{}, map[string]float64{}
	for _, d := range list {
		r.Decisions++
		r.searches(d)
		r.tuned(store, d)
		r.Configurations += len(d.Evidence.Launches)
		r.Candidates += len(d.Evidence.Tried)
		for _, t := range d.Evidence.Tried {
			if t.Build != (cache.Build{}) {
				r.Built++
			}
		}
		if d.Recipe != "" {
			r.Adopted++
			r.Recipes[d.Kernel] = d.Recipe
			r.claimed[d.Kernel] = 1 / d.Evidence.Ratio()
		}
	}
	return nil
}

type key struct {
	name        string
	grid, block [3]int
	dynamic     int
}

type sums struct {
	count, registers int
	total, each      int64
}

// byKernel adds up the processes of a run.
func byKernel(r lab.Reading) map[key]sums {
	out := map[key]sums{}
	for _, row := range r.Rows {
		k := key{row.Kernel, row.Grid, row.Block, row.Dynamic}
		s := out[k]
		if row.Count > s.count {
			// of several processes, the one with the most launches
			s.each, s.registers = row.Median, row.Registers
		}
		s.count += row.Count
		s.total += row.Total
		out[k] = s
	}
	return out
}

// times takes over what the clock read in the runs of both builds.
func (r *Result) times(before, after []lab.Reading) {
	kernels := map[key]*Kernel{}
	r.Least = true
	take := func(readings []lab.Reading, put func(k *Kernel, first sums, each, total int64,
		runs []int64)) (totals []int64) {
		each, total, first := map[key][]int64{}, map[key][]int64{}, map[key]sums{}
		runs := map[key][]int64{}
		for i, reading := range readings {
			totals = append(totals, reading.Total())
			r.Lost += reading.Lost
			for k, s := range byKernel(reading) {
				if _, seen := first[k]; !seen {
					first[k], runs[k] = s, make([]int64, len(readings))
				}
				each[k], total[k] = append(each[k], s.each), append(total[k], s.total)
				runs[k][i] = s.total
			}
		}
		for k := range first {
			if kernels[k] == nil {
				kernels[k] = &Kernel{Name: k.name, Grid: k.grid, Block: k.block, Dynamic: k.dynamic}
			}
			put(kernels[k], first[k], slices.Min(each[k]), slices.Min(total[k]), runs[k])
		}
		return totals
	}
	r.Before = take(before, func(k *Kernel, s sums, each, total int64, runs []int64) {
		k.Count, k.RegistersBefore, k.Before, k.TotalBefore = s.count, s.registers, each, total
		k.RunsBefore = runs
	})
	r.After = take(after, func(k *Kernel, s sums, each, total int64, runs []int64) {
		k.CountAfter, k.RegistersAfter, k.After, k.TotalAfter = s.count, s.registers, each, total
		k.RunsAfter = runs
	})
	for _, k := range kernels {
		r.Kernels = append(r.Kernels, *k)
	}
	sort.Slice(r.Kernels, func(i, j int) bool {
		a, b := r.Kernels[i], r.Kernels[j]
		if x, y := max(a.TotalBefore, a.TotalAfter), max(b.TotalBefore, b.TotalAfter); x != y {
			return x > y
		}
		return fmt.Sprint(a) < fmt.Sprint(b)
	})
}

// Ratio is how many times as fast the program's kernels are, 0: not known.
func (r Result) Ratio() float64 {
	before, after := r.totals()
	if after > 0 {
		return float64(before) / float64(after)
	}
	return 0
}

// totals are all kernels' time in a run of both builds: the sums of what each took at the least; of
// earlier results the medians over the runs.
func (r Result) totals() (before, after int64) {
	if !r.Least {
		return lab.Median(r.Before), lab.Median(r.After)
	}
	for _, k := range r.Kernels {
		before, after = before+k.TotalBefore, after+k.TotalAfter
	}
	return before, after
}

// again reports a result of a call with -again.
func (r Result) again() bool { return len(r.Before) == 0 && r.Other != nil }

// Longest is the longest kernel, nvcc's build, one launch, nanoseconds.
func (r Result) Longest() int64 {
	var n int64
	for _, k := range r.Kernels {
		n = max(n, k.Before)
	}
	return n
}

func (r Result) short() string {
	before, after := r.totals()
	return fmt.Sprintf(
		"%.3f times as fast (%.3f ms -> %.3f ms), tuned in %.1f s: %d configurations, %d candidates, %d recipes; stdout %s",
		r.Ratio(), float64(before)/1e6, float64(after)/1e6, r.Tune,
		r.Configurations, r.Candidates, r.Adopted, r.Stdout)
}

// readResults reads a file of results, the last line of each program.
func readResults(path string) ([]Result, error) {
	return lab.ReadLines(path, func(r Result) string { return r.Program })
}
