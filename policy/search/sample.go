package search

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/policy/stats"
	"gnvcc/profile"
	"gnvcc/rewrite"
)

// Which thresholds of bypass=K to try first: one launch tells, of a build that has another
// threshold on each multiprocessor (rewrite.Sample). It is an order and nothing else: no value is
// left out for it, and what won is measured as ever. Where nothing can be sampled, today's order
// stands.

// sampledOn is how many multiprocessors a threshold needs.
const sampledOn = 2

// sampling begins to compile the sampling build; what it returns runs it, and gives the thresholds,
// the most promising first; nil where nobody knows. An error means that the process is lost. Only a
// replay is sampled, whose process is our own; and only where an order or a threshold more can make
// a difference.
func (s *search) sampling(order bool) (vote func() ([]int, error)) {
	none := func() ([]int, error) { return nil, nil }
	sampler, ok := s.t.compiler.(policy.Sampler)
	warps := (s.c.Shape.Threads() + 31) / 32
	list := lever.Thresholds(warps)
	sms := min(s.sit.Device.SMs, s.c.Shape.Blocks())
	if !ok || s.t.o.InPlace || s.k.Loads == 0 || len(list) < 2 || sms < sampledOn*len(list) ||
		!s.permitted(lever.Term("bypass", "1")) || !order && !lever.Pruned(warps) {
		return none
	}
	if s.c.Book.Sampled != nil {
		return func() ([]int, error) { return voted(s.c.Book.Sampled), nil }
	}
	if stats.Median(s.first) > float64(longestCounted) {
		return none
	}
	type build struct {
		*policy.Candidate
		rewrite.Sampling
	}
	made := make(chan build, 1)
	ctx, cancel := context.WithCancel(s.ctx)
	go func() {
		cand, o, err := sampler.Sampling(ctx, &s.k.Kernel, list)
		if err != nil {
			cand = nil // today's order is as good as ever
		}
		made <- build{cand, o}
	}()
	return func() ([]int, error) {
		defer cancel()
		select {
		case b := <-made:
			if b.Candidate != nil {
				err := s.sample(b.Candidate, b.Sampling)
				return voted(s.c.Book.Sampled), err
			}
		case <-time.After(countingWait):
		case <-s.ctx.Done():
		}
		return nil, nil
	}
}

// sample runs the sampling build: once so that its bits are compared, and once as launches are that
// are timed. Before, the notebook says that it did not come back: whatever happens, a later search
// does not try again. An error means that the process is lost.
func (s *search) sample(cand *policy.Candidate, o rewrite.Sampling) error {
	out := &cache.Sampled{Why: "the launch that was to tell did not come back"}
	s.c.Book.Sampled = out
	s.save()
	defer s.save()
	c, _, err := s.s.Load(cand.Path, cand.Entry)
	if err == nil {
		defer func() { _ = s.s.Unload(c) }()
		err = s.sampled(c, o, out)
	}
	if err != nil {
		out.Why = policy.FirstLine(err)
	} else {
		out.Why = ""
	}
	if dead(err) {
		return err
	}
	return nil
}

// sampled enters what a sampling build has to say; the error is why it says nothing.
func (s *search) sampled(c profile.Candidate, o rewrite.Sampling, out *cache.Sampled) error {
	d, err := s.s.Check(c)
	if err != nil {
		return err
	}
	if !d.Same {
		return fmt.Errorf("the build was noticed: %s", d)
	}
	launches := 1
	if s.t.o.Exhaustive {
		launches = 3
	}
	before, err := s.s.Read(c, rewrite.SampleTable, rewrite.SampleSize)
	if err != nil {
		return err
	}
	for n := 0; n < launches; n++ {
		if _, err := s.measure(c, 1); err != nil {
			return err
		}
		table, err := s.s.Read(c, rewrite.SampleTable, rewrite.SampleSize)
		if err != nil {
			return err
		}
		parts, err := o.Read(table, before)
		if err != nil {
			return err
		}
		before = table
		if n == 0 {
			if out.Thresholds, out.Cycles = means(o.Thresholds, parts); out.Cycles == nil {
				return errors.New("not every threshold had its multiprocessors")
			}
		}
		if s.t.o.Exhaustive {
			var launch []cache.SampledPart
			for _, p := range parts {
				launch = append(launch, cache.SampledPart(p))
			}
			out.Launches = append(out.Launches, launch)
		}
	}
	return nil
}

// means are the cycles of each threshold; nil where one had too few multiprocessors.
func means(thresholds []int, parts []rewrite.Sampled) ([]int, []float64) {
	var out []float64
	for _, k := range thresholds {
		sum, lanes, n := 0.0, 0.0, 0
		for _, p := range parts {
			if p.Threshold == k {
				sum, lanes, n = sum+p.Cycles*float64(p.Lanes), lanes+float64(p.Lanes), n+1
			}
		}
		if n < sampledOn {
			return nil, nil
		}
		out = append(out, sum/lanes)
	}
	return thresholds, out
}

// voted are thresholds by their cycles, the fewest first.
func voted(x *cache.Sampled) []int {
	if x == nil || x.Why != "" || len(x.Cycles) != len(x.Thresholds) {
		return nil
	}
	places := make([]int, len(x.Cycles))
	for i := range places {
		places[i] = i
	}
	sort.SliceStable(places, func(a, b int) bool { return x.Cycles[places[a]] < x.Cycles[places[b]] })
	var out []int
	for _, n := range places {
		out = append(out, x.Thresholds[n])
	}
	return out
}
