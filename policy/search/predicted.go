package search

import (
	"math"
	"os"
	"sort"

	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
	"gnvcc/sim/predict"
)

// The order of register caps and of launch shapes by what their machine code predicts, for kernels
// so slow that a budget may end before all values were measured. Of both it is predicted by the
// warps that are resident. It is an order and nothing else: no value is left out for it. What can't
// be predicted (an unknown architecture, a file that can't be decoded) keeps its place behind what
// can, and with it today's order.

// predicted sorts a lever's values: caps and shapes by the time that is predicted, as far as that
// tells them apart (1 %), all others not.
func (s *search) predicted(list []recipe.Recipe) []recipe.Recipe {
	if len(list) < 2 || !s.sit.Known {
		return list
	}
	if of := lever.Of(list[0]); of != "maxnreg" && of != "shape" {
		return list
	}
	rates, err := predict.ForArchitecture(s.k.CC)
	if err != nil {
		return list
	}
	var jobs []*job
	for _, r := range list {
		jobs = append(jobs, s.want(r, 2))
	}
	_ = s.gather(jobs, func() error { return nil }) // they are run by nobody
	type value struct {
		r    recipe.Recipe
		time float64
	}
	var values []value
	for i, r := range list {
		v := value{r, math.Inf(1)}
		if c, err := jobs[i].result(); err == nil {
			v.time = cycles(c, s.k.Name, s.sit.Device, s.sit.ShapeFor(r), rates)
		}
		values = append(values, v)
	}
	sort.SliceStable(values, func(i, j int) bool { return values[i].time < values[j].time })
	out := make([]recipe.Recipe, len(list))
	for i, v := range values {
		out[i] = v.r
	}
	return out
}

// cycles is what is predicted of a candidate, in steps of 1 %; infinite where nothing is.
func cycles(c *policy.Candidate, kernel string, d sim.Device, shape policy.Shape,
	rates predict.Units) float64 {
	code, err := os.ReadFile(c.Path)
	if err != nil {
		return math.Inf(1)
	}
	if c.Entry != "" {
		kernel = c.Entry
	}
	run, err := predict.NewRun(code, kernel, d, sim.Shape{Threads: shape.Threads(),
		Shared: shape.Dynamic, Blocks: shape.Blocks()}, rates)
	if err != nil {
		return math.Inf(1)
	}
	e, err := run.Estimate()
	if err != nil || !(e.Cycles > 0) {
		return math.Inf(1)
	}
	return math.Round(100 * math.Log(e.Cycles))
}
