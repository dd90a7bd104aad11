// How good picks and orders would have been.

package main

import (
	"fmt"
	"io"
	"math"
	"sort"
	"strconv"
	"strings"

	"gnvcc/bench/forests"
	"gnvcc/policy/lever"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim/forest"
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

// ours are the times as they are ranked: in steps of what the models tell apart, and RegDem's where
// that is nothing.
func (k kernel) ours() []float64 {
	return k.each(func(t trial) float64 {
		step := math.Round(math.Log(t.ranked.By()) / predict.Resolution)
		return math.Exp(step*predict.Resolution) * (1 + 1e-6*min(t.ranked.Paper, 100))
	})
}

func (k kernel) paper() []float64 {
	return k.each(func(t trial) float64 { return t.ranked.Paper })
}

// naive is the sum of stall counts.
func (k kernel) naive() []float64 {
	return k.each(func(t trial) float64 {
		sum := 0.0
		for n := range t.run.Function.Insts {
			sum += float64(t.run.Function.Insts[n].Stall)
		}
		return sum
	})
}

// today is the place at which the tuner tries a recipe now: lever by lever, the most promising
// first, caps by their distance from the default's count.
func (k kernel) today() []float64 {
	levers := map[string]int{}
	for n, l := range lever.All() {
		levers[l.Name] = n
	}
	return k.each(func(t trial) float64 {
		r, err := recipe.Parse(t.recipe)
		if err != nil || r.IsDefault() {
			return -1
		}
		place, within := 0, 0.0
		for _, term := range r.Terms {
			place = max(place, levers[term.Lever])
			if n, err := strconv.Atoi(term.Value); err == nil && term.Lever == "maxnreg" {
				within = math.Abs(float64(n - k.trials[0].run.Registers))
			} else {
				for v, value := range []string{"L2::256B", "L1::no_allocate", "L2::128B", "L1::evict_last",
					"L1::evict_first", "cs", "L2::64B"} {
					if term.Value == value {
						within = float64(v)
					}
				}
			}
		}
		// combinations behind what stands alone
		return 1e6*float64(len(r.Terms)) + 1e3*float64(place) + within
	})
}

// turns is today's order for slow kernels: one value of each lever in turn.
func (k kernel) turns() []float64 { return inTurn(k.today(), k.today()) }

// oursInTurn takes one value of each lever in turn, each lever's in the order that ours predicts,
// as far as that tells values apart.
func (k kernel) oursInTurn() []float64 {
	return inTurn(k.today(), k.each(func(t trial) float64 {
		return math.Round(100 * math.Log(t.ranked.Time))
	}))
}

// inTurn takes one of each lever in turn; order tells the levers and, where within does not, their
// values' order.
func inTurn(order, within []float64) []float64 {
	out := make([]float64, len(order))
	count := map[int]int{}
	places := sorted(order)
	sort.SliceStable(places, func(a, b int) bool { return within[places[a]] < within[places[b]] })
	for _, n := range places {
		if order[n] < 0 {
			out[n] = -1
			continue
		}
		of := int(order[n]) / 1000
		out[n] = float64(count[of]) + float64(of)/1e6
		count[of]++
	}
	return out
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

// ways are the predictors; naive and the forest look at machine code, which rows don't have.
func ways(byKernel map[string][]float64) []way {
	forestOf := func(k kernel) []float64 { return append([]float64{1}, byKernel[k.key()]...) }
	by := func(t trial) float64 { return t.ranked.By() }
	out := []way{
		{"paper (Fig. 5, Eq. 3)", 0, kernel.paper, nil},
		{"paper, margin 5 %", 0.05, kernel.paper, nil},
		{"ours", predict.Resolution, kernel.ours, by},
		{"ours, margin 5 %", 0.05, kernel.ours, by},
		{"ours, margin 10 %", predict.Margin, kernel.ours, by},
	}
	if byKernel != nil {
		out = append(out, way{"naive stalls", 0, kernel.naive, nil},
			way{"forest", 0, forestOf, nil}, way{"forest, margin 2 %", 0.02, forestOf, nil},
			way{"forest, margin 5 %", 0.05, forestOf, nil})
	}
	return append(out, []way{
		{"today's order", 1, kernel.today, nil},
		{"today's, by turns", 1, kernel.turns, nil},
		{"ours, by turns", 1, kernel.oursInTurn, nil},
		{"oracle", 0, func(k kernel) []float64 {
			return k.each(func(t trial) float64 {
				return t.ratio
			})
		}, nil},
	}...)
}

func (k kernel) key() string {
	return fmt.Sprint(k.program, " ", k.name, k.trials[0].run.Shape, len(k.trials))
}

// tell prints, for each predictor, what its picks gain of what could be gained, and how well it
// orders. Without a forest one is grown for each program on the others.
func tell(w io.Writer, kernels []kernel, grown *forest.Forest, seed uint64) error {
	byKernel, rms, err := grow(kernels, grown, seed)
	if err != nil {
		return err
	}
	trials, left := 0, 0
	programs := map[string]bool{}
	for _, k := range kernels {
		trials += len(k.trials) - 1
		left += k.left
		programs[k.program] = true
	}
	fmt.Fprintf(w,
		"%d kernels of %d programs, %d trials (%d others left out), one device: %s; rates: %s\n", len(kernels),
		len(programs), trials, left, kernels[0].device, kernels[0].trials[0].run.Units.Source)
	if byKernel != nil {
		fmt.Fprintf(w,
			"the forest's error on programs that it has not seen: %.3f (root mean square of log time)\n", rms)
	}
	fmt.Fprintln(w)
	fmt.Fprintf(w, "%-24s %6s %7s %12s %14s %12s %20s\n", "picks by", "picks", "gain", "of oracle's",
		"lose over 1 %", "worst pick", "with a third, of best")
	oracle := 0.0
	for _, k := range kernels {
		oracle -= math.Log(k.best())
	}
	list := ways(byKernel)
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
			if x.margin == 1 || strings.Contains(x.name, "margin") {
				continue
			}
			t := k.trials[x.pick(k)]
			text += fmt.Sprintf("  %s: %.3f (%s)", strings.Fields(x.name)[0], t.ratio, orDefault(t.recipe))
		}
		fmt.Fprintln(w, text)
	}
	return nil
}

// grow gives a forest's times of each kernel's trials, and its error; none where trials were read,
// which have no machine code.
func grow(kernels []kernel, grown *forest.Forest, seed uint64) (byKernel map[string][]float64,
	rms float64, err error) {
	rows := rowsOf(kernels)
	if len(rows) == 0 || len(rows[0].X) == 0 {
		return nil, 0, nil
	}
	predicted := make([]float64, len(rows))
	if grown == nil {
		if predicted, err = forests.Validate(predict.Features, rows, forests.Options{Seed: seed},
			0); err != nil {
			return nil, 0, err
		}
	} else {
		for n, r := range rows {
			predicted[n] = grown.Predict(r.X)
		}
	}
	byKernel, at := map[string][]float64{}, 0
	for _, k := range kernels {
		for range k.trials[1:] {
			byKernel[k.key()] = append(byKernel[k.key()], math.Exp(predicted[at]))
			at++
		}
	}
	return byKernel, forests.RMS(rows, predicted), nil
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
