package main

import (
	"fmt"
	"io"
	"math"
	"sort"
	"strings"

	"gnvcc/sim/predict"
)

// A way is a predictor: the time that it predicts for each trial of a kernel, the default's first,
// in any unit.
type way struct {
	name   string
	margin float64 // a pick must be predicted to gain more than that
	of     func(k kernel) []float64
	// what a pick is predicted to take, where that is not what orders; nil: it is
	by func(t trial) float64
}

func (k kernel) each(of func(t trial) float64) []float64 {
	var out []float64
	for _, t := range k.trials {
		out = append(out, of(t))
	}
	return out
}

// ours are the times as they are ranked: in steps of what the model can distinguish, and of those that
// are the same the one with most registers.
func (k kernel) ours() []float64 {
	return k.each(func(t trial) float64 {
		step := math.Round(math.Log(t.ranked.By()) / predict.Resolution)
		return math.Exp(step*predict.Resolution) * (1 - 1e-6*float64(t.ranked.Registers))
	})
}

// sorted gives places by value, the least first.
func sorted(x []float64) []int {
	out := make([]int, len(x))
	for i := range out {
		out[i] = i
	}
	sort.SliceStable(out, func(a, b int) bool { return x[out[a]] < x[out[b]] })
	return out
}

// ways are the predictors.
func ways() []way {
	by := func(t trial) float64 { return t.ranked.By() }
	return []way{
		{"paper (Fig. 5, Eq. 3)", 0, kernel.paper, nil},
		{"ours", predict.Resolution, kernel.ours, by},
		{"ours, margin 5 %", 0.05, kernel.ours, by},
		{"ours, margin 10 %", predict.Margin, kernel.ours, by},
		{"oracle", 0, func(k kernel) []float64 {
			return k.each(func(t trial) float64 {
				return t.ratio
			})
		}, nil},
	}
}

// tell prints, for each predictor, what its picks gain of what could be gained, and how well it
// orders.
func tell(w io.Writer, kernels []kernel) {
	trials, left := 0, 0
	programs := map[string]bool{}
	for _, k := range kernels {
		trials += len(k.trials) - 1
		left += k.left
		programs[k.program] = true
	}
	fmt.Fprintf(w,
		"%d kernels of %d programs, %d trials (%d others left out), one device: %s; rates: %s\n", len(kernels),
		len(programs), trials, left, kernels[0].device, predict.Source)
	fmt.Fprintln(w)
	fmt.Fprintf(w, "%-24s %6s %7s %12s %14s %12s %20s\n", "picks by", "picks", "gain", "of oracle's",
		"lose over 1 %", "worst pick", "with a third, of best")
	oracle := 0.0
	for _, k := range kernels {
		oracle -= math.Log(k.best())
	}
	list := ways()
	for _, x := range list {
		s := score(kernels, x)
		fmt.Fprintf(w, "%-24s %6d %6.1f%% %11.0f%% %14d %12.3f %19.2f%%\n", x.name, s.picks,
			100*(math.Exp(s.gain/float64(len(kernels)))-1),
			100*s.gain/oracle, s.lose, s.worst, 100*s.third)
	}
	chances(w, kernels)
	for _, k := range kernels {
		text := fmt.Sprintf("%-44.44s %3d trials", k.program+" "+k.name, len(k.trials)-1)
		for _, x := range list {
			if strings.Contains(x.name, "margin") {
				continue
			}
			t := k.trials[x.pick(k)]
			text += fmt.Sprintf("  %s: %.3f (%s)", strings.Fields(x.name)[0], t.ratio, orDefault(t.recipe))
		}
		fmt.Fprintln(w, text)
	}
}

// chances prints what became of trials, by what was predicted of them: predict.ChanceOf's table.
func chances(w io.Writer, kernels []kernel) {
	fmt.Fprintf(w, "\n%-24s %6s %8s %8s  (by 1 %% and more)\n", "predicted, over default's", "trials",
		"faster", "slower")
	from := 0.0
	for _, below := range predict.ChanceBounds() {
		c := chance(kernels, from, below)
		fmt.Fprintf(w, "%-24s %6d %8d %8d\n", fmt.Sprintf("%.3f to %.3f", from, below), c.Of, c.Faster,
			c.Slower)
		from = below
	}
	fmt.Fprintln(w)
}

func chance(kernels []kernel, from, below float64) (c predict.Chance) {
	for _, k := range kernels {
		for _, t := range k.trials[1:] {
			if time := t.ranked.By(); time < from || time >= below {
				continue
			}
			c.Of++
			switch {
			case t.ratio < 0.99:
				c.Faster++
			case t.ratio > 1.01:
				c.Slower++
			}
		}
	}
	return c
}

func orDefault(s string) string {
	if s == "" {
		return "default"
	}
	return s
}

// best is the fastest trial's time, over the default's.
func (k kernel) best() float64 {
	best := 1.0
	for _, t := range k.trials {
		best = min(best, t.ratio)
	}
	return best
}

type result struct {
	picks, lose int
	gain        float64 // sum of log of default's time over the pick's
	worst       float64 // pick's time over the default's
	third       float64 // geometric mean of best time over the best among the first third
}

// pick is the trial with the least predicted time, or the default where that does not gain the
// margin.
func (x way) pick(k kernel) int {
	times, best := x.of(k), 0
	for n, t := range times {
		if t < times[best] {
			best = n
		}
	}
	time := times[best] / times[0]
	if x.by != nil {
		time = x.by(k.trials[best])
	}
	if best == 0 || time >= 1-x.margin {
		return 0
	}
	return best
}

func score(kernels []kernel, x way) result {
	r := result{worst: 1}
	for _, k := range kernels {
		n := x.pick(k)
		if n > 0 {
			r.picks++
		}
		if k.trials[n].ratio > 1.01 {
			r.lose++
		}
		r.worst = max(r.worst, k.trials[n].ratio)
		r.gain -= math.Log(k.trials[n].ratio)
		r.third += math.Log(k.best() / k.early(x.of(k)))
	}
	r.third = math.Exp(r.third / float64(len(kernels)))
	return r
}

// early is the best time of the default and the first third of the others in an order.
func (k kernel) early(times []float64) float64 {
	best, taken := 1.0, 0
	for _, n := range sorted(times) {
		if n == 0 {
			continue
		}
		if taken++; taken > (len(times)+1)/3 {
			break
		}
		best = min(best, k.trials[n].ratio)
	}
	return best
}
