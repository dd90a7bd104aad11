// The table: programs, and means over them.

package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"
)

// table prints every program, the fastest first, the failed ones last, and the means over the
// programs that have a kernel of at least threshold.
func table(results []Result, threshold time.Duration, kernels bool) string {
	var b strings.Builder
	var done, failed []Result
	for _, r := range results {
		if r.Failed != "" || r.Ratio() == 0 && !r.again() {
			failed = append(failed, r)
		} else {
			done = append(done, r)
		}
	}
	sort.SliceStable(done, func(i, j int) bool { return done[i].Ratio() > done[j].Ratio() })
	sort.SliceStable(failed, func(i, j int) bool { return failed[i].Program < failed[j].Program })
	fmt.Fprintf(&b, "\n%-24s %7s %12s %12s %8s %7s %7s %7s %7s  %s\n", "program", "ratio", "before ms",
		"after ms", "tune s", "configs", "cands", "built", "recipes", "stdout")
	for _, r := range done {
		if r.again() {
			continue
		}
		mark := ""
		if time.Duration(r.Longest()) < threshold {
			mark = " (short kernels)"
		}
		if r.Lost > 0 {
			mark += fmt.Sprintf(" (%d launches not timed)", r.Lost)
		}
		if before, after := launches(r); before != after {
			mark += fmt.Sprintf(" (%d launches, then %d)", before, after)
		}
		before, after := r.totals()
		fmt.Fprintf(&b, "%-24s %7.3f %12.3f %12.3f %8.1f %7d %7d %7d %7d  %s%s\n", r.Program, r.Ratio(),
			float64(before)/1e6, float64(after)/1e6, r.Tune, r.Configurations, r.Candidates, r.Built,
			r.Adopted, r.Stdout, mark)
		if !kernels {
			continue
		}
		for _, k := range r.Kernels {
			ratio := "      -"
			if k.Before > 0 && k.After > 0 {
				ratio = fmt.Sprintf("%7.3f", float64(k.Before)/float64(k.After))
			}
			fmt.Fprintf(&b, "    %-40s %s %10.2f us %10.2f us  %dx  registers %d -> %d  grid %v block %v\n",
				clipTo(k.Name, 60), ratio, float64(k.Before)/1e3,
				float64(k.After)/1e3, max(k.Count, k.CountAfter), k.RegistersBefore, k.RegistersAfter, k.Grid,
				k.Block)
		}
	}
	for _, r := range failed {
		fmt.Fprintf(&b, "%-24s failed: %s\n", r.Program, cmp.Or(r.Failed, "the clock saw no time"))
	}
	b.WriteString(ownTable(done))
	b.WriteString(means(done, len(failed), threshold))
	if lines := replayLines(replayTimes(done)); kernels && lines != "" {
		b.WriteString("\nreplay's time of nvcc's code over the program's, kernel by kernel:\n" + lines)
	}
	return b.String()
}

func launches(r Result) (before, after int) {
	for _, k := range r.Kernels {
		before, after = before+k.Count, after+k.CountAfter
	}
	return before, after
}

// means sums up. Within a program kernels weigh by their time (the ratio is of total times);
// between programs all weigh the same in the first mean, and by nvcc's total kernel time in the
// second.
func means(done []Result, failed int, threshold time.Duration) string {
	var logs, weights, weighted float64
	var n, above, below, differ, configurations, candidates int
	var tune float64
	best, worst := Result{}, Result{}
	for _, r := range done {
		configurations += r.Configurations
		candidates += r.Candidates
		tune += r.Tune
		if strings.HasPrefix(r.Stdout, "differs") {
			differ++
		}
		if time.Duration(r.Longest()) < threshold {
			continue
		}
		if worst = r; n == 0 { // they are sorted
			best = r
		}
		n++
		before, _ := r.totals()
		log, weight := math.Log(r.Ratio()), float64(before)
		logs += log
		weights += weight
		weighted += log * weight
		if r.Ratio() >= 1.05 {
			above++
		}
		if r.Ratio() < 0.99 {
			below++
		}
	}
	var b strings.Builder
	if measured := slices.ContainsFunc(done, func(r Result) bool { return !r.again() }); !measured {
		return figures(done, threshold)
	}
	fmt.Fprintf(&b, "\n%d programs measured, %d failed; %d with a kernel of %v or more:\n", len(done),
		failed, n, threshold)
	if n > 0 {
		fmt.Fprintf(&b, "  geometric mean %.3f (every program the same), %.3f (by kernel time)\n",
			math.Exp(logs/float64(n)), math.Exp(weighted/weights))
		fmt.Fprintf(&b, "  %d at 1.05 or more, %d below 0.99; best %s %.3f, worst %s %.3f\n", above,
			below, best.Program, best.Ratio(), worst.Program, worst.Ratio())
	}
	if configurations > 0 {
		fmt.Fprintf(&b,
			"  %d configurations, %d candidates, tuned in %.0f s: %.2f s a configuration, %.3f s a candidate (the programs' own time included)\n",
			configurations, candidates, tune, tune/float64(configurations), tune/float64(max(1, candidates)))
	}
	b.WriteString(costs(done))
	b.WriteString(figures(done, threshold))
	fmt.Fprintf(&b, "  output differs in %d programs\n", differ)
	return b.String()
}
