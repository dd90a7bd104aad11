package search

import (
	"time"

	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// What did not run was not checked (package check): a winner of which some code ran in no checked
// launch, or whose arguments decide where something lies, gets a second entry for launches like this
// one alone.

// confineWait is how long such an entry is waited for beyond the budget, which has nothing else
// left: mostly one run of ptxas, of cicc as well where the winner is for the kernel itself.
const confineWait = 5 * time.Second

func (s *search) unchecked(r recipe.Recipe) bool { return s.k.Unchecked(r) != "" }

// confine makes these entries. One with the code of the recipe that won has its figures, another one
// is checked and compared as ever.
func (s *search) confine() error {
	for _, r := range s.k.Winners() {
		tr := s.c.Trial(r.String())
		if tr == nil || tr.Refused != "" || tr.Confirmed == nil || !tr.Confirmed.Better(s.on.Rule) ||
			rewrite.ExactnessOf(r) != rewrite.Checked {
			continue
		}
		s.countOwn(confineWait)
		if s.countWinner(tr); !s.unchecked(r) {
			continue
		}
		coverage, _ := s.k.Coverage(r)
		confined, err := s.k.Confined(r, s.l, coverage)
		if err != nil || !s.permitted(confined) {
			continue // the decision says why
		}
		if by := s.t.now().Add(confineWait); by.After(s.compileBy) {
			s.compileBy = by
		}
		if end := s.compileBy.Add(s.comparison() + s.moment); end.After(s.end) {
			s.end = end
		}
		s.k.Win(confined)
		if s.c.Trial(confined.String()) == nil {
			tr := &policy.Trial{Recipe: confined, Text: confined.String()}
			s.c.Notebook.Trials = append(s.c.Notebook.Trials, tr)
			if _, _, err := s.arm(tr); err != nil {
				return err
			}
		}
		if err := s.verify(confined); err != nil {
			return err
		}
	}
	s.save()
	return nil
}
