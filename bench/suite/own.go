// An application's own figures: what it prints of its speed, run as its users run it, with nothing
// beside it, and whether its own check of its results passed.

package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gnvcc/bench/lab"
)

// A Figure is one of them, one entry a run.
type Figure struct {
	Name, Unit    string
	More          bool // is better
	Before, After []float64
}

// Gain is how many times as good it is with gnvcc's build, 0: not known.
func (f Figure) Gain() float64 {
	before, after := lab.Median(f.Before), lab.Median(f.After)
	if before <= 0 || after <= 0 {
		return 0
	}
	if f.More {
		return after / before
	}
	return before / after
}

// own runs both builds in turn, and asks make after each run for the figures.
func (j *job) own(ctx context.Context) error {
	for i := range j.s.runs {
		for n := range 2 {
			tree := []string{"before", "after"}[(n+i)&1]
			if _, err := j.do(ctx, fmt.Sprintf("own run %s %d", tree, i), j.make(tree, j.s.target),
				j.s.limits.run); err != nil {
				return err
			}
			r, err := j.do(ctx, fmt.Sprintf("own figures %s %d", tree, i), j.make(tree, j.s.figures),
				j.s.limits.run)
			if err != nil {
				return err
			}
			if err := j.result.own(r.Stdout, tree == "after"); err != nil {
				return err
			}
		}
	}
	return nil
}

// own takes lines NAME VALUE UNIT more|less.
func (r *Result) own(text string, after bool) error {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 4 || f[3] != "more" && f[3] != "less" {
			return fmt.Errorf("%q is no figure: NAME VALUE UNIT more|less", strings.TrimSpace(line))
		}
		value, err := strconv.ParseFloat(f[1], 64)
		if err != nil || value <= 0 || math.IsInf(value, 0) || math.IsNaN(value) {
			return fmt.Errorf("the figure %s is %q, no number above 0", f[0], f[1])
		}
		at := slices.IndexFunc(r.Figures, func(g Figure) bool { return g.Name == f[0] })
		if at < 0 {
			at = len(r.Figures)
			r.Figures = append(r.Figures, Figure{Name: f[0], Unit: f[2], More: f[3] == "more"})
		}
		runs := &r.Figures[at].Before
		if after {
			runs = &r.Figures[at].After
		}
		*runs = append(*runs, value)
	}
	return nil
}

// gain is the geometric mean over a program's figures, 0: it has none.
func (r Result) gain() float64 {
	var all []float64
	for _, f := range r.Figures {
		if g := f.Gain(); g > 0 {
			all = append(all, g)
		}
	}
	if len(all) == 0 {
		return 0
	}
	return geometric(all)
}

// ownTable prints figures before and after, and what was left alone, in order of its time; "" where
// no program has figures.
func ownTable(results []Result) string {
	var b strings.Builder
	var gains []float64
	below := 0
	for _, r := range results {
		g := r.gain()
		if g == 0 {
			continue
		}
		gains = append(gains, g)
		if g < worthless {
			below++
		}
		looked, left := r.leftAlone()
		fmt.Fprintf(&b, "%-16s %7.3f  tuned in %.1f s, looked at %s of the GPU's time\n", r.Program, g,
			r.Tune, looked)
		for _, f := range r.Figures {
			fmt.Fprintf(&b, "    %-40.40s %7.3f  %s %s -> %s\n", f.Name, f.Gain(), f.Unit, spread(f.Before),
				spread(f.After))
		}
		for _, l := range left {
			fmt.Fprintf(&b, "    %s\n", l)
		}
	}
	if len(gains) == 0 {
		return ""
	}
	return fmt.Sprintf("\napplications' own figures, times as good; their own checks passed:\n%s"+
		"%d applications: geometric mean %.3f, worst %.3f, %d below %.3f\n", b.String(), len(gains),
		geometric(gains), slices.Min(gains), below, worthless)
}

// worthless is the gain below which a program counts as harmed: what two runs differ by.
const worthless = 0.995

// spread is the median of some runs, with the least and the most.
func spread(runs []float64) string {
	if len(runs) == 0 {
		return "not known"
	}
	return fmt.Sprintf("%.4g (%.4g to %.4g)", lab.Median(runs), slices.Min(runs), slices.Max(runs))
}

// leftAlone is which part of the launches' time was replayed with the program's bits and searched
// on, and a line for each kernel that was not, in order of time.
func (r Result) leftAlone() (looked string, lines []string) {
	if r.Observed == nil {
		return "an unknown part", nil
	}
	var all, same float64
	times, why := map[string]float64{}, map[string]string{}
	for _, p := range r.Observed.Rows {
		all += p.Seconds
		if p.Why == "" {
			same += p.Seconds
			continue
		}
		times[p.Kernel] += p.Seconds
		why[p.Kernel] = p.Why
	}
	if all == 0 {
		return "an unknown part", nil
	}
	for _, kernel := range byWeight(times) {
		lines = append(lines, fmt.Sprintf("left alone %5.1f %%: %s: %s", 100*times[kernel]/all,
			clipTo(kernel, 60), clipTo(why[kernel], 110)))
	}
	return fmt.Sprintf("%.1f %%", 100*same/all), lines
}
