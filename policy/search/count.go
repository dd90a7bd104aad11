package search

import (
	"slices"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/check"
	"gnvcc/rewrite"
	"gnvcc/rewrite/counters"
	"gnvcc/rewrite/recipe"
)

// What a launch does: builds with counters, nvcc's own and those of winners, are run once for a
// configuration, behind all that the search does, and their tables read.

const (
	// longestCounted is the longest launch that is counted. Counting makes a kernel some ten times
	// slower, where all its warps add to few counters up to some hundred times; a run may take a
	// minute. What is not counted gets no checked recipe where data decides what runs: launches of
	// 90 and 112 ms (HeCBench's contract) are to be counted.
	longestCounted = 250 * time.Millisecond
	// countingWait is how long a counting build is waited for, when all else is done. That of nvcc's
	// own code has been under way since the search began.
	countingWait = 2 * time.Second
)

// A countingBuild is one in the making.
type countingBuild struct {
	done chan struct{}
	*policy.Candidate
	counted counters.Counters
	ended   bool // with the visit that asked for it
}

// counting begins to compile a counting build, once in a run.
func (s *search) counting(r recipe.Recipe) *countingBuild {
	key := s.k.Identity + " " + r.String()
	if b := s.t.counting[key]; b != nil {
		select {
		case <-b.done:
			if !b.ended {
				return b
			}
		default:
			return b
		}
	}
	b := &countingBuild{done: make(chan struct{})}
	s.t.counting[key] = b
	go func() {
		defer close(b.done)
		cand, counted, err := s.t.compiler.Counting(s.ctx, &s.k.Kernel, r)
		if err == nil { // a kernel that can't be counted is as good as others
			b.Candidate, b.counted = cand, counted
		}
		b.ended = err != nil && s.ctx.Err() != nil
	}()
	return b
}

// count runs a counting build, and adds what it finds to what other launches with the same
// arguments did. What goes wrong with it costs nothing: there are no more counts.
func (s *search) count(r recipe.Recipe, have *cache.Counts, patience time.Duration) *cache.Counts {
	if s.c.Before.Median > float64(longestCounted) {
		return have
	}
	b := s.counting(r)
	select {
	case <-b.done:
	case <-time.After(patience):
		return have
	case <-s.ctx.Done():
		return have
	}
	if b.Candidate == nil {
		return have
	}
	c, _, err := s.s.LoadAs(b.Path, b.Entry, b.Manner)
	if err != nil {
		return have
	}
	defer func() { _ = s.s.Unload(c) }()
	if d, err := s.s.Check(c); err != nil || !d.Same { // counting must not have been noticed
		return have
	}
	table, err := s.s.Read(c, counters.Table, b.counted.Size())
	if err != nil {
		return have
	}
	ran, err := b.counted.Sum(table)
	if err != nil || !slices.ContainsFunc(ran, func(n uint64) bool { return n > 0 }) {
		return have
	}
	if have != nil && have.Rule == check.Rule && len(have.Blocks) == len(ran) {
		for n := range ran {
			ran[n] += have.Blocks[n]
		}
	}
	return check.Counted(b.counted, ran)
}

// countOwn counts nvcc's own code.
func (s *search) countOwn(patience time.Duration) {
	if have := s.c.Notebook.Counts; have == nil || have.Rule != check.Rule {
		s.c.Notebook.Counts = s.count(recipe.Recipe{}, have, patience)
		s.save()
	}
}

// countVaried counts once more where something was not seen to run, on varied data, which may have it
// run: nvcc's own code, and that of the winners that stood. Later draws would find no more.
func (s *search) countVaried(variation int, stood []*policy.Trial) {
	if len(stood) == 0 || variation > check.Kinds {
		return
	}
	s.countOwn(confineWait)
	if have := s.c.Notebook.Counts; have != nil && check.CoverageOf([]*cache.Counts{have}, []*cache.Counts{have}).Unchecked() != "" {
		s.c.Notebook.Counts = s.count(recipe.Recipe{}, have, confineWait)
	}
	for _, tr := range stood {
		s.countWinner(tr)
	}
}

// countWinner counts the code of a recipe that won, again where some of it was not seen to run.
func (s *search) countWinner(tr *policy.Trial) {
	if other := s.c.Trial(tr.Same); other != nil && other != tr {
		s.countWinner(other)
		tr.Counts = other.Counts
		return
	}
	if tr.Refused != "" || tr.Same != "" || rewrite.ExactnessOf(tr.Recipe) != rewrite.Checked || !s.launchable(tr.Recipe) {
		return
	}
	if have := tr.Counts; check.CoverageOf([]*cache.Counts{have}, []*cache.Counts{have}).Unchecked() != "" {
		tr.Counts = s.count(tr.Recipe, have, confineWait)
	}
}
