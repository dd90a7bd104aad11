// The tables: what each lever brings over all programs, and each program.

package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
)

// table prints one line a lever, then one a program.
func table(results []Result) string {
	byLever := map[string]map[string]Result{}
	var levers, programs []string
	for _, r := range results {
		if byLever[r.Lever] == nil {
			byLever[r.Lever] = map[string]Result{}
			if r.Lever != together {
				levers = append(levers, r.Lever)
			}
		}
		byLever[r.Lever][r.Program] = r
		if !slices.Contains(programs, r.Program) {
			programs = append(programs, r.Program)
		}
	}
	sort.Strings(levers)
	sort.Strings(programs)
	levers = append(levers, together)
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-10s %9s %8s %8s  %-22s %-22s  %s\n", "lever", "geo. mean", "adopted",
		"measured", "best", "worst adopted", "fastest that was not adopted")
	for _, lever := range levers {
		leverLine(&b, lever, byLever[lever])
	}
	b.WriteString(
		"\ngeo. mean: over all programs of the table, 1 where nothing was adopted; kernels by an independent clock.\n" +
			"adopted, measured: programs. The last column is the tuner's own race: a candidate that a fresh comparison did not confirm.\n")
	fmt.Fprintf(&b, "\n%-14s", "program")
	for _, lever := range levers {
		fmt.Fprintf(&b, " %9s", lever)
	}
	fmt.Fprintf(&b, " %9s\n", "combining")
	for _, program := range programs {
		fmt.Fprintf(&b, "%-14s", program)
		best := 1.0
		for _, lever := range levers {
			r, ok := byLever[lever][program]
			fmt.Fprintf(&b, " %9s", cell(r, ok))
			if lever != together {
				best = max(best, r.SpeedUp())
			}
		}
		if r, ok := byLever[together][program]; ok && r.SpeedUp() > 0 {
			fmt.Fprintf(&b, " %9.3f", r.SpeedUp()/best)
		}
		b.WriteString("\n")
	}
	b.WriteString(
		"\n-: nothing of that lever to measure there (no value to try, or all the same code, or refused); 1: tried, not adopted;\n" +
			"?: not known. combining: all together over the best single lever.\n")
	for _, r := range results {
		if r.Failed != "" {
			fmt.Fprintf(&b, "failed: %s, %s: %s\n", r.Program, r.Lever, r.Failed)
		}
	}
	return b.String()
}

func cell(r Result, ok bool) string {
	switch {
	case !ok || r.SpeedUp() == 0:
		return "?"
	case r.Nothing != "":
		return "-"
	case !r.Adopted():
		return "1"
	}
	return fmt.Sprintf("%.3f", r.SpeedUp())
}

func leverLine(b *strings.Builder, lever string, results map[string]Result) {
	sum, known, adopted, measured := 0.0, 0, 0, 0
	var best, worst, missed Result
	for _, program := range slices.Sorted(maps.Keys(results)) {
		r := results[program]
		s := r.SpeedUp()
		if s == 0 {
			continue
		}
		known++
		sum += math.Log(s)
		if r.Nothing == "" {
			measured++
		}
		if !r.Adopted() {
			if r.Candidate() > missed.Candidate() {
				missed = r
			}
			continue
		}
		adopted++
		if best.Program == "" || s > best.SpeedUp() {
			best = r
		}
		if worst.Program == "" || s < worst.SpeedUp() {
			worst = r
		}
	}
	name := func(r Result, x float64) string {
		if r.Program == "" {
			return "-"
		}
		return fmt.Sprintf("%.3f %s", x, r.Program)
	}
	mean := 1.0
	if known > 0 {
		mean = math.Exp(sum / float64(known))
	}
	fmt.Fprintf(b, "%-10s %9.3f %8d %8d  %-22s %-22s  %s\n", lever, mean, adopted, measured,
		name(best, best.SpeedUp()), name(worst, worst.SpeedUp()),
		name(missed, missed.Candidate()))
}
