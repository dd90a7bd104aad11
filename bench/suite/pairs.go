// What being observed costs a program: pairs of runs, without and with, one after the other. A
// single run of a second differs by a fifth from the next one, since the driver takes between half
// a second and one and a half to start. So there are several, the short programs first, in the time
// that is left when all programs are measured.

package main

import (
	"context"
	"slices"
	"time"

	"gnvcc/bench/command"
	"gnvcc/bench/jsonl"
)

// A Pair is the tuned build, run as it is, and under gnvcc profile, which is what gnvcc tune does
// beside captures: seconds of wall time of the whole command.
type Pair struct{ Plain, Observed float64 }

// pair runs both, in an order that changes.
func (j *job) pair(ctx context.Context, n int) error {
	var p Pair
	for side := range 2 {
		run, to, what := j.make("after", j.s.target), &p.Plain, "alone"
		if (side+n)&1 == 1 {
			run.Argv = append([]string{j.s.gnvcc, "profile", "--"}, run.Argv...)
			to, what = &p.Observed, "observed"
		}
		r, err := j.do(ctx, what, run, j.s.limits.run)
		if err != nil {
			return err
		}
		*to = r.Wall.Seconds()
	}
	j.result.Pairs = append(j.result.Pairs, p)
	return nil
}

// pairAll runs rounds of pairs, the shortest programs first, as long as there is time, and writes
// the results down once more: of a program's lines the last one counts. What fails is left out: the
// program's other figures stand.
func (s *suite) pairAll(ctx context.Context, jobs []*job) error {
	jobs = slices.Clone(jobs)
	plain := func(j *job) float64 { return command.Median(j.result.Plain) }
	slices.SortStableFunc(jobs, func(a, b *job) int {
		return int(1e3 * (plain(a) - plain(b))) // seconds
	})
	end, _ := ctx.Deadline()
	for n := range s.pairs {
		for i, j := range jobs {
			// twice the run, and the time to end what is running
			if j == nil || time.Until(end).Seconds() < 3*plain(j)+1 {
				continue
			}
			if err := j.alone(ctx, func() error { return j.pair(ctx, n) }); err != nil {
				s.say("%-24s observed: %v", j.name, err)
				jobs[i] = nil
			}
		}
	}
	for _, j := range jobs {
		if j == nil || len(j.result.Pairs) == 0 {
			continue
		}
		if err := jsonl.Append(s.results, j.result); err != nil {
			return err
		}
	}
	return nil
}

// observing gives what a program takes under gnvcc and without, captures aside, and how far two
// runs without are apart (the larger over the smaller); false: nobody knows. Medians of pairs,
// where there are some; else the one run under tune, and the mean of those before and after it.
func (r Result) observing() (with, without, apart float64, ok bool) {
	if len(r.Pairs) >= fewestPairs {
		var a, b, apart []float64
		for i, p := range r.Pairs {
			a, b = append(a, p.Observed), append(b, p.Plain)
			if i > 0 {
				apart = append(apart, max(b[i]/b[i-1], b[i-1]/b[i]))
			}
		}
		return command.Median(a), command.Median(b), geometric(apart), true
	}
	if r.Observed == nil || len(r.Plain) == 0 || r.Observed.Program == 0 {
		return 0, 0, 0, false
	}
	if len(r.Plain) > 1 {
		apart = slices.Max(r.Plain) / slices.Min(r.Plain)
	}
	return r.Observed.Program - r.Observed.Held, geometric(r.Plain), apart, true
}

// fewestPairs is how many pairs tell more than the run under tune.
const fewestPairs = 3
