package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gnvcc/bench/lab"
)

// A replayTime compares what nvcc's code takes in the tuner's replay with what it takes in the
// program, by the clock: all launches of a kernel in one configuration, nanoseconds.
type replayTime struct {
	program, kernel string
	replay, clock   float64
}

// replayTimes are those of configurations all of whose launches captured ones stand for.
func replayTimes(results []Result) (out []replayTime) {
	for _, r := range results {
		for _, k := range r.Kernels {
			launches, sum := 0, 0.0
			for _, t := range r.Tuned {
				if t.Kernel == k.Name && t.Grid == k.Grid && t.Block == k.Block && t.Dynamic == k.Dynamic {
					launches += t.Count
					sum += float64(t.Count) * t.Replay
				}
			}
			if launches > 0 && launches == k.Count && sum > 0 && k.TotalBefore > 0 {
				out = append(out, replayTime{r.Program, k.Name, sum, float64(k.TotalBefore)})
			}
		}
	}
	return out
}

// replays sums them up, of launches that take at least the threshold, and lists those that are more
// than 3 % apart: there a gain in replay need not be one in the program.
func replays(results []Result, threshold time.Duration) string {
	var logs, apart []float64
	var off []replayTime
	for _, t := range replayTimes(results) {
		if t.clock < float64(threshold) {
			continue
		}
		log := math.Log(t.replay / t.clock)
		logs, apart = append(logs, log), append(apart, math.Abs(log))
		if math.Abs(log) > math.Log(1.03) {
			off = append(off, t)
		}
	}
	if len(logs) == 0 {
		return ""
	}
	return fmt.Sprintf("  replay's time of nvcc's code over the program's: %d configurations, median %.3f; %.3f apart in the median; %d more than 3 %%\n",
		len(logs), math.Exp(lab.Median(logs)), math.Exp(lab.Median(apart)), len(off)) + replayLines(off)
}

// replayLines is a line for each, the longest first.
func replayLines(list []replayTime) string {
	var b strings.Builder
	slices.SortFunc(list, func(a, b replayTime) int { return cmp.Compare(b.clock, a.clock) })
	for _, t := range list {
		fmt.Fprintf(&b, "    %-24s %7.3f  %s, %.3f ms in the program\n", t.program, t.replay/t.clock,
			clipTo(t.kernel, 60), t.clock/1e6)
	}
	return b.String()
}
