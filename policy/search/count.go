package search

import (
	"context"
	"slices"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/stats"
	"gnvcc/rewrite"
)

// What a launch does: a build with counters is run once for a configuration, behind all that the
// search does, and its table read.

const (
	// longestCounted is the longest launch that is counted. Counting makes a kernel some ten times
	// slower, where all its warps add to few counters up to some hundred times; a run may take a minute.
	longestCounted = 100 * time.Millisecond
	// countingWait is how long the counting build is waited for, when all else is done. It has been
	// under way since the search began.
	countingWait = 2 * time.Second
)

// counting begins to compile the counting build; what it returns runs that. Only a replay is
// counted, whose process is our own.
func (s *search) counting() (count func()) {
	counter, ok := s.t.compiler.(policy.Counter)
	if !ok || s.t.o.InPlace || s.c.Book.Counts != nil ||
		stats.Median(s.first) > float64(longestCounted) {
		return func() {}
	}
	type build struct {
		*policy.Candidate
		counters rewrite.Counters
	}
	made := make(chan build, 1)
	ctx, cancel := context.WithCancel(s.ctx)
	go func() {
		cand, counters, err := counter.Counting(ctx, &s.k.Kernel)
		if err != nil {
			cand = nil // a kernel that can't be counted is as good as others
		}
		made <- build{cand, counters}
	}()
	return func() {
		defer cancel()
		select {
		case b := <-made:
			if b.Candidate != nil {
				s.counted(b.Candidate, b.counters)
			}
		case <-time.After(countingWait):
		case <-s.ctx.Done():
		}
	}
}

// counted runs the counting build. What goes wrong with it is nobody's loss: there are no counts.
func (s *search) counted(cand *policy.Candidate, counters rewrite.Counters) {
	c, _, err := s.s.Load(cand.Path, cand.Entry)
	if err != nil {
		return
	}
	defer func() { _ = s.s.Unload(c) }()
	if d, err := s.s.Check(c); err != nil || !d.Same { // counting must not have been noticed
		return
	}
	table, err := s.s.Read(c, rewrite.CountTable, counters.Size())
	if err != nil {
		return
	}
	blocks, sectors, err := counters.Sum(table)
	if err != nil || !slices.ContainsFunc(blocks, func(n uint64) bool { return n > 0 }) {
		return
	}
	s.c.Book.Counts = &cache.Counts{Blocks: blocks, Sectors: sectors}
	s.save()
}
