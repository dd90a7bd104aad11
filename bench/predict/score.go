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

// A way is a predictor: the time that it foretells for each trial of a kernel, the default's first,
// in any unit.
type way struct {
	name   string
	margin float64 // a pick must be foretold to gain more than that
	of     func(k kernel) []float64
}

func (k kernel) each(of func(t trial) float64) []float64 {
	var out []float64
	for _, t := range k.trials {
		out = append(out, of(t))
	}
	return out
}

func (k kernel) ours() []float64 {
	return k.each(func(t trial) float64 {
		return t.estimate.Cycles
	})
}

func (k kernel) paper() []float64 {
	most := 0.0
	for _, t := range k.trials {
		most = max(most, t.estimate.Fraction)
	}
	return k.each(func(t trial) float64 {
		return t.run.Slower(&t.estimate, most)
	})
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

// oursInTurn takes one value of each lever in turn, each lever's in the order that ours foretells,
// as far as that tells values apart.
func (k kernel) oursInTurn() []float64 {
	within := k.ours()
	for n, t := range within {
		within[n] = math.Round(100 * math.Log(t/k.trials[0].estimate.Cycles))
	}
	return inTurn(k.today(), within)
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

func ways(byKernel map[string][]float64) []way {
	forestOf := func(k kernel) []float64 { return append([]float64{1}, byKernel[k.key()]...) }
	return []way{
		{"paper (Fig. 5, Eq. 3)", 0, kernel.paper},
		{"paper, margin 5 %", predict.Margin, kernel.paper},
		{"naive stalls", 0, kernel.naive},
		{"ours", predict.Resolution, kernel.ours},
		{"ours, margin 5 %", predict.Margin, kernel.ours},
		{"forest", 0, forestOf},
		{"forest, margin 2 %", 0.02, forestOf},
		{"forest, margin 5 %", predict.Margin, forestOf},
		{"today's order", 1, kernel.today},
		{"today's, by turns", 1, kernel.turns},
		{"ours, by turns", 1, kernel.oursInTurn},
		{"oracle", 0, func(k kernel) []float64 {
			return k.each(func(t trial) float64 {
				return t.ratio
			})
		}},
	}
}

func (k kernel) key() string {
	return fmt.Sprint(k.program, " ", k.name, k.trials[0].run.Shape, len(k.trials))
}

// tell prints, for each predictor, what its picks gain of what could be gained, and how well it
// orders. Without a forest one is grown for each program on the others.
func tell(w io.Writer, kernels []kernel, grown *forest.Forest, seed uint64) error {
	rows := rowsOf(kernels)
	foretold := make([]float64, len(rows))
	if grown == nil {
		var err error
		if foretold, err = forests.Validate(predict.Features, rows, forests.Options{Seed: seed},
			0); err != nil {
			return err
		}
	} else {
		for n, r := range rows {
			foretold[n] = grown.Predict(r.X)
		}
	}
	byKernel := map[string][]float64{}
	trials, left, at := 0, 0, 0
	programs := map[string]bool{}
	for _, k := range kernels {
		for range k.trials[1:] {
			byKernel[k.key()] = append(byKernel[k.key()], math.Exp(foretold[at]))
			at++
		}
		trials += len(k.trials) - 1
		left += k.left
		programs[k.program] = true
	}
	fmt.Fprintf(w,
		"%d kernels of %d programs, %d trials exact by construction (%d others left out), one device: %s; rates: %s\n", len(kernels),
		len(programs), trials, left, kernels[0].device, kernels[0].trials[0].run.Units.Source)
	fmt.Fprintf(w,
		"the forest's error on programs that it has not seen: %.3f (root mean square of log time)\n\n",
		forests.RMS(rows, foretold))
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
	fmt.Fprintln(w)
	for _, k := range kernels {
		text := fmt.Sprintf("%-44.44s %3d trials", k.program+" "+k.name, len(k.trials)-1)
		for _, x := range list {
			if x.margin == 1 || strings.Contains(x.name, "margin") {
				continue
			}
			t := k.trials[pick(x.of(k), x.margin)]
			text += fmt.Sprintf("  %s: %.3f (%s)", strings.Fields(x.name)[0], t.ratio, orDefault(t.recipe))
		}
		fmt.Fprintln(w, text)
	}
	return nil
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

// pick is the trial with the least foretold time, or the default where that does not gain the
// margin.
func pick(times []float64, margin float64) int {
	best := 0
	for n, t := range times {
		if t < times[best] {
			best = n
		}
	}
	if times[best] >= times[0]*(1-margin) {
		return 0
	}
	return best
}

func score(kernels []kernel, x way) result {
	r := result{worst: 1}
	for _, k := range kernels {
		times := x.of(k)
		n := pick(times, x.margin)
		if n > 0 {
			r.picks++
		}
		if k.trials[n].ratio > 1.01 {
			r.lose++
		}
		r.worst = max(r.worst, k.trials[n].ratio)
		r.gain -= math.Log(k.trials[n].ratio)
		r.third += math.Log(k.best() / k.early(times))
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
