package policy

import (
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"time"

	"gnvcc/cache"
	"gnvcc/policy/stats"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// What is known of one recipe on one configuration, and how it outlives the run.

// A Trial is one candidate on one configuration.
type Trial struct {
	Recipe  recipe.Recipe `json:"-"`
	Text    string        // Recipe as text
	Build   cache.Build
	Code    string            // what the GPU executes, "" if unknown
	Same    string            // recipe ("-" for the default) whose code this one's equals: not measured by itself
	Ratio   float64           // the race's estimate of time over the default's: for ordering only, never believed; 0: not measured
	N       int               // launches it rests on
	Refused string            // why it can't be adopted
	Checked int               // launches on which memory was compared and found right
	Varied  int               `json:",omitempty"` // launches with data of ours on which it left the original's bits
	Error   Error             // the largest one of these launches
	Normals map[string]string `json:",omitempty"` // Candidate's

	stale bool // its guards ask for values that this run's launches of the configuration don't all have

	// From fresh samples; nil: not compared.
	Confirmed *Compared
	Plain     *Compared // of the plain copy, under a guard that never holds
}

// Compared is the outcome of a comparison on fresh samples.
type Compared struct {
	Ratio         stats.Interval
	Before, After cache.Time
	Time          time.Time
}

// usable tells whether a trial may be built upon.
func (t *Trial) usable() bool { return t.Refused == "" && t.Same == "" && t.Ratio > 0 && !t.stale }

func compared(c stats.Comparison, confidence float64, now time.Time) *Compared {
	if math.IsInf(c.Ratio.High, 1) {
		c.Ratio.High = 1e9 // JSON has no infinity
	}
	return &Compared{Ratio: c.Ratio, Before: timeOf(c.Base, confidence), After: timeOf(c.Cand, confidence), Time: now}
}

func timeOf(x []float64, confidence float64) cache.Time {
	i := stats.MedianInterval(x, confidence)
	t := cache.Time{Median: i.Estimate, Low: i.Low, High: i.High, N: i.N}
	if len(x) > 0 && i.High > stats.Quantile(x, 1) { // too few for an interval: their range
		t.Low, t.High = stats.Quantile(x, 0), stats.Quantile(x, 1)
	}
	return t
}

// rank sorts trials: usable ones first, the fastest of them first, save that within 1 % (less than that is luck) the safer kind of
// exactness and then the shorter recipe goes first.
func rank(trials []*Trial) []*Trial {
	var out []*Trial
	for _, t := range trials {
		if t.usable() {
			out = append(out, t)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Ratio != out[j].Ratio {
			return out[i].Ratio < out[j].Ratio
		}
		return out[i].Text < out[j].Text
	})
	// "Within 1 %" is no order (it isn't transitive): the best is moved forward from among those close to the fastest, then the
	// same for the rest.
	for i := range out {
		best := i
		for j := i + 1; j < len(out) && out[j].Ratio <= out[i].Ratio*1.01; j++ {
			if simpler(out[j].Recipe, out[best].Recipe) {
				best = j
			}
		}
		moved := out[best]
		copy(out[i+1:best+1], out[i:best])
		out[i] = moved
	}
	return out
}

// simpler tells whether a is to be preferred to b at equal times.
func simpler(a, b recipe.Recipe) bool {
	if x, y := rewrite.ExactnessOf(a), rewrite.ExactnessOf(b); x != y {
		return x < y
	}
	return weight(a) < weight(b)
}

// weight counts what a recipe asks for: a guard's conditions singly.
func weight(r recipe.Recipe) int {
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

// A notebook is what is remembered of one kernel identity on one configuration, device and driver.
type notebook struct {
	Identity string // of the kernel: its name is a hash, and gnvcc forget has to find it
	Trials   []*Trial
	Done     bool // the search had ended by itself, not by its budget
	Cost     cache.Cost

	Exhaustive *cache.Exhaustive `json:",omitempty"`
	Curve      []cache.Degree    `json:",omitempty"`
}

// notebookKey names it. What was found with leave to approximate is kept apart from what was found without (leave is ""). The driver's version is not part: it schedules nothing within a kernel; a trial is compared anew
// before it is adopted anyway.
func notebookKey(identity, device string, s Shape, leave string) string {
	return cache.Hash([]byte(fmt.Sprintf("notebook 1\n%s\n%s\n%v %v %d\n%s", identity, device, s.Grid, s.Block, s.Dynamic, leave)))
}

// readNotebook gives an empty one where there is none, or one that doesn't say whose it is.
func readNotebook(m Memory, key, identity string) notebook {
	n := notebook{Identity: identity}
	if m == nil {
		return n
	}
	var old notebook
	if b, ok := m.Recall(key); !ok || json.Unmarshal(b, &old) != nil || old.Identity != identity {
		return n
	}
	n = old
	kept := n.Trials[:0]
	for _, t := range n.Trials {
		if t == nil {
			continue // not written by us
		}
		r, err := recipe.Parse(t.Text)
		if err != nil {
			continue // of another version: tried again
		}
		t.Recipe = r
		kept = append(kept, t)
	}
	n.Trials = kept
	return n
}

// NotebookOf gives the identity of the kernel whose notebook a text is, "" where it is none.
func NotebookOf(text []byte) string {
	var n struct{ Identity string }
	if json.Unmarshal(text, &n) != nil {
		return ""
	}
	return n.Identity
}

func writeNotebook(m Memory, key string, n notebook) error {
	if m == nil {
		return nil
	}
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return m.Remember(key, b)
}
