// Joules: of whole runs, by the GPU's counter, without the clock; of launches, as gnvcc tune says.

package main

import (
	"cmp"
	"fmt"
	"strings"

	"gnvcc/bench/command"
	"gnvcc/bench/energy"
)

// Energy is what runs of both builds took.
type Energy struct{ Before, After []energy.Run }

// metered does a run of one of the builds, and keeps what it took where that is asked for.
func (j *job) metered(tree string, run func() error) error {
	if j.s.energy == nil {
		return run()
	}
	took, err := j.s.energy.Around(run)
	if err != nil {
		return err
	}
	if j.result.Energy == nil {
		j.result.Energy = &Energy{}
	}
	runs := &j.result.Energy.Before
	if tree == "after" {
		runs = &j.result.Energy.After
	}
	*runs = append(*runs, took)
	return nil
}

// joules are the median of some runs and the largest error, or why nothing is said of one of them.
func joules(runs []energy.Run) (of, off float64, why string) {
	var list []float64
	for _, r := range runs {
		list, off, why = append(list, r.Joules), max(off, r.Error), cmp.Or(why, r.Why)
	}
	return command.Median(list), off, why
}

// saving prints joules before and after, and what is left of them in the mean.
func saving(results []Result) string {
	var b strings.Builder
	var ratios []float64
	for _, r := range results {
		if r.Energy == nil {
			continue
		}
		before, e, why := joules(r.Energy.Before)
		after, f, other := joules(r.Energy.After)
		if why = cmp.Or(why, other); why != "" || before <= 0 || after <= 0 {
			fmt.Fprintf(&b, "    %-24s not said: %s\n", r.Program, cmp.Or(why, "nothing was measured"))
			continue
		}
		fmt.Fprintf(&b, "    %-24s %7.3f  %.1f J (give or take %.1f), then %.1f (%.1f)\n", r.Program,
			after/before, before, e, after, f)
		ratios = append(ratios, after/before)
	}
	if b.Len() == 0 {
		return ""
	}
	mean := "not said of any"
	if len(ratios) > 0 {
		mean = fmt.Sprintf("%.3f of them in geometric mean of %d programs", geometric(ratios), len(ratios))
	}
	return "  joules of whole runs, new over old: " + mean + "\n" + b.String()
}

// perLaunch prints joules of launches, the default's and the recipe's, and what is left of them in
// the mean; of those of which gnvcc tune does not say them, why.
func perLaunch(results []Result) string {
	var b strings.Builder
	var ratios []float64
	unsaid := map[string]float64{}
	for _, r := range results {
		for _, t := range r.Tuned {
			switch e := t.Energy; {
			case e == nil:
			case e.Why != "":
				unsaid[shortReason(e.Why)]++
			case e.Before.Launch > 0 && e.After.Launch > 0:
				ratios = append(ratios, e.After.Launch/e.Before.Launch)
				fmt.Fprintf(&b, "    %-24s %7.3f  %.3g J (give or take %.2g), then %.3g (%.2g): %s, %s\n",
					r.Program, e.After.Launch/e.Before.Launch, e.Before.Launch, e.Before.Error, e.After.Launch,
					e.After.Error, clipTo(t.Kernel, 60), t.Recipe)
			}
		}
	}
	for _, why := range byWeight(unsaid) {
		fmt.Fprintf(&b, "    not said of %.0f: %s\n", unsaid[why], why)
	}
	if b.Len() == 0 {
		return ""
	}
	mean := "not said of any"
	if len(ratios) > 0 {
		mean = fmt.Sprintf("%.3f of them in geometric mean of %d", geometric(ratios), len(ratios))
	}
	return "  joules of launches, recipe over nvcc's: " + mean + "\n" + b.String()
}
