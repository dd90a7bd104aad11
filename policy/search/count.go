package search

import (
	"context"
	"slices"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/check"
	"gnvcc/policy/stats"
	"gnvcc/rewrite/counters"
)

// What a launch does: a build with counters is run once for a configuration, behind all that the
// search does, and its table read.

const (
	// longestCounted is the longest launch that is counted. Counting makes a kernel some ten times
	// slower, where all its warps add to few counters up to some hundred times; a run may take a
	// minute.
	longestCounted = 100 * time.Millisecond
	// countingWait is how long the counting build is waited for, when all else is done. It has been
	// under way since the search began.
	countingWait = 2 * time.Second
)

// counting begins to compile the counting build; what it returns runs that.
func (s *search) counting() (count func()) {
	if s.c.Notebook.Counts != nil ||
		stats.Median(s.first) > float64(longestCounted) {
		return func() {}
	}
	type build struct {
		*policy.Candidate
		counted counters.Counters
	}
	made := make(chan build, 1)
	caches := s.caches()
	ctx, cancel := context.WithCancel(s.ctx)
	go func() {
		cand, counted, err := s.t.compiler.Counting(ctx, &s.k.Kernel, caches)
		if err != nil {
			cand = nil // a kernel that can't be counted is as good as others
		}
		made <- build{cand, counted}
	}()
	return func() {
		defer s.meter.in(counting)()
		defer cancel()
		patience := countingWait
		if s.p.Look != nil { // other searches wait
			patience = 0
		}
		select {
		case b := <-made:
			if b.Candidate != nil {
				s.counted(b.Candidate, b.counted)
			}
		case <-time.After(patience):
		case <-s.ctx.Done():
		}
	}
}

// caches are the sizes of those that the launch finds: shared memory leaves the rest to L1.
func (s *search) caches() counters.Caches {
	const least = 16 << 10
	d := s.sit.Device
	o := d.Occupancy(s.k.Default.Registers, s.c.Shape.Sim(s.k.Default))
	shared := (s.k.Default.Shared + s.c.Shape.Dynamic) * o.Blocks
	return counters.Caches{L1: max(least, d.Shared-shared), L2: max(least, s.l.Device.L2)}
}

// counted runs the counting build: twice where L2 is to hold what a run before has left there, as
// in the launches that are timed. What goes wrong with it is nobody's loss: there are no counts.
func (s *search) counted(cand *policy.Candidate, counted counters.Counters) {
	c, _, err := s.s.Load(cand.Path, cand.Entry)
	if err != nil {
		return
	}
	defer func() { _ = s.s.Unload(c) }()
	run := func() (blocks, turns []uint64, sectors []counters.Sectors, work counters.Work, ok bool) {
		d, err := s.s.Check(c)
		if err != nil || !d.Same { // counting must not have been noticed
			return nil, nil, nil, work, false
		}
		table, err := s.s.Read(c, counters.Table, counted.Size())
		if err != nil {
			return nil, nil, nil, work, false
		}
		blocks, sectors, turns, err = counted.Sum(table)
		return blocks, turns, sectors, counted.Work(table), err == nil
	}
	blocks, turns, sectors, work, ok := run()
	if !ok || !slices.ContainsFunc(blocks, func(n uint64) bool { return n > 0 }) {
		return
	}
	out := &cache.Counts{Blocks: blocks, Floating: check.Floating(counted), Cold: s.l.Cold, Work: work.All, Longest: work.Longest,
		Busiest: work.Busiest, Turns: turns}
	first := sectors
	if !s.l.Cold {
		if _, _, sectors, _, ok = run(); !ok { // counters go on from the first run's
			return
		}
	}
	for n, x := range sectors {
		if !s.l.Cold {
			x.All, x.L2 = x.All-first[n].All, x.L2-first[n].L2
			x.Memory, x.Lines = x.Memory-first[n].Memory, x.Lines-first[n].Lines
			x.Written -= first[n].Written
		}
		out.Sectors, out.L2, out.Memory = append(out.Sectors, x.All), append(out.L2, x.L2),
			append(out.Memory, x.Memory)
		out.Lines, out.Written = append(out.Lines, x.Lines), append(out.Written, x.Written)
	}
	s.c.Notebook.Counts = out
	s.save()
}
