// What each lever did, from what gnvcc kept of its searches: every recipe that was tried, with its
// time. What would have been kept without a lever is read from it, so that no second run is needed.

package main

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"gnvcc/bench/lab"
	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/stats"
	"gnvcc/rewrite/recipe"
)

// A Tuned is one configuration that was searched. Its ratios are the tuner's: time over the
// default's, 1 where nothing was kept.
type Tuned struct {
	Kernel      string
	Grid, Block [3]int
	Dynamic     int     `json:",omitempty"`
	Set         string  `json:",omitempty"`
	Count       int     `json:",omitempty"` // of its launches in the program
	Replay      float64 `json:",omitempty"` // of one launch of nvcc's code, replayed, ns
	Weight      float64 // of all its launches in the program, ns
	Recipe      string  `json:",omitempty"` // kept for the kernel
	Ratio       float64
	Best        float64 `json:",omitempty"` // the least of all that were tried; 0: none
	Levers      []Lever `json:",omitempty"`
}

// A Lever is what was tried of one on a configuration. Alone and Without are the least ratios of
// recipes that were not refused, on fresh samples where there are such, else from the race, which
// flatters the best of many; 0: none was measured.
type Lever struct {
	Name     string
	Tried    int     `json:",omitempty"` // recipes with it
	Measured int     `json:",omitempty"` // of these
	Refused  int     `json:",omitempty"` // of these, those that were the same code among them
	Bits     int     `json:",omitempty"` // of the refused: for other bits
	Alone    float64 `json:",omitempty"`
	Without  float64 `json:",omitempty"`
	Why      string  `json:",omitempty"` // why nothing was tried
}

// tuned takes over a decision's configurations.
func (r *Result) tuned(store *cache.Store, d cache.Decision) {
	for _, l := range d.Evidence.Launches {
		t := Tuned{Kernel: d.Kernel, Grid: l.Grid, Block: l.Block, Dynamic: l.Dynamic, Set: l.Set,
			Count: l.Count, Replay: l.Before.Median, Weight: l.Seconds * 1e9, Recipe: d.Recipe, Ratio: 1}
		if t.Weight <= 0 {
			t.Weight = float64(max(l.Count, 1)) * l.Before.Median
		}
		if d.Recipe != "" && l.Before.Median > 0 && l.After.Median > 0 {
			t.Ratio = l.After.Median / l.Before.Median
		}
		t.Best, t.Levers = levers(trialsOf(store, d, l), d.Evidence.Untried)
		r.Tuned = append(r.Tuned, t)
	}
}

// levers counts the trials of a configuration by lever, in the order of their names.
func levers(trials []*policy.Trial, untried map[string]string) (best float64, out []Lever) {
	byName := map[string]*Lever{}
	get := func(name string) *Lever {
		if byName[name] == nil {
			byName[name] = &Lever{Name: name}
		}
		return byName[name]
	}
	for name, why := range untried {
		get(name).Why = why
	}
	for _, t := range trials {
		for _, name := range names(t.Recipe) {
			l := get(name)
			l.Tried++
			switch {
			case t.Refused != "" || t.Same != "":
				l.Refused++
				if t.Because == cache.OtherBits {
					l.Bits++
				}
			case t.Ratio > 0:
				l.Measured++
			}
		}
	}
	for _, t := range trials {
		if !t.Usable() {
			continue
		}
		ratio := t.Ratio
		if t.Confirmed != nil {
			ratio = t.Confirmed.Ratio.Estimate
		}
		best = least(best, ratio)
		in := names(t.Recipe)
		for name, l := range byName {
			if leverOf(t.Recipe) == name {
				l.Alone = least(l.Alone, ratio)
			}
			if !slices.Contains(in, name) {
				l.Without = least(l.Without, ratio)
			}
		}
	}
	for _, l := range byName {
		if l.Tried > 0 {
			l.Why = "" // tried around a winner later
		}
		out = append(out, *l)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return best, out
}

// least of two ratios, 0 being none.
func least(a, b float64) float64 {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// names are the levers of a recipe, each once; a copy that only the host tells from the kernel is
// none by itself.
func names(r recipe.Recipe) []string {
	var out []string
	for _, t := range r.Terms {
		if g, err := t.Guard(); err == nil {
			out = append(out, names(g.Own)...)
		}
		if !t.HostOnly() {
			out = append(out, t.Lever)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// kept is the ratio that counts of one that was measured: 1 where it is too small to be adopted.
func kept(ratio float64) float64 {
	if ratio > 0 && ratio <= 1/(1+stats.Standard.MinEffect) {
		return ratio
	}
	return 1
}

// uses reports whether a lever is in what was kept.
func (t Tuned) uses(lever string) bool {
	r, err := recipe.Parse(t.Recipe)
	return err == nil && slices.Contains(names(r), lever)
}

func (t Tuned) lever(name string) Lever {
	for _, l := range t.Levers {
		if l.Name == name {
			return l
		}
	}
	return Lever{Name: name}
}

// becomes is how many times as fast a program is whose configurations take the ratios that of
// gives: what was not searched stays as it is.
func (r Result) becomes(of func(Tuned) float64) float64 {
	weight, left := 0.0, 0.0
	for _, t := range r.Tuned {
		weight += t.Weight
		left += t.Weight * of(t)
	}
	rest := max(0, float64(lab.Median(r.Before))-weight)
	if left+rest <= 0 {
		return 1
	}
	return (weight + rest) / (left + rest)
}

// A sum is what a lever did in all programs.
type sum struct {
	kernels, tried, adopted, refused int // kernels
	with, without, alone             float64
}

// sumOf adds a lever up: geometric means over the programs, and kernels by what became of it. A
// kernel counts as refused where all that was tried of the lever was.
func sumOf(results []Result, lever string) sum {
	var s sum
	type seen struct{ tried, measured, adopted bool }
	for _, r := range results {
		byKernel := map[string]*seen{}
		for _, t := range r.Tuned {
			if byKernel[t.Kernel] == nil {
				byKernel[t.Kernel] = &seen{}
			}
			k, l := byKernel[t.Kernel], t.lever(lever)
			k.tried = k.tried || l.Tried > 0
			k.measured = k.measured || l.Measured > 0
			k.adopted = k.adopted || t.uses(lever)
		}
		for _, k := range byKernel {
			s.kernels++
			switch {
			case k.adopted:
				s.adopted++
				s.tried++
			case k.tried:
				s.tried++
				if !k.measured {
					s.refused++
				}
			}
		}
		s.with += math.Log(r.becomes(func(t Tuned) float64 { return t.Ratio }))
		s.without += math.Log(r.becomes(func(t Tuned) float64 {
			if !t.uses(lever) {
				return t.Ratio
			}
			// what seemed faster than what was kept did not hold for all launches
			return max(t.Ratio, kept(t.lever(lever).Without))
		}))
		s.alone += math.Log(r.becomes(func(t Tuned) float64 { return kept(t.lever(lever).Alone) }))
	}
	n := float64(max(1, len(results)))
	s.with, s.without, s.alone = math.Exp(s.with/n), math.Exp(s.without/n), math.Exp(s.alone/n)
	return s
}

// leverTable is a line a lever, over the programs that have kernels of the threshold and that were
// searched.
func leverTable(results []Result) string {
	var b strings.Builder
	var all []string
	for _, r := range results {
		for _, t := range r.Tuned {
			for _, l := range t.Levers {
				if !slices.Contains(all, l.Name) {
					all = append(all, l.Name)
				}
			}
		}
	}
	slices.Sort(all)
	fmt.Fprintf(&b, "\n%-10s %8s %8s %8s %8s %9s %9s %9s\n", "lever", "kernels", "tried", "adopted",
		"refused", "with it", "without", "alone")
	for _, name := range all {
		s := sumOf(results, name)
		fmt.Fprintf(&b, "%-10s %8d %8d %8d %8d %9.3f %9.3f %9.3f\n", name, s.kernels, s.tried, s.adopted,
			s.refused, s.with, s.without, s.alone)
	}
	fmt.Fprintf(&b, `
%d programs. refused: all that was tried was the same code or gave other bits, say; what is neither
adopted nor refused was measured and not fast enough. with, without, alone: geometric means of the
tuner's ratios, weighed by the program's time. without and alone are the best of what was measured in
this same run, which went on from what was best with it: a run without the lever might find more.
`, len(results))
	return b.String()
}
