package policy

import (
	"math"
	"slices"
	"sort"

	"gnvcc/cache"
	"gnvcc/policy/stats"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// What is known of one recipe on one configuration.

// A Trial is one candidate on one configuration.
type Trial struct {
	Recipe recipe.Recipe `json:"-"`
	Text   string        // Recipe as text
	Build  cache.Build
	Code   string // what the GPU executes, "" if unknown
	// recipe ("-" for the default) whose code this one's equals: not measured by itself
	Same string
	// the race's estimate of time over the default's: for ordering only, never believed; 0: not
	// measured
	Ratio   float64
	N       int           // launches it rests on
	Refused string        // why it can't be adopted
	Because cache.Refusal `json:",omitempty"` // the kind of that reason
	// why it was not compared on fresh samples, though it looked better: there was no time, or others
	// went first
	Open    string `json:",omitempty"`
	Checked int    // launches on which memory was compared and found right
	// launches with data of ours on which it left the original's bits
	Varied  int               `json:",omitempty"`
	Counts  *cache.Counts     `json:",omitempty"` // what its code did on checked launches; nil: not counted
	Error   Error             // the largest one of these launches
	Normals map[string]string `json:",omitempty"` // Candidate's

	// its guards ask for values that this run's launches of the configuration don't all have
	Stale bool

	// From fresh samples; nil: not compared.
	Confirmed *Compared
}

// Compared is the outcome of a comparison on fresh samples.
type Compared struct {
	Ratio         stats.Interval
	Before, After cache.Time
	Bound         float64 // what can be claimed of it (stats.Comparison.Bound)
	// the same in the other state of the L2 cache, where the program's is not known; 0: not taken
	Other float64 `json:",omitempty"`
	// the same on other launches of the configuration, the largest; 0: there were none
	Later float64 `json:",omitempty"`
	// the same by the captured launches that it was compared on
	Parts []Part `json:",omitempty"`
}

// A Part is what a comparison on one captured launch gave.
type Part struct {
	Of       string  // the capture
	Share    float64 // part of the configuration's time that it stands for along the run; 0: not known
	Ratio    float64 // that can be claimed
	Estimate float64 `json:",omitempty"`
	Base     float64 `json:",omitempty"` // ns of nvcc's code there
	Took     float64 `json:",omitempty"` // seconds of this launch in the program; 0: not known
}

// Careful is the ratio that is claimed: the largest of those in the states of the cache and on the
// launches that were looked at, each as large as it may well be. Where launches along the run take
// other times, it is that of all of them together, and those that none stands for are taken to gain
// as little as any.
func (c *Compared) Careful() float64 {
	here := max(c.Ratio.Estimate, c.Bound, c.Other)
	var sum, share, worst float64
	for _, p := range c.Parts {
		sum, share, worst = sum+p.Share*p.Ratio, share+p.Share, max(worst, p.Ratio)
	}
	if share == 0 {
		return max(here, c.Later)
	}
	return max((sum+max(1-share, 0)*worst)/max(share, 1), c.Later)
}

// Stands enters a part, in the place of what was known of its capture.
func (c *Compared) Stands(p Part) {
	c.Parts = append(slices.DeleteFunc(slices.Clone(c.Parts), func(o Part) bool {
		return o.Of == p.Of
	}), p)
}

// Better reports whether it is enough to adopt the candidate.
func (c *Compared) Better(r stats.Rule) bool { return c.BetterBy(r, c.Careful()) }

// BetterBy is Better where so much can be claimed.
func (c *Compared) BetterBy(r stats.Rule, claimed float64) bool {
	return r.Better(c.Ratio) && r.Seen(c.Ratio, c.Bound, c.Before.Median) && r.Worth(claimed)
}

// Usable reports whether a trial may be built upon.
func (t *Trial) Usable() bool { return t.Refused == "" && t.Same == "" && t.Ratio > 0 && !t.Stale }

func Compare(c stats.Comparison, confidence float64) *Compared {
	if math.IsInf(c.Ratio.High, 1) {
		c.Ratio.High = 1e9 // JSON has no infinity
	}
	return &Compared{Ratio: c.Ratio, Bound: c.Bound(), Before: TimeOf(c.Base, confidence),
		After: TimeOf(c.Cand, confidence)}
}

func TimeOf(x []float64, confidence float64) cache.Time {
	i := stats.MedianInterval(x, confidence)
	t := cache.Time{Median: i.Estimate, Low: i.Low, High: i.High, N: i.N}
	if len(x) > 0 && i.High > stats.Quantile(x, 1) { // too few for an interval: their range
		t.Low, t.High = stats.Quantile(x, 0), stats.Quantile(x, 1)
	}
	return t
}

// Rank sorts trials: usable ones first, the fastest of them first, save that within 1 % (less than
// that is luck) the safer kind of exactness and then the shorter recipe goes first.
func Rank(trials []*Trial) []*Trial {
	var out []*Trial
	effort := map[*Trial][2]int{}
	for _, t := range trials {
		if t.Usable() {
			out, effort[t] = append(out, t), effortOf(t.Recipe)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Ratio != out[j].Ratio {
			return out[i].Ratio < out[j].Ratio
		}
		return out[i].Text < out[j].Text
	})
	// "Within 1 %" is no order (it isn't transitive): the best is moved forward from among those close
	// to the fastest, then the same for the rest.
	for i := range out {
		best := i
		for j := i + 1; j < len(out) && out[j].Ratio <= out[i].Ratio*1.01; j++ {
			if less(effort[out[j]], effort[out[best]]) {
				best = j
			}
		}
		moved := out[best]
		copy(out[i+1:best+1], out[i:best])
		out[i] = moved
	}
	return out
}

// Simpler reports whether a is to be preferred to b at equal times.
func Simpler(a, b recipe.Recipe) bool { return less(effortOf(a), effortOf(b)) }

// effortOf is a recipe's kind of exactness, and how much it asks for.
func effortOf(r recipe.Recipe) [2]int { return [2]int{int(rewrite.ExactnessOf(r)), Weight(r)} }

func less(a, b [2]int) bool { return slices.Compare(a[:], b[:]) < 0 }

// Weight counts what a recipe asks for: a guard's conditions singly.
func Weight(r recipe.Recipe) int {
	n := 0
	for _, t := range r.Terms {
		if t.HostOnly() {
			continue
		}
		n++
		if g, err := t.Guard(); err == nil {
			n += len(g.Conditions) - 1
		}
	}
	return n
}
