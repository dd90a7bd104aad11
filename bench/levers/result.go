// What is known of one lever on one program.

package main

import (
	"fmt"
	"strings"

	"gnvcc/bench/command"
	"gnvcc/bench/decisions"
	"gnvcc/bench/jsonl"
	"gnvcc/bench/machine"
	"gnvcc/cache"
	"gnvcc/rewrite/recipe"
)

// together is the name under which all levers stand.
const together = "all"

// A Result is one line. Times of steps are seconds of wall time, Before and After nanoseconds of
// the GPU's clock.
type Result struct {
	Program, Lever string
	Machine        machine.Facts
	Failed         string `json:",omitempty"` // the step that failed, and why
	// why the lever was not run by itself: it has nothing to measure here
	Nothing string `json:",omitempty"`
	Tune    float64
	Kernels []Kernel
	// all kernels' time, one entry a run; none where nothing was adopted
	Before, After []int64 `json:",omitempty"`
	Lost          int64   `json:",omitempty"` // launches that the clock missed, all runs
}

// A Kernel is what a tuning run said of one kernel. Its ratios are the tuner's, from a race between
// the candidates.
type Kernel struct {
	Name     string
	Recipe   string  `json:",omitempty"` // adopted
	Tried    int     // candidates of this lever alone; for all levers: all
	Measured int     // of these
	Refused  int     // those whose code was there already among them
	Other    int     // gave other bits
	Best     string  `json:",omitempty"` // the fastest of these that was not refused
	Ratio    float64 `json:",omitempty"` // its time over the default's
	Refusal  string  `json:",omitempty"` // the commonest reason of the refused
}

// key tells results apart.
func (r Result) key() string { return r.Program + "\x00" + r.Lever }

func readResults(path string) ([]Result, error) { return jsonl.Read(path, Result.key) }

// Adopted tells whether any kernel got a recipe.
func (r Result) Adopted() bool {
	for _, k := range r.Kernels {
		if k.Recipe != "" {
			return true
		}
	}
	return false
}

// SpeedUp is how many times as fast the program's kernels are: 1 where nothing was adopted, 0 where
// it is not known.
func (r Result) SpeedUp() float64 {
	switch {
	case r.Failed != "":
		return 0
	case !r.Adopted():
		return 1
	case command.Median(r.After) <= 0:
		return 0
	}
	return float64(command.Median(r.Before)) / float64(command.Median(r.After))
}

// Candidate is the best that the race saw, as a speed-up over all kernels of the program: the
// largest one. 0: none.
func (r Result) Candidate() float64 {
	best := 0.0
	for _, k := range r.Kernels {
		if k.Ratio > 0 {
			best = max(best, 1/k.Ratio)
		}
	}
	return best
}

// kernels reads what a store's decisions say of a lever.
func kernels(list []cache.Decision, lever string) []Kernel {
	var out []Kernel
	for _, d := range list {
		k := Kernel{Name: d.Kernel, Recipe: d.Recipe}
		refusals := map[string]int{}
		for _, t := range d.Evidence.Tried { // sorted by time
			if lever != together && leverOf(t.Recipe) != lever {
				continue
			}
			k.Tried++
			switch {
			case t.Refused != "":
				why, detail, _ := strings.Cut(t.Refused, ":")
				if why == "it does not compile" { // the detail is the reason
					why += ":" + detail
				}
				refusals[why]++
				k.Refused++
				if why == "other bits" {
					k.Other++
				}
			case t.Ratio > 0:
				k.Measured++
				if k.Best == "" {
					k.Best, k.Ratio = t.Recipe, t.Ratio
				}
			}
		}
		for why, n := range refusals {
			if most := refusals[k.Refusal]; n > most || n == most && why < k.Refusal {
				k.Refusal = why
			}
		}
		out = append(out, k)
	}
	return out
}

// nothing says why a lever has nothing to be measured, by what the run with all levers tried of it
// alone, and why it tried nothing; "" if it has, or if that run's budget ended before it could
// tell.
func nothing(list []cache.Decision, lever string) string {
	why := ""
	for i, k := range kernels(list, lever) {
		d := list[i]
		switch untried := d.Evidence.Untried[lever]; {
		case len(d.Evidence.Launches) == 0: // left alone
		case k.Tried == 0 && untried == "", k.Tried > k.Refused:
			return ""
		case k.Tried == 0 && why == "":
			why = untried
		case k.Tried > 0:
			why = fmt.Sprintf("%d candidates, all refused: %s", k.Tried, k.Refusal)
		}
	}
	if why == "" {
		why = "no kernel was tuned"
	}
	return why
}

// leverOf is the lever of a recipe that has only one, "" for others.
func leverOf(text string) string {
	r, err := recipe.Parse(text)
	if err != nil {
		return ""
	}
	return decisions.LeverOf(r)
}

// decided reads the decisions in a store; none where nothing was decided.
func decided(dir string) ([]cache.Decision, error) {
	store, err := cache.Open(dir)
	if err != nil {
		return nil, err
	}
	return decisions.Read(store)
}
