package search

import "gnvcc/policy"

// The end of a search: what the best still lacks to be adopted may take longer than the budget has.

// grant gives the comparisons at a search's end the time that the run can spare for them, beyond
// what is left of the budget.
func (s *search) grant() {
	if end := s.t.now().Add(s.p.Grace); s.p.Grace > 0 && end.After(s.end) {
		s.end = end
	}
}

// leave says of a trial why it was left without a comparison on fresh samples, though it looked
// better. A later run goes on here.
func (s *search) leave(tr *policy.Trial, why string) finding {
	tr.Open = why
	s.c.Notebook.Done = false
	return later
}
