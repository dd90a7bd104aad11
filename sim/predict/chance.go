package predict

import (
	"fmt"
	"math"
)

// How often predictions came true: recorded trials of register recipes whose time was predicted
// alike.

// A Chance is some of these trials: how many there were, how many were faster than nvcc's own by
// 1 % and more, and how many slower.
type Chance struct{ Of, Faster, Slower int }

// chances are by predicted time, over the default's, below each bound: caps, ptxas' spills to shared memory and
// demotion of 141 kernels on an H200 (bench/results/2026-11-23-papers; bench/predict's TestRecorded
// counts them again). The rows don't say where stacks are more than L1 (Ranked.Stacks): such trials
// stand by the model's own time.
var chances = []struct {
	below float64
	Chance
}{
	{0.90, Chance{19, 18, 0}},
	{0.95, Chance{21, 13, 8}},
	{0.98, Chance{19, 13, 3}},
	{0.995, Chance{23, 11, 1}},
	{1.005, Chance{212, 12, 14}},
	{1.05, Chance{25, 1, 12}},
	{math.Inf(1), Chance{55, 4, 47}},
}

// ChanceOf is what became of trials that were predicted to take about this time.
func ChanceOf(time float64) Chance {
	for _, c := range chances {
		if time < c.below {
			return c.Chance
		}
	}
	return Chance{}
}

// ChanceBounds are the times at which the table is divided, the last one infinite.
func ChanceBounds() []float64 {
	var out []float64
	for _, c := range chances {
		out = append(out, c.below)
	}
	return out
}

func (c Chance) String() string {
	return fmt.Sprintf("%d, %d of %d", c.Faster, c.Slower, c.Of)
}
