package xmodel

import (
	"fmt"
	"math"
)

// A Seen is one measured point: what was changed against the default kernel, and its time divided
// by the default's. Bypassing (warps or their share) and throttling (fewer warps) are the sweeps
// that show locality.
type Seen struct {
	Change
	Time float64
}

// fewestSeen is how many measured points a fit needs: two parameters, and something left to be
// wrong about.
const fewestSeen = 3

// Fit finds the locality with which the model's times come nearest to measured ones, by a grid and
// then smaller grids around its best point. err is the typical error, the root mean square of
// log(model/measured).
func (m Model) Fit(seen []Seen) (alpha, beta, rms float64, err error) {
	if len(seen) < fewestSeen {
		return 0, 0, 0, fmt.Errorf(
			"the X-model: %d measured points are too few to fit the locality, %d are needed", len(seen),
			fewestSeen)
	}
	if m.Cache <= 0 {
		return 0, 0, 0, fmt.Errorf("the X-model: no cache whose use could be fitted")
	}
	cost := func(a, b float64) float64 {
		t := m
		t.Alpha, t.Beta = 1+math.Exp(a), math.Exp(b)
		sum := 0.0
		for _, s := range seen {
			e, ok := t.What(s.Change)
			if !ok || s.Time <= 0 {
				return math.Inf(1)
			}
			d := math.Log(e.Time / s.Time)
			sum += d * d
		}
		return math.Sqrt(sum / float64(len(seen)))
	}
	// alpha - 1 from 0.05 to 20, beta from 16 bytes to the whole cache and more
	low, high := [2]float64{math.Log(0.05), math.Log(16)}, [2]float64{math.Log(20),
		math.Log(4 * m.Cache)}
	best, at := math.Inf(1), [2]float64{}
	const grid = 8
	for range 5 {
		for i := 0; i <= grid; i++ {
			for j := 0; j <= grid; j++ {
				a := low[0] + (high[0]-low[0])*float64(i)/grid
				b := low[1] + (high[1]-low[1])*float64(j)/grid
				if c := cost(a, b); c < best {
					best, at = c, [2]float64{a, b}
				}
			}
		}
		for d := range low {
			w := (high[d] - low[d]) / grid
			low[d], high[d] = at[d]-w, at[d]+w
		}
	}
	if math.IsInf(best, 1) {
		return 0, 0, 0, fmt.Errorf("the X-model: no locality gives the measured points")
	}
	return 1 + math.Exp(at[0]), math.Exp(at[1]), best, nil
}
