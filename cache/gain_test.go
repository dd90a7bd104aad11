package cache

import (
	"math"
	"testing"
)

// A gain is of all launches: of those that were measured, weighted by what they took in the
// program; of those that others stand for; and of the rest, which stays as it is.
func TestRatio(t *testing.T) {
	half := Launch{Before: Time{Median: 100}, After: Time{Median: 50}, Count: 10, Seconds: 2}
	even := Launch{Before: Time{Median: 400}, After: Time{Median: 400}, Count: 1000, Seconds: 2}
	counted := Launch{Before: Time{Median: 1e9}, After: Time{Median: 5e8}, Count: 3}
	for name, c := range map[string]struct {
		e    Evidence
		want float64
	}{
		"nothing":          {Evidence{}, 1},
		"one":              {Evidence{Launches: []Launch{half}}, 0.5},
		"by seconds":       {Evidence{Launches: []Launch{half, even}}, 0.75},
		"by count":         {Evidence{Launches: []Launch{counted}}, 0.5},
		"stood for":        {Evidence{Launches: []Launch{half}, Rest: &Rest{Between: 2, After: 1}}, 0.5},
		"others stay":      {Evidence{Launches: []Launch{half}, Rest: &Rest{Others: 2}}, 0.75},
		"lock":             {Evidence{Locked: &Locked{Gain: 2}}, 0.5},
		"lock, not known":  {Evidence{Locked: &Locked{}}, 1},
		"it was not timed": {Evidence{Launches: []Launch{{Seconds: 1}}}, 1},
	} {
		if got := c.e.Ratio(); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
