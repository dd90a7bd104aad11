package decide

import (
	"errors"
	"math"
	"math/rand"
	"testing"
)

// counted makes a curve of a formula, and counts what is measured.
func counted(t *testing.T, f func(d int) float64) (*curve, *int) {
	n := new(int)
	seen := map[int]bool{}
	return NewCurve(func(d int) (float64, error) {
		if seen[d] {
			t.Errorf("degree %d was measured twice", d)
		}
		seen[d] = true
		*n++
		return f(d), nil
	}), n
}

// largest is what an exhaustive search finds.
func largest(n int, bound float64, f func(int) float64) int {
	for d := n; d > 0; d-- {
		if f(d) <= bound {
			return d
		}
	}
	return 0
}

func TestDegreesOnSteadyCurves(t *testing.T) {
	curves := map[string]func(d int) float64{
		"linear":  func(d int) float64 { return float64(d) },
		"convex":  func(d int) float64 { return float64(d * d * d) },
		"concave": func(d int) float64 { return 100 * math.Sqrt(float64(d)) },
		"step": func(d int) float64 {
			if d > 5 {
				return 1000
			}
			return 1
		},
		"infinite above 40": func(d int) float64 {
			if d > 40 {
				return math.Inf(1)
			}
			return float64(d)
		},
		"flat": func(d int) float64 { return 7 },
	}
	for name, f := range curves {
		for _, n := range []int{1, 2, 7, 8, 32, 64} {
			for _, bound := range []float64{0.5, 1, 7, 26.5, 300, 1e9} {
				want := largest(n, bound, f)
				c, count := counted(t, f)
				if got, err := c.descend(n, bound); got != want || err != nil {
					t.Errorf("%s, %d, %g: SMP finds %d, %v; the largest is %d", name, n, bound, got, err, want)
				}
				smp := *count
				c, count = counted(t, f)
				if got, err := c.approach(n, bound); got != want || err != nil {
					t.Errorf("%s, %d, %g: HEU finds %d, %v; the largest is %d", name, n, bound, got, err, want)
				}
				if want == n && (smp != 1 || *count != 1) {
					t.Errorf("%s, %d, %g: all is right, and was found by %d and %d measurements", name, n, bound,
						smp, *count)
				}
				if limit := 2 + 2*int(math.Ceil(math.Log2(float64(n)))); *count > limit {
					t.Errorf("%s, %d, %g: HEU measures %d degrees, more than %d", name, n, bound, *count, limit)
				}
			}
		}
	}
}

// TestHEUOnAnExample is that of Li's figure 6.5: two steps.
func TestHEUOnAnExample(t *testing.T) {
	c, count := counted(t, func(d int) float64 { return 1.36e-5 * float64(d) / 48 })
	if got, _ := c.approach(48, 0.85e-5); got != 30 || *count > 3 {
		t.Errorf("%d by %d measurements", got, *count)
	}
}

// TestHEUMayEndEarly: on a curve that falls again, SMP finds the largest degree and HEU one that is
// right but smaller.
func TestHEUMayEndEarly(t *testing.T) {
	f := func(d int) float64 {
		if d >= 55 && d < 60 {
			return 1
		}
		return float64(d)
	}
	c, _ := counted(t, f)
	smp, _ := c.descend(64, 10)
	c, _ = counted(t, f)
	heu, _ := c.approach(64, 10)
	if smp != 59 || heu != 10 {
		t.Errorf("SMP %d, HEU %d", smp, heu)
	}
}

// TestHEUIsAlwaysRight: whatever the curve, what it gives is within the bound.
func TestHEUIsAlwaysRight(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	below := 0
	for range 2000 {
		n := 1 + rng.Intn(64)
		values := make([]float64, n+1)
		for d := range values {
			values[d] = rng.ExpFloat64()
			if rng.Intn(20) == 0 {
				values[d] = math.NaN()
			}
		}
		bound := rng.Float64()
		f := func(d int) float64 { return values[d] }
		c, _ := counted(t, f)
		got, err := c.approach(n, bound)
		if err != nil || got > 0 && !(values[got] <= bound) {
			t.Fatalf("%v at %g: %d, %v", values, bound, got, err)
		}
		if got < largest(n, bound, f) {
			below++
		}
	}
	if below == 0 {
		t.Error("HEU found the largest degree of every random curve: the test shows nothing")
	}
}

func TestDegreesEndAtAnError(t *testing.T) {
	lost := errors.New("lost")
	for range 2 {
		c := NewCurve(func(d int) (float64, error) {
			if d < 8 {
				return 0, lost
			}
			return 5, nil
		})
		if _, err := c.descend(8, 1); err != lost {
			t.Error(err)
		}
		if _, err := c.approach(8, 1); err != lost {
			t.Error(err)
		}
	}
}
