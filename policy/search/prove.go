package search

import (
	"errors"

	"gnvcc/policy"
)

// Some source variants could have other bits for all that is known before they are compiled. To
// prove that one has not takes longer than to measure it, so only what would be adopted, or built
// upon, is proved.

// prove proves a trial that is doubted; true: nothing is left to be proved. A trial that is not
// proved is refused; where time ran out it is neither.
func (s *search) prove(tr *policy.Trial) bool {
	if !tr.Doubted || tr.Refused != "" {
		return tr.Refused == ""
	}
	cand, err := s.again(tr)
	if err != nil {
		if !errors.Is(err, errBudget) && s.ctx.Err() == nil {
			tr.Refused = "it does not compile: " + policy.FirstLine(err)
		}
		return false
	}
	if cand.Prove != nil {
		err = cand.Prove(s.ctx)
	}
	if s.ctx.Err() != nil {
		return false
	}
	if err != nil {
		tr.Refused = "its bits are not proved to be the same: " + policy.FirstLine(err)
		return false
	}
	tr.Doubted, tr.Proved, s.proved[tr.Text] = false, true, true
	return true
}
