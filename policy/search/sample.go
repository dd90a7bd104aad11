package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/policy/stats"
	"gnvcc/profile"
	"gnvcc/rewrite/bypass"
)

// Which thresholds of bypass=K to try first: one launch or a few tell, of a build that has another
// threshold on each multiprocessor, and after some time the next one (rewrite.Sample). It is an
// order and nothing else: no value is left out for it, and what won is measured as ever. Where
// nothing can be sampled, today's order stands.

const (
	// sampledOn is how many multiprocessors must have had a threshold.
	sampledOn = 8
	// A window has so many lifetimes of a block: half of them are for the blocks before it to end.
	lifetimes = 3
	// fewestWaves is how many blocks one after the other a launch must have: a multiprocessor has
	// thresholds one after the other.
	fewestWaves = 4
	// rounds is how often each multiprocessor should have had each threshold.
	rounds = 2
)

// sampling begins to compile the sampling build; what it returns runs it, and gives the thresholds,
// the most promising first; nil where nobody knows. An error means that the process is lost. Only a
// replay is sampled, whose process is our own; and only where an order or a threshold more can make
// a difference.
func (s *search) sampling(order bool) (vote func() ([]int, error)) {
	none := func() ([]int, error) { return nil, nil }
	sampler, ok := s.t.compiler.(policy.Sampler)
	warps := (s.c.Shape.Threads() + 31) / 32
	list := lever.Thresholds(warps)
	if !ok || s.k.Loads == 0 || len(list) < 2 ||
		!s.permitted(lever.Term("bypass", "1")) || !order && !lever.Pruned(warps) {
		return none
	}
	if s.c.Notebook.Sampled != nil {
		return func() ([]int, error) { return voted(s.c.Notebook.Sampled), nil }
	}
	if stats.Median(s.first) > float64(longestCounted) {
		return none
	}
	window, launches := s.window(len(list))
	if launches == 0 {
		return none
	}
	type build struct {
		*policy.Candidate
		bypass.Sampling
	}
	made := make(chan build, 1)
	ctx, cancel := context.WithCancel(s.ctx)
	go func() {
		cand, o, err := sampler.Sampling(ctx, &s.k.Kernel, list, window)
		if err != nil {
			cand = nil // today's order is as good as ever
		}
		made <- build{cand, o}
	}()
	return func() ([]int, error) {
		defer s.meter.in(counting)()
		defer cancel()
		select {
		case b := <-made:
			if b.Candidate != nil {
				err := s.sample(b.Candidate, b.Sampling, launches)
				return voted(s.c.Notebook.Sampled), err
			}
		case <-time.After(countingWait):
		case <-s.ctx.Done():
		}
		return nil, nil
	}
}

// window is for how long a multiprocessor has a threshold, as a power of two of cycles, and how
// many launches it takes until each has had each; 0: as many as it takes to measure them all, or
// the launch has too few blocks.
func (s *search) window(thresholds int) (power, launches int) {
	o := s.sit.Device.Occupancy(s.k.Default.Registers, s.c.Shape.Sim(s.k.Default))
	waves := float64(s.c.Shape.Blocks()) / float64(max(1, o.Blocks*s.sit.Device.SMs))
	if waves < fewestWaves || o.Blocks == 0 {
		return 0, 0
	}
	clock := 2e6 // kHz, where nobody knows
	if s.l.Device.ClockKHz > 0 {
		clock = float64(s.l.Device.ClockKHz)
	}
	cycles := stats.Median(s.first) * clock / 1e6
	power = int(math.Ceil(math.Log2(lifetimes * cycles / waves)))
	launches = int(math.Ceil(rounds * float64(thresholds) * math.Exp2(float64(power)) / cycles))
	if power < 1 || power > 40 || launches > thresholds {
		return 0, 0
	}
	return power, launches
}

// sample runs the sampling build: once so that its bits are compared, and then as launches are that
// are timed. Before, the notebook says that it did not come back: whatever happens, a later search
// does not try again. An error means that the process is lost.
func (s *search) sample(cand *policy.Candidate, o bypass.Sampling, launches int) error {
	out := &cache.Sampled{Why: "the launch that was to tell did not come back"}
	s.c.Notebook.Sampled = out
	s.save()
	defer s.save()
	c, _, err := s.s.Load(cand.Path, cand.Entry)
	if err == nil {
		defer func() { _ = s.s.Unload(c) }()
		err = s.sampled(c, o, launches, out)
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
func (s *search) sampled(c profile.Candidate, o bypass.Sampling, launches int,
	out *cache.Sampled) error {
	d, err := s.s.Check(c)
	if err != nil {
		return err
	}
	if !d.Same {
		return fmt.Errorf("the build was noticed: %s", d)
	}
	before, err := s.s.Read(c, bypass.Table, o.Size())
	if err != nil {
		return err
	}
	if _, err := s.measure(c, launches); err != nil {
		return err
	}
	table, err := s.s.Read(c, bypass.Table, o.Size())
	if err != nil {
		return err
	}
	parts, err := o.Read(table, before)
	if err != nil {
		return err
	}
	out.Launches = launches
	if out.Thresholds, out.Cycles = separate(o.Thresholds, parts); out.Cycles == nil {
		return errors.New("not every threshold had its multiprocessors")
	}
	return nil
}

// separate tells what a threshold takes from what a multiprocessor takes: log cycles are the sum of
// both, by least squares; each is a mean of what the other leaves, in turn. It gives the cycles of
// each threshold on the mean multiprocessor; nil where one had too few.
func separate(thresholds []int, parts []bypass.Sampled) ([]int, []float64) {
	ofK, ofSM, on := map[int]float64{}, map[int]float64{}, map[int]int{}
	for _, p := range parts {
		on[p.Threshold]++
	}
	mean := func(to map[int]float64, key func(bypass.Sampled) int,
		rest func(bypass.Sampled) float64) {
		sum, lanes := map[int]float64{}, map[int]float64{}
		for _, p := range parts {
			k, w := key(p), float64(p.Lanes)
			sum[k] += w * (math.Log(max(p.Cycles, 1)) - rest(p))
			lanes[k] += w
		}
		for k := range sum {
			to[k] = sum[k] / lanes[k]
		}
	}
	k := func(p bypass.Sampled) int { return p.Threshold }
	sm := func(p bypass.Sampled) int { return p.Multiprocessor }
	for range 30 {
		mean(ofSM, sm, func(p bypass.Sampled) float64 { return ofK[k(p)] })
		mean(ofK, k, func(p bypass.Sampled) float64 { return ofSM[sm(p)] })
	}
	all := 0.0
	for _, x := range ofSM {
		all += x / float64(len(ofSM))
	}
	var out []float64
	for _, k := range thresholds {
		if on[k] < sampledOn {
			return nil, nil
		}
		out = append(out, math.Exp(all+ofK[k]))
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
