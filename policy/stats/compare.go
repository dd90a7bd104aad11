package stats

import "math"

// One candidate against the baseline, in blocks of alternating order.

// A Sampler launches an arm n times in a row and returns the times, nanoseconds. It may return
// fewer than n times, or an error (the arm faulted, the program has gone): then the comparison ends
// with that error.
type Sampler func(arm, n int) ([]float64, error)

// Baseline is the arm of the default build.
const Baseline = -1

// A Comparison is what comparing one arm with the baseline gave.
type Comparison struct {
	Ratio      Interval // candidate over baseline
	Base, Cand []float64
	ratios     []float64
}

// claimed is how sure a claim is: of 50 kernels, one may gain less.
const claimed = 0.98

// Bound is the ratio that can be claimed: the true one is above it with a chance of 1 in 50. With
// too few blocks to say so (below 6) it is the largest one seen; 0 without any.
func (c Comparison) Bound() float64 {
	if high := MedianInterval(c.ratios, 2*claimed-1).High; !math.IsInf(high, 1) {
		return high
	}
	return Quantile(c.ratios, 1)
}

// Compare measures arm against the baseline on fresh samples by the plan.
func (r Rule) Compare(sample Sampler, arm int, p Plan) (Comparison, error) {
	var c Comparison
	err := r.extend(&c, sample, arm, p)
	return c, err
}

// CompareHarm is Compare that goes on, up to four times the plan's blocks, while the estimate lies
// above 1 + Harm but the interval is too wide for it to be believed, or while it lies below and the
// interval reaches beyond. It serves the question whether a candidate must be refused for being
// slower.
func (r Rule) CompareHarm(sample Sampler, arm int, p Plan) (Comparison, error) {
	var c Comparison
	for i := 0; i < 4 && (i == 0 || r.Stop == nil || !r.Stop()); i++ {
		if err := r.extend(&c, sample, arm, p); err != nil {
			return c, err
		}
		if limit := 1 + r.Harm; c.Ratio.High < limit || c.Ratio.Low > limit ||
			c.Ratio.halfWidth() < r.Harm/2 {
			break
		}
	}
	return c, nil
}

// extend adds a plan's blocks to a comparison.
func (r Rule) extend(c *Comparison, sample Sampler, arm int, p Plan) error {
	for b := 0; b < p.Blocks; b++ {
		var base, cand []float64
		var err error
		for side := 0; side < 2; side++ {
			if side == b&1 {
				base, err = sample(Baseline, p.Each)
				c.Base = append(c.Base, base...)
			} else {
				cand, err = sample(arm, p.Each)
				c.Cand = append(c.Cand, cand...)
			}
			if err != nil {
				return err
			}
		}
		if m := Median(base); m > 0 && len(cand) > 0 {
			c.ratios = append(c.ratios, Median(cand)/m)
		}
	}
	c.Ratio = MedianInterval(c.ratios, r.Confidence)
	return nil
}
