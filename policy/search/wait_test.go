package search

import (
	"slices"
	"testing"
	"time"
)

// TestTakenMeanwhile: what is compiled is taken while others still compile, in the order of the
// list.
func TestTakenMeanwhile(t *testing.T) {
	jobs := make([]*job, 4)
	for i := range jobs {
		jobs[i] = &job{done: make(chan struct{})}
	}
	close(jobs[0].done)
	close(jobs[1].done)
	close(jobs[3].done)
	s := &search{t: &Run{now: time.Now}, ctx: t.Context(),
		compileBy: time.Now().Add(time.Minute)}
	var taken []int
	if err := s.gather(jobs, func() error {
		if taken = append(taken, len(taken)); len(taken) == 2 {
			if jobs[2].finished() {
				t.Error("the third is compiled")
			}
			close(jobs[2].done)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if !slices.Equal(taken, []int{0, 1}) {
		t.Errorf("taken: %v", taken)
	}
	open := []*job{{done: jobs[0].done}, {done: make(chan struct{})}}
	if err := s.gather(open, func() error { return errBudget }); err != errBudget {
		t.Errorf("an error ends it: %v", err)
	}
}
