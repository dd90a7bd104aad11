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
	ctx, cancel := context.WithCancel(s.ctx)
	go func() {
		cand, counted, err := s.t.compiler.Counting(ctx, &s.k.Kernel)
		if err != nil {
			cand = nil // a kernel that can't be counted is as good as others
		}
		made <- build{cand, counted}
	}()
	return func() {
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

// counted runs the counting build. What goes wrong with it is nobody's loss: there are no counts.
func (s *search) counted(cand *policy.Candidate, counted counters.Counters) {
	c, _, err := s.s.Load(cand.Path, cand.Entry)
	if err != nil {
		return
	}
	defer func() { _ = s.s.Unload(c) }()
	if d, err := s.s.Check(c); err != nil || !d.Same { // counting must not have been noticed
		return
	}
	table, err := s.s.Read(c, counters.Table, counted.Size())
	if err != nil {
		return
	}
	blocks, err := counted.Sum(table)
	if err != nil || !slices.ContainsFunc(blocks, func(n uint64) bool { return n > 0 }) {
		return
	}
	s.c.Notebook.Counts = &cache.Counts{Blocks: blocks, Floating: check.Floating(counted)}
	s.save()
}
