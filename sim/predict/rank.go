package predict

import (
	"cmp"
	"math"
	"sort"
)

// A Candidate is one way of building a kernel.
type Candidate struct {
	Recipe string
	Run    Run
}

// A Ranked is a candidate with what is predicted of it.
type Ranked struct {
	Recipe    string
	Estimate  Estimate
	Registers int
	Time      float64 // of our model over the default's
	More      bool    // it accesses local memory more often than the default
	Stacks    bool    // the default's local memory of all resident threads is more than L1
	Err       error   // why nothing is predicted: then Time is infinite
}

// By is the number that orders. What spills more is taken to be
// faster only where that is predicted clearly: of 17 recorded trials that spilled more and were
// predicted to gain 0.5 to 5 %, 10 lost 1 % and more, and 2 gained that
// (bench/results/2026-11-23-papers). And where local memory does not fit into L1, fewer warps may
// be faster by more than the model sees (examples/plaincopy: 1.02 predicted, 0.76 measured): what
// is predicted to lose a little there is taken to be as fast.
func (r Ranked) By() float64 {
	switch {
	case r.Stacks && r.Time > 1 && r.Time < 1+spillMargin:
		return 1
	case r.More && r.Time > 1-spillMargin:
		return max(r.Time, 1)
	}
	return r.Time
}

// spillMargin is how much a candidate that spills more must be predicted to gain, or one beside
// full stacks to lose.
const spillMargin = 0.05

// Rank predicts all candidates and orders them, the fastest first; what can't be predicted stands
// last. The error is the default's, without which there is nothing to compare
// with.
func Rank(base Candidate, candidates []Candidate) ([]Ranked, error) {
	b, err := base.Run.Estimate()
	if err != nil {
		return nil, err
	}
	out := make([]Ranked, 0, len(candidates))
	for _, c := range candidates {
		e, err := c.Run.Estimate()
		out = append(out, Ranked{Recipe: c.Recipe, Estimate: e, Registers: c.Run.Registers, Err: err,
			Time: math.Inf(1)})
	}
	for n := range out {
		r := &out[n]
		if r.Err != nil {
			continue
		}
		r.Stacks = base.Run.localMisses() > 0
		r.Time, r.More = over(r.Estimate.Cycles, b.Cycles), r.Estimate.Spills > b.Spills+0.5
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Before(out[j]) })
	return out, nil
}

// Before orders candidates.
func (r Ranked) Before(b Ranked) bool {
	if x, y := bucket(r.By()), bucket(b.By()); x != y {
		return x < y
	}
	// of two that take as long the one with more registers: it spills and computes again less
	return cmp.Or(cmp.Compare(b.Registers, r.Registers), cmp.Compare(r.Recipe, b.Recipe)) < 0
}

// Resolution is what the models tell apart: times that differ by less are equal to them. All picks
// that lost over 1 % on the programs that the model was built on (2 of 18) were predicted to gain
// less than that: a register or two less with the same warps.
const Resolution = 0.005

// bucket takes times that differ by less than Resolution or so as equal.
func bucket(time float64) float64 {
	if math.IsInf(time, 0) || time <= 0 {
		return math.Inf(1)
	}
	return math.Round(math.Log(time) / Resolution)
}

// Better reports whether a candidate is predicted to be faster than the default by more than the
// models can't tell apart.
func (r Ranked) Better() bool { return r.Err == nil && r.By() < 1-Resolution }

func over(a, b float64) float64 {
	if b <= 0 || a <= 0 {
		return math.Inf(1)
	}
	return a / b
}

// Margin is how much a candidate must be predicted to gain before it is picked instead of the
// default: a pick that loses is worse than none. Of recorded picks none of 10 lost 1 % that was
// predicted to gain so much, and 2 of 9 of 5 to 10 % (bench/results/2026-11-23-papers).
const Margin = 0.10

// Pick is the candidate to take without measuring; ok is false where the default should stay.
func Pick(ranked []Ranked) (r Ranked, ok bool) {
	if len(ranked) == 0 || ranked[0].Err != nil || !(ranked[0].By() < 1-Margin) {
		return Ranked{}, false
	}
	return ranked[0], true
}
