package search

import (
	"errors"
	"slices"
	"time"

	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// How long a search waits for compiles.

// want asks the pool for a candidate.
func (s *search) want(r recipe.Recipe, rank int) *job {
	return s.t.pool.want(&s.k.Kernel, r, rank)
}

func (s *search) compile(r recipe.Recipe, rank int) (*policy.Candidate, error) {
	return s.wait(s.want(r, rank))
}

var errBudget = errors.New("the budget ran out before it was compiled")

// wait waits for a compile, until the budget ends.
func (s *search) wait(j *job) (*policy.Candidate, error) {
	s.waitUntil(j, s.compileBy)
	if s.ctx.Err() != nil && !j.finished() {
		return nil, s.ctx.Err()
	}
	return j.result()
}

// waitUntil waits for a compile until a time, or the run's end.
func (s *search) waitUntil(j *job, end time.Time) {
	left := end.Sub(s.t.now())
	if j.finished() || left <= 0 { // what is done counts, budget or not
		return
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-j.done:
	case <-timer.C:
	case <-s.ctx.Done():
	}
}

// gather waits for a stage's compiles, but not for stragglers: a factor that makes a body fifty
// times as long can take cicc longer than all others together, and the search would end there. When
// three quarters are done the rest has as long again, two seconds at least. Three and fewer have
// twice what three quarters of a stage with source variants took before. What comes later is tried
// at a later launch.
//
// Meanwhile those that are compiled are taken, one by one, in the order of the list: checking them
// needs the GPU, and no other one needs that now.
func (s *search) gather(jobs []*job, take func() error) error {
	const least = 2 * time.Second
	begun := s.t.now()
	var end time.Time
	dear := slices.ContainsFunc(jobs, func(j *job) bool {
		return lever.HasStage(j.recipe, rewrite.Source)
	})
	few := len(jobs) <= 3
	if few && dear && s.usual > 0 {
		end = begun.Add(max(least, 2*s.usual))
	}
	known, taken := false, 0
	for s.ctx.Err() == nil {
		var open *job
		done := 0
		for _, j := range jobs {
			if j.finished() {
				done++
			} else if open == nil {
				open = j
			}
		}
		now := s.t.now()
		took := now.Sub(begun)
		if !known && !few && 4*done >= 3*len(jobs) {
			known = true
			end = begun.Add(max(least, 2*took))
			if dear {
				s.usual = max(s.usual, took)
			}
		}
		if open == nil || !now.Before(s.compileBy) || !end.IsZero() && !now.Before(end) {
			return nil
		}
		if jobs[taken].finished() { // one is open, so that there is a next one
			taken++
			if err := take(); err != nil {
				return err
			}
			continue
		}
		s.waitUntil(open, now.Add(min(20*time.Millisecond, s.compileBy.Sub(now))))
	}
	return nil
}
