package stats

import (
	"math"
	"time"
)

// The rule of doc.go in figures.

// A Rule says what is believed. Standard is the one used; tests and --min-effect make others.
type Rule struct {
	MinEffect  float64       // smallest speed-up worth adopting: 0.03 is 3 %
	Harm       float64       // slow-down that is not tolerated anywhere: 0.01
	Confidence float64       // of the two-sided interval
	Short      time.Duration // kernels below are short ones
	Time       time.Duration // limit for one comparison: kernels and what a launch costs beside
	// Stop reports that there is no time for repeating a comparison; nil: there always is
	Stop func() bool
	// what a launch costs besides its kernel: memory is put back before each; 0 where not known
	Launch time.Duration
}

// Standard is the rule of doc.go. Its minimum effect is the project's ("claims of 3 % and more": 7 of
// 159 winners lost on being measured again, all of them small claims).
var Standard = Rule{
	MinEffect:  0.03,
	Harm:       0.01,
	Confidence: 0.995,
	Short:      10 * time.Microsecond,
	Time:       250 * time.Millisecond,
}

// Better reports whether a ratio (candidate over baseline) from fresh samples is enough to adopt the
// candidate.
func (r Rule) Better(i Interval) bool {
	return i.N > 0 && i.Estimate > 0 && i.Estimate <= 1/(1+r.MinEffect) && i.High < 1
}

// step is what the driver's event times are multiples of, on an H200: 32 ns. What two intervals
// differ by takes four events.
const step = 32 * time.Nanosecond

// Seen reports whether a gain is more than events can be off by, and is one still where it is as
// small as it may well be (Comparison.Bound). base is the baseline's time, ns.
func (r Rule) Seen(i Interval, bound, base float64) bool {
	return (1-i.Estimate)*base > float64((3*step).Nanoseconds()) && bound < 1
}

// Worth reports whether a recipe is worth having for what is claimed of it: of the least gain that is
// looked for, half has to be left where it is as small as it may well be. The best of sixty that
// gains less is mostly the luckiest (measured on an H200: of 3 % where it was found, 1.4 % were
// left on other launches, and nothing in the program).
func (r Rule) Worth(ratio float64) bool { return ratio <= 1/(1+r.MinEffect/2) }

// Harmful reports whether a ratio speaks against the candidate.
func (r Rule) Harmful(i Interval) bool { return i.N > 0 && i.Estimate > 1+r.Harm }

// A Plan is how much a comparison measures.
type Plan struct {
	Blocks int // ratios that the interval is made from
	Each   int // launches of either side in a block
}

// Samples is the number of launches of one side.
func (p Plan) Samples() int { return p.Blocks * p.Each }

// Plan returns the samples for a comparison with a baseline whose first times (nanoseconds) are
// given.
func (r Rule) Plan(base []float64) Plan {
	median, noise := Median(base), noise(base)
	// Fewest blocks that give a closed interval: 9 for 0.995.
	fewest := 1
	for ; fewest < 64; fewest++ {
		if _, ok := depth(fewest, (1-r.Confidence)/2); ok {
			break
		}
	}
	// Half-width of an interval of a ratio of two medians of N samples, each with relative noise s,
	// through blocks' medians: about z * sqrt(2) * 1.2533^2 * s / sqrt(N).
	z := -normalQuantile((1 - r.Confidence) / 2)
	want := math.Sqrt2 * 1.2533 * 1.2533 * z * noise / (r.MinEffect / 2)
	n := int(math.Ceil(want * want))
	p := Plan{Blocks: fewest + 4, Each: 3}
	if median > 0 && median < float64(r.Short.Nanoseconds()) {
		p.Blocks *= 4
	}
	if n > p.Samples() {
		p.Each = min(7, max(p.Each, n/p.Blocks))
		p.Blocks = max(p.Blocks, (n+p.Each-1)/p.Each)
	}
	// The limit of time shrinks blocks first, then their number, never below the fewest.
	limit, cost := float64(r.Time.Nanoseconds()), r.cost(median)
	for p.Each > 1 && 2*cost*float64(p.Samples()) > limit {
		p.Each--
	}
	if most := int(limit / (2 * cost * float64(p.Each))); p.Blocks > most {
		p.Blocks = max(most, fewest)
	}
	return p
}

// cost is what a launch of a kernel takes in all, nanoseconds.
func (r Rule) cost(median float64) float64 {
	return math.Max(median, 1) + float64(r.Launch.Nanoseconds())
}
