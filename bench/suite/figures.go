// The figures by which tuning is judged, over all programs.

package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"gnvcc/bench/lab"
)

// figures prints what is known of them: nothing of those that no result has.
func figures(results []Result, threshold time.Duration) string {
	return slowed(results) + capturing(results) + deciding(results) + replaying(results) +
		replays(results, threshold) + keeping(results, threshold) + varying(results)
}

// slowed compares the user's run under tune with those without, captures aside. How far two runs
// without are apart stands beside.
func slowed(results []Result) string {
	type one struct {
		program string
		ratio   float64
	}
	var all []one
	var logs, apart float64
	var more []float64
	several := 0
	for _, r := range results {
		with, without, between, ok := r.observing()
		if !ok {
			continue
		}
		all = append(all, one{r.Program, with / without})
		logs += math.Log(with / without)
		if between > 0 {
			apart += math.Log(between)
			several++
		}
		more = append(more, with-without)
	}
	if len(all) == 0 {
		return ""
	}
	sort.Slice(all, func(i, j int) bool { return all[i].ratio > all[j].ratio })
	above := 0
	var worst []string
	for i, o := range all {
		if o.ratio > 1.05 {
			above++
		}
		if i < 3 {
			worst = append(worst, fmt.Sprintf("%s %.2f", o.program, o.ratio))
		}
	}
	sort.Float64s(more)
	text := fmt.Sprintf(
		"  the run under tune against without, captures aside: %.3f (geometric mean of %d), %+.2f s in the median; %d above 1.05 (%s)",
		math.Exp(logs/float64(len(all))), len(all), more[len(more)/2], above, strings.Join(worst, ", "))
	if several > 0 {
		text += fmt.Sprintf("; two runs without are %.3f apart", math.Exp(apart/float64(several)))
	}
	return text + "\n"
}

// observing gives what a program takes under gnvcc tune, captures aside, and without (the mean of
// the runs before and after it), and how far two runs without are apart (the larger over the
// smaller, 0: there are no two); false: not known.
func (r Result) observing() (with, without, apart float64, ok bool) {
	if r.Observed == nil || len(r.Plain) == 0 || r.Observed.Program == 0 {
		return 0, 0, 0, false
	}
	if len(r.Plain) > 1 {
		apart = slices.Max(r.Plain) / slices.Min(r.Plain)
	}
	return r.Observed.Program - r.Observed.Held, geometric(r.Plain), apart, true
}

// geometric is the geometric mean.
func geometric(list []float64) float64 {
	var logs float64
	for _, x := range list {
		logs += math.Log(x)
	}
	return math.Exp(logs / float64(len(list)))
}

// capturing is what a gigabyte costs.
func capturing(results []Result) string {
	var bytes, held float64
	n := 0
	for _, r := range results {
		if r.Observed != nil && r.Observed.Captured > 0 {
			bytes, held, n = bytes+float64(r.Observed.Captured), held+r.Observed.Held, n+1
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("  captures of %d programs: %.1f GB, %.2f s a GB\n", n, bytes/1e9, held/(bytes/1e9))
}

// deciding is the time from the program's end until everything was decided.
func deciding(results []Result) string {
	var seconds []float64
	for _, r := range results {
		if r.Observed != nil {
			seconds = append(seconds, r.Observed.Decided)
		}
	}
	if len(seconds) == 0 {
		return ""
	}
	sort.Float64s(seconds)
	at := func(part float64) float64 {
		return seconds[min(int(math.Ceil(part*float64(len(seconds))))-1, len(seconds)-1)]
	}
	var all, kept, unpacking, replaying, searching float64
	for _, r := range results {
		if r.Observed == nil {
			continue
		}
		all, kept = all+r.Observed.Decided, kept+r.Observed.Kept
		for _, p := range r.Observed.Rows {
			unpacking, replaying = unpacking+p.Unpacking, replaying+p.Replaying
		}
		for _, s := range r.Searches {
			searching += s.Seconds
		}
	}
	line := fmt.Sprintf(
		"  from a program's end to decisions: median %.1f s, 95th percentile %.1f s, longest %.1f s; of %.0f s in all, %.0f packing captures, %.0f unpacking them, %.0f replaying, of which %.0f searching\n",
		at(0.5), at(0.95), at(1), all, kept, unpacking, replaying, searching)
	return line + steps(results)
}

// steps is where that time goes, without what takes less than 1 %; "" where it is not known.
func steps(results []Result) string {
	by := map[string]float64{}
	var all float64
	for _, r := range results {
		if r.Observed == nil {
			continue
		}
		for _, p := range r.Observed.Rows {
			for step, s := range p.Spent {
				if step != "search" { // its own steps stand beside
					by[step] += s
					all += s
				}
			}
		}
	}
	var list []string
	for _, step := range byWeight(by) {
		if by[step] >= 0.01*all {
			list = append(list, fmt.Sprintf("%s %.0f", step, by[step]))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "    seconds: " + strings.Join(list, ", ") + "\n"
}

// replaying is the part of the time that captures stand for which replay with the same bits: of the
// programs together, each weighing the same.
func replaying(results []Result) string {
	var same float64
	why, programs := map[string]float64{}, map[string]int{}
	n := 0
	for _, r := range results {
		if r.Observed == nil {
			continue
		}
		var all float64
		for _, p := range r.Observed.Rows {
			all += p.Seconds
		}
		if all == 0 {
			continue
		}
		n++
		had := map[string]bool{}
		for _, p := range r.Observed.Rows {
			if p.Same {
				same += p.Seconds / all
				continue
			}
			short := shortReason(p.Why)
			why[short] += p.Seconds / all
			if !had[short] {
				had[short] = true
				programs[short]++
			}
		}
	}
	if n == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  replayed with the same bits: %.1f %% of the launches' time\n",
		100*same/float64(n))
	for _, w := range byWeight(why) {
		fmt.Fprintf(&b, "    not %.2f %%, in %d programs: %s\n", 100*why[w]/float64(n), programs[w], w)
	}
	return b.String()
}

// shortReason is a reason without what is a single launch's own: addresses, numbers, names.
func shortReason(why string) string {
	words := strings.Fields(why)
	for i, w := range words {
		if strings.ContainsAny(w, "0123456789") || strings.HasPrefix(w, "_Z") {
			words[i] = "..."
		}
	}
	return clipTo(strings.Join(slices.Compact(words), " "), 110)
}

func clipTo(s string, n int) string {
	if len(s) > n {
		return s[:n] + "..."
	}
	return s
}

func byWeight(m map[string]float64) []string {
	keys := slices.Sorted(maps.Keys(m))
	sort.SliceStable(keys, func(i, j int) bool { return m[keys[i]] > m[keys[j]] })
	return keys
}

// varying is about programs that were given other arguments than those that they were tuned with.
func varying(results []Result) string {
	var logs float64
	var n, same, below, failed int
	var b strings.Builder
	for _, r := range results {
		o := r.Other
		if o == nil {
			continue
		}
		if o.Failed != "" {
			failed++
			fmt.Fprintf(&b, "    %s: %s\n", r.Program, clipTo(o.Failed, 110))
			continue
		}
		ratio := float64(lab.Median(o.Before)) / float64(max(lab.Median(o.After), 1))
		fmt.Fprintf(&b, "    %-24s %7.3f  stdout %s (%s)\n", r.Program, ratio, o.Stdout, o.Command)
		n++
		logs += math.Log(ratio)
		if o.Stdout == "same" {
			same++
		}
		if ratio < 0.99 {
			below++
		}
	}
	if n+failed == 0 {
		return ""
	}
	return fmt.Sprintf(
		"  with other arguments than those tuned for: %d programs, %.3f in geometric mean, %d below 0.99; output the same in %d; %d could not be run\n%s",
		n, math.Exp(logs/float64(max(n, 1))), below, same, failed, b.String())
}
