package stats

import (
	"math"
	"sort"
)

// Medians, quantiles and the intervals of order statistics.

// An Interval is an estimate with its bounds; N counts what it was made from.
type Interval struct {
	Estimate, Low, High float64
	N                   int
}

// halfWidth is half the interval's length, relative to the estimate.
func (i Interval) halfWidth() float64 {
	if i.N == 0 || i.Estimate == 0 {
		return math.Inf(1)
	}
	return (i.High - i.Low) / 2 / i.Estimate
}

// Median returns the median of x, 0 for none; x stays as it is.
func Median(x []float64) float64 { return Quantile(x, 0.5) }

// Quantile returns the q-quantile (0 to 1) of x by linear interpolation, 0 for none; x stays as it
// is.
func Quantile(x []float64, q float64) float64 {
	if len(x) == 0 {
		return 0
	}
	return quantileSorted(sorted(x), q)
}

func sorted(x []float64) []float64 {
	s := append([]float64(nil), x...)
	sort.Float64s(s)
	return s
}

func quantileSorted(s []float64, q float64) float64 {
	at := q * float64(len(s)-1)
	i := int(at)
	if i+1 >= len(s) {
		return s[len(s)-1]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}

// noise estimates the relative standard deviation of one sample from the quartiles (1.349 is their
// distance in units of a normal distribution's standard deviation): outliers don't count, an
// ordinary spread does. It is 0 for fewer than four samples.
func noise(x []float64) float64 {
	if len(x) < 4 {
		return 0
	}
	s := sorted(x)
	m := quantileSorted(s, 0.5)
	if m == 0 {
		return 0
	}
	return (quantileSorted(s, 0.75) - quantileSorted(s, 0.25)) / 1.349 / m
}

// MedianInterval returns the median of x with the interval of order statistics of at least the
// confidence asked for. With too few samples for that confidence (below 9 for 0.995) the interval
// is open: from 0 to infinity.
func MedianInterval(x []float64, confidence float64) Interval {
	n := len(x)
	if n == 0 {
		return Interval{High: math.Inf(1)}
	}
	s := sorted(x)
	i := Interval{Estimate: quantileSorted(s, 0.5), High: math.Inf(1), N: n}
	if d, ok := depth(n, (1-confidence)/2); ok {
		i.Low, i.High = s[d], s[n-1-d]
	}
	return i
}

// depth returns the largest d for which the d-th smallest of n samples (from 0) is above the true
// median with a chance of at most tail: P(Binomial(n, 1/2) <= d) <= tail. False when not even the
// smallest is that sure.
func depth(n int, tail float64) (int, bool) {
	p := math.Exp(-float64(n) * math.Ln2) // P(X = 0)
	if p == 0 {                           // n above 1074: the normal distribution is exact enough
		z := -normalQuantile(tail)
		return int(math.Floor(float64(n)/2 - z*math.Sqrt(float64(n))/2 - 1)), true
	}
	sum, d := 0.0, -1
	for k := 0; k <= n/2; k++ {
		if sum += p; sum > tail {
			break
		}
		d = k
		p *= float64(n-k) / float64(k+1)
	}
	return d, d >= 0
}

// normalQuantile returns the p-quantile of the standard normal distribution.
func normalQuantile(p float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*p) }
