package decide

import (
	"math"
)

// How many warps may approximate: the largest degree whose error is within the bound (Li, thesis,
// section 6.4.4). Degrees go from 0 (none) to n (all); at 0 there is no error. All is tried first
// by both searches: it is nearly always the fastest, and often right.
//
// Nothing here knows what a degree is or where errors come from. measure gives the error at a
// degree; it is asked once for each.

// A curve is what was measured of errors, by degree.
type curve struct {
	measure func(degree int) (float64, error)
	known   map[int]float64
}

func NewCurve(measure func(degree int) (float64, error)) *curve {
	return &curve{measure, map[int]float64{0: 0}}
}

func (c *curve) at(degree int) (float64, error) {
	if e, ok := c.known[degree]; ok {
		return e, nil
	}
	e, err := c.measure(degree)
	if err != nil {
		return 0, err
	}
	if math.IsNaN(e) {
		e = math.Inf(1)
	}
	c.known[degree] = e
	return e, nil
}

// descendTo is the number of degrees up to which they are tried one by one from above; of more, by
// interpolation.
const descendTo = 8

// Largest returns the largest degree up to n that is within the bound, as far as it is looked for.
func (c *curve) Largest(n int, bound float64) (int, error) {
	if n <= descendTo {
		return c.descend(n, bound)
	}
	return c.approach(n, bound)
}

// descend is the search that Li calls SMP: from n downwards until the error is within the bound. It
// finds the largest degree, whatever the curve looks like, in up to n measurements.
func (c *curve) descend(n int, bound float64) (int, error) {
	for d := n; d > 0; d-- {
		e, err := c.at(d)
		if err != nil {
			return 0, err
		}
		if e <= bound {
			return d, nil
		}
	}
	return 0, nil
}

// approach is the search that Li calls HEU: a line is drawn from the largest degree that is known
// to be right to the smallest that is known to be wrong, and the next is where it meets the bound.
// What it gives is always within the bound; where the curve does not rise steadily it may be a
// smaller degree than the largest (a local optimum). When a step takes off less than half of what
// is left, the next one halves it, so that it ends after about 2 log2 n measurements on any curve.
func (c *curve) approach(n int, bound float64) (int, error) {
	e, err := c.at(n)
	if err != nil {
		return 0, err
	}
	if e <= bound {
		return n, nil
	}
	low, high := 0, n
	lowError, highError := 0.0, e
	halve := false
	for high-low > 1 {
		next := (low + high) / 2
		if !halve && !math.IsInf(highError, 1) {
			next = low + int((bound-lowError)/(highError-lowError)*float64(high-low))
		}
		next = min(max(next, low+1), high-1)
		if e, err = c.at(next); err != nil {
			return 0, err
		}
		before := high - low
		if e <= bound {
			low, lowError = next, e
		} else {
			high, highError = next, e
		}
		halve = 2*(high-low) > before
	}
	return low, nil
}
