package lab

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Median is the middle of a list, the mean of the two in the middle of an even one; 0 of none.
func Median[T int64 | float64](list []T) T {
	if len(list) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(list))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// Quantile interpolates between the two nearest values; q is from 0 to 1. 0 of none.
func Quantile(list []float64, q float64) float64 {
	if len(list) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(list))
	at := q * float64(len(s)-1)
	low := int(at)
	high := min(low+1, len(s)-1)
	return s[low] + (at-float64(low))*(s[high]-s[low])
}

// Ratios divides pair by pair; what is longer is cut.
func Ratios(a, b []float64) []float64 {
	out := make([]float64, min(len(a), len(b)))
	for i := range out {
		out[i] = a[i] / b[i]
	}
	return out
}

// Differences subtracts pair by pair; what is longer is cut.
func Differences(a, b []float64) []float64 {
	out := make([]float64, min(len(a), len(b)))
	for i := range out {
		out[i] = a[i] - b[i]
	}
	return out
}

// MeanOfMedians is the geometric mean of the lists' medians, which are above 0.
func MeanOfMedians(lists [][]float64) float64 {
	sum := 0.0
	for _, l := range lists {
		sum += math.Log(Median(l))
	}
	return math.Exp(sum / float64(len(lists)))
}

// resamples is how many times Interval draws: enough for two digits of an interval.
const resamples = 2000

// Interval is the 95 % interval of a figure of some lists, by drawing from each list as many values
// as it has, with replacement (percentile bootstrap). The draws are the same each time.
func Interval(lists [][]float64, figure func([][]float64) float64) (low, high float64) {
	random := rand.New(rand.NewPCG(1, 2))
	drawn := make([][]float64, len(lists))
	figures := make([]float64, resamples)
	for n := range figures {
		for i, l := range lists {
			drawn[i] = drawn[i][:0]
			for range l {
				drawn[i] = append(drawn[i], l[random.IntN(len(l))])
			}
		}
		figures[n] = figure(drawn)
	}
	return Quantile(figures, 0.025), Quantile(figures, 0.975)
}
