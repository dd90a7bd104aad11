// How near the critical points come to the best of all register counts.

package main

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
)

// mostCounts is how many caps a kernel must have been measured with, so that it counts as all of
// its region.
const mostCounts = 12

// critical prints, for kernels of which every register count was measured (gnvcc tune --levers
// maxnreg --exhaustive), what the tuner's caps (critical points of the launch, and 255) reach of
// the best, and what a predictor's pick among all does.
func critical(w io.Writer, kernels []kernel) {
	loss, picked, best, n := 0.0, 0.0, 0.0, 0
	for _, k := range kernels {
		base := k.trials[0].run
		ratio := map[int]float64{}
		low, high, most := 255, 0, 0
		for _, t := range k.trials[1:] {
			r, err := recipe.Parse(t.recipe)
			if err != nil || len(r.Terms) != 1 || r.Terms[0].Lever != "maxnreg" {
				continue
			}
			limit, _ := strconv.Atoi(r.Terms[0].Value)
			ratio[limit] = t.ratio
			low, high, most = min(low, t.run.Registers), max(high, t.run.Registers), max(most, limit)
		}
		if len(ratio) < mostCounts {
			continue
		}
		all, points := 1.0, 1.0
		for _, r := range ratio {
			all = min(all, r)
		}
		for _, limit := range append(base.Device.CriticalPoints(base.Shape, max(low, sim.Floor), high),
			most) {
			// Caps that gave the code of another one were not measured by themselves.
			for near := limit; near > limit-8 && near >= low; near-- {
				if r, ok := ratio[near]; ok {
					points = min(points, r)
					break
				}
			}
		}
		ours := k.trials[way{of: kernel.ours}.pick(k)].ratio
		fmt.Fprintf(w,
			"%-44.44s %3d caps with other code, %d to %d registers: best %.3f, critical points %.3f, ours picks %.3f\n",
			k.program+" "+k.name, len(ratio), low, high, all, points, ours)
		loss += math.Log(points / all)
		picked += math.Log(ours / all)
		best += math.Log(all)
		n++
	}
	if n > 0 {
		mean := func(sum float64) float64 { return 100 * (math.Exp(sum/float64(n)) - 1) }
		fmt.Fprintf(w,
			"%d kernels with every register count: the best gains %.1f %%; critical points take %.2f %% more time than it, our pick %.2f %%\n\n",
			n, mean(-best), mean(loss), mean(picked))
	}
}
