// What decisions claim, against what the clock says.

package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// A Claim is what a decision says a recipe brings to a kernel, and what the clock says. Both are
// times over the tuned build's, of all of the kernel's launches in a run.
type Claim struct {
	Kernel, Recipe    string
	Claimed, Measured float64
	Seconds           float64 // of nvcc's build, one run
	// Measured in each pair of runs, one of either build, clocked in the same way: what they differ by
	// is the clock's own error. nil: not known.
	Runs []float64 `json:",omitempty"`
	// the longest of nvcc's runs over the shortest: the clock's two ways differ by more
	Plain float64 `json:",omitempty"`
}

// claims compares them, when decisions and times are there.
func (r *Result) claims() {
	type sums struct {
		before, after         int64
		runsBefore, runsAfter []int64
	}
	by := map[string]*sums{}
	for _, k := range r.Kernels {
		name, _, _ := strings.Cut(k.Name, "__tuned_") // a second entry
		s := by[name]
		if s == nil {
			s = &sums{}
			by[name] = s
		}
		s.before, s.after = s.before+k.TotalBefore, s.after+k.TotalAfter
		s.runsBefore, s.runsAfter = added(s.runsBefore, k.RunsBefore), added(s.runsAfter, k.RunsAfter)
	}
	for name, claimed := range r.claimed {
		s := by[name]
		if s == nil || s.before == 0 || s.after == 0 {
			continue
		}
		c := Claim{Kernel: name, Recipe: r.Recipes[name], Claimed: claimed,
			Measured: float64(s.before) / float64(s.after), Seconds: float64(s.before) / 1e9}
		for i := range min(len(s.runsBefore), len(s.runsAfter)) {
			c.Runs = append(c.Runs, float64(s.runsBefore[i])/float64(max(s.runsAfter[i], 1)))
		}
		if len(s.runsBefore) > 0 {
			c.Plain = float64(slices.Max(s.runsBefore)) / float64(max(slices.Min(s.runsBefore), 1))
		}
		r.Claims = append(r.Claims, c)
	}
}

// added adds run by run.
func added(sum, more []int64) []int64 {
	out := slices.Clone(sum)
	for i, n := range more {
		if i == len(out) {
			out = append(out, 0)
		}
		out[i] += n
	}
	return out
}

// short reports whether a kernel gained more than 1 % less than was claimed, and whether it did so in
// each pair of runs: then it is more than the clock's own error.
func (c Claim) short() (short, surely bool) {
	least := 0.99 * c.Claimed
	short = c.Measured < least
	return short, short && (len(c.Runs) == 0 || slices.Max(c.Runs) < least)
}

// keeping compares what decisions claim with what the clock says, for kernels that take as long as
// the threshold in all: shorter ones are noise.
func keeping(results []Result, threshold time.Duration) string {
	var logs, kept, apart float64
	var before, told, took float64 // seconds of all of these kernels in a run
	var n, short, surely, slower, runs, unsteady int
	var worst []string
	for _, r := range results {
		for _, c := range r.Claims {
			if c.Seconds < threshold.Seconds() {
				continue
			}
			n++
			logs += math.Log(c.Measured / c.Claimed)
			kept += math.Log(c.Claimed)
			before, told, took = before+c.Seconds, told+c.Seconds/c.Claimed, took+c.Seconds/c.Measured
			if c.Measured < 0.99 {
				slower++
			}
			beside := ""
			if len(c.Runs) > 1 {
				own := slices.Max(c.Runs) / slices.Min(c.Runs)
				runs++
				apart += math.Log(own)
				if own > 1.01 {
					unsteady++
				}
				beside = fmt.Sprintf(" (by pairs of runs %s; nvcc's own runs %.3f apart)",
					strings.Trim(fmt.Sprintf("%.3f", c.Runs), "[]"), c.Plain)
			}
			isShort, isSure := c.short()
			if isShort {
				short++
				worst = append(worst, fmt.Sprintf("    %s %s: claimed %.3f, measured %.3f%s (%s)\n", r.Program,
					clipTo(c.Kernel, 60), c.Claimed, c.Measured, beside, c.Recipe))
			}
			if isSure {
				surely++
			}
		}
	}
	if n == 0 {
		return ""
	}
	claimed := math.Exp(kept / float64(n))
	text := fmt.Sprintf(
		"  claims of %d kernels: %.3f in geometric mean, of which the clock saw %.3f; %d kernels more than 1 %% below their claim (%d in every pair of runs), %d more than 1 %% slower than nvcc's\n",
		n, claimed, claimed*math.Exp(logs/float64(n)), short, surely, slower)
	text += fmt.Sprintf("    in all, of %.3f s they were to take %.3f, and took %.3f (%.3f of it)\n",
		before, told, took, took/told)
	if runs > 0 {
		text += fmt.Sprintf(
			"    the clock's own error: pairs of runs say what is %.3f apart in geometric mean; of %d kernels more than 1.01\n",
			math.Exp(apart/float64(runs)), unsteady)
	}
	return text + strings.Join(worst, "")
}
