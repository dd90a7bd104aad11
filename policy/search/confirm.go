package search

import (
	"fmt"
	"slices"

	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/lever"
	"gnvcc/policy/stats"
	"gnvcc/profile"
	"gnvcc/rewrite/recipe"
)

// Step 6 of the search: what is believed. And what is looked at again on later launches.

// confirm compares the best candidates on fresh samples and names the winner, if there is one.
// Recipes that won on another configuration of the kernel are compared here too, fast or not: the
// decision needs their figures everywhere.
func (s *search) confirm() error {
	// What is missing now (a candidate of an earlier run) is waited for as long as it could still be
	// compared, or another one in its place; and that takes a moment to begin.
	s.grant()
	s.compileBy = s.end.Add(-s.comparison()*9/8 - s.moment)
	s.c.winner = nil
	s.t.progress.Trying(&s.k.Kernel, s.c.Shape, "confirming the best", 0)
	winner, err := s.pick(func(*policy.Trial) bool { return true })
	if err != nil {
		return err
	}
	s.c.winner = winner
	if winner != nil {
		s.k.Win(winner.Recipe)
	}
	return s.verifyAll()
}

// grant gives the comparisons at a search's end the time that the run can spare for them, beyond
// what is left of the budget.
func (s *search) grant() {
	if end := s.t.now().Add(s.p.Grace); s.p.Grace > 0 && end.After(s.end) {
		s.end = end
	}
}

// verifyAll makes sure of figures of all winners.
func (s *search) verifyAll() error {
	for _, r := range s.k.Winners() {
		if err := s.verify(r); err != nil {
			return err
		}
	}
	s.save()
	return nil
}

// pick returns the first of the ranked trials that is better on fresh samples, nil if there is
// none. Three that prove no better end it (each is a ticket in a lottery). One that is not compiled in time is passed
// over: another may be ready. Where its gain is smaller in another state of the L2 cache, the best
// without its hints are compared, too. A simpler trial that the race saw within 3 % is compared too
// and taken if it loses less than 1 %: few samples don't tell more. (Not of a slow kernel, once the
// budget is used up.)
func (s *search) pick(of func(*policy.Trial) bool) (*policy.Trial, error) {
	var winner *policy.Trial
	lost := 0
	for _, tr := range policy.Rank(s.c.Notebook.Trials) {
		if tr.Ratio > lever.Step {
			break
		}
		if lost == finalists {
			tr.Open = fmt.Sprintf("%d candidates that looked faster were not on fresh samples", lost)
			break
		}
		if !of(tr) {
			continue
		}
		found, err := s.compare(tr)
		if err != nil {
			return nil, err
		}
		if found == better {
			winner = tr
			break
		}
		if found == worse && tr.Refused == "" {
			lost++
		}
	}
	if winner == nil {
		return nil, nil
	}
	ranked := slices.DeleteFunc(policy.Rank(s.c.Notebook.Trials), func(tr *policy.Trial) bool {
		return !of(tr)
	})
	for _, tr := range decide.Unhinted(ranked, winner) {
		found, err := s.compare(tr)
		if err != nil {
			return nil, err
		}
		if found == better && tr.Confirmed.Careful() < winner.Confirmed.Careful() {
			winner = tr
		}
	}
	for _, tr := range decide.Simple(ranked, winner) {
		if s.over() && s.slow(longest) { // a comparison of its own is a matter of seconds
			break
		}
		found, err := s.compare(tr)
		if err != nil {
			return nil, err
		}
		if found == better && decide.Instead(tr, winner) {
			return tr, nil
		}
	}
	return winner, nil
}

// verify makes sure that a recipe has figures from fresh samples on this configuration, or a reason
// why not.
func (s *search) verify(r recipe.Recipe) error {
	tr := s.c.Trial(r.String())
	if tr == nil {
		if s.launchable(r) && !s.permitted(r) {
			return nil
		}
		tr = &policy.Trial{Recipe: r, Text: r.String()}
		s.c.Notebook.Trials = append(s.c.Notebook.Trials, tr)
	}
	if !s.launchable(r) && tr.Refused == "" && tr.Confirmed == nil {
		// These launches take the kernel itself, which is nvcc's own.
		tr.Confirmed = s.even()
		s.c.fresh[tr.Text] = true
		return nil
	}
	if tr.Refused != "" || tr.Confirmed != nil && (s.c.fresh[tr.Text] || !s.launchable(r)) {
		return nil
	}
	if tr.Same != "" {
		if other := s.c.Trial(tr.Same); other != nil {
			if err := s.verify(other.Recipe); err != nil {
				return err
			}
			follow(tr, other)
		} else if tr.Same == "-" {
			tr.Confirmed = s.even()
		}
		return nil
	}
	_, err := s.compare(tr)
	return err
}

// follow gives a trial the figures of another one with the same code.
func follow(tr, other *policy.Trial) {
	tr.Confirmed, tr.Checked, tr.Varied, tr.Counts = other.Confirmed, other.Checked, other.Varied, other.Counts
	tr.Refused, tr.Because = other.Refused, other.Because
}

// even is the figure of what is the default itself.
func (s *search) even() *policy.Compared {
	return &policy.Compared{Ratio: stats.Interval{Estimate: 1, Low: 1, High: 1, N: 1},
		Before: s.c.Before, After: s.c.Before}
}

// A finding is what a comparison says of a trial.
type finding uint8

const (
	worse finding = iota // no better, or refused
	better
	later // there was no time to compile or compare it
)

// leave says of a trial why it was left without a comparison on fresh samples, though it looked
// better. A later run goes on here.
func (s *search) leave(tr *policy.Trial, why string) finding {
	tr.Open = why
	s.c.Notebook.Done = false
	return later
}

// compare compares a trial with the default on fresh samples.
func (s *search) compare(tr *policy.Trial) (finding, error) {
	tr.Open = ""
	if !s.affords() {
		return s.leave(tr, "the budget ended before it was compared on fresh samples"), nil
	}
	arm, ok, err := s.arm(tr)
	if err != nil {
		return worse, err
	}
	if !ok {
		if tr.Refused != "" || tr.Same != "" || !s.launchable(tr.Recipe) {
			return worse, nil
		}
		return s.leave(tr, "its final compile did not finish within the budget"), nil
	}
	c, err := s.on.Fresh(arm)
	if err != nil {
		return worse, s.failed(tr, err)
	}
	earlier := 0.0 // what an earlier launch of this run allows to claim
	var parts []policy.Part
	if tr.Confirmed != nil && s.c.fresh[tr.Text] {
		if parts = tr.Confirmed.Parts; s.l.Part == 0 {
			earlier = tr.Confirmed.Careful()
		}
	}
	tr.Confirmed = policy.Compare(c, s.on.Rule.Confidence)
	tr.Confirmed.Later = earlier
	s.looked(tr)
	defer func() {
		f := tr.Confirmed
		f.Parts = parts
		s.stands(f, c, max(f.Ratio.Estimate, f.Bound, f.Other))
	}()
	s.c.fresh[tr.Text] = true
	if !tr.Confirmed.Better(s.on.Rule) {
		return worse, nil
	}
	if ok, err := s.careful(tr, arm); !ok || err != nil {
		return worse, err
	}
	return better, nil
}

// careful compares in the other state of the L2 cache as well, as long as there is time.
func (s *search) careful(tr *policy.Trial, arm profile.Candidate) (bool, error) {
	if !s.affords() {
		return true, nil
	}
	ok, err := s.on.Careful(arm, tr.Confirmed)
	if err != nil {
		return false, s.failed(tr, err)
	}
	return ok, nil
}

// stands enters what a comparison on this launch gave, and what can be claimed of it.
func (s *search) stands(f *policy.Compared, c stats.Comparison, ratio float64) {
	if s.l.Capture != "" {
		f.Stands(policy.Part{Of: s.l.Capture, Share: s.l.Part, Ratio: ratio, Estimate: c.Ratio.Estimate,
			Base: stats.Median(c.Base), Took: s.l.Took})
	}
}

// anew compares what won on another captured launch of its configuration: its data, and so what is
// gained, may differ. The smaller gain is claimed; what is slower is refused, save on launches that have
// next to nothing of the time.
func (s *search) anew(tr *policy.Trial, arm profile.Candidate) error {
	if tr.Confirmed == nil || !s.c.fresh[tr.Text] || !s.affords() ||
		s.on.Rule.Harmful(tr.Confirmed.Ratio) {
		return nil
	}
	c, err := s.on.Fresh(arm)
	if err != nil {
		return s.failed(tr, err)
	}
	thin := s.c.Thin(stats.Median(c.Base))
	if s.on.Rule.Harmful(c.Ratio) && !thin {
		tr.Refused = fmt.Sprintf("%.1f %% slower on %s", 100*(c.Ratio.Estimate-1), s.c.Shape)
		return nil
	}
	s.looked(tr)
	s.stands(tr.Confirmed, c, max(c.Bound(), c.Ratio.Estimate))
	if s.l.Part == 0 && !thin {
		tr.Confirmed.Later = max(tr.Confirmed.Later, c.Bound())
	}
	return nil
}

// looked notes that a trial was compared on this capture.
func (s *search) looked(tr *policy.Trial) {
	if s.l.Capture == "" {
		return
	}
	if s.c.looked == nil {
		s.c.looked = map[string][]string{}
	}
	s.c.looked[tr.Text] = append(s.c.looked[tr.Text], s.l.Capture)
}

// revisit looks at a configuration again, at a later launch of it with other data: every recipe
// that won is checked again, and measured where that was not done yet. A winner that fails makes
// room for the next best.
func (s *search) revisit() error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.unload()
	failed := false
	for _, r := range s.k.Winners() {
		tr := s.c.Trial(r.String())
		if tr == nil || tr.Refused != "" || tr.Same != "" {
			continue
		}
		arm, ok, err := s.arm(tr)
		if err == nil && ok {
			err = s.anew(tr, arm)
		}
		if err != nil {
			return err
		}
		if tr.Refused != "" {
			tr.Refused = fmt.Sprintf("%s (at launch %d of this configuration)", tr.Refused, s.l.Count)
			failed = true
		}
	}
	s.c.checks++
	settle := s.verifyAll
	if failed {
		settle = s.confirm
	}
	if err := settle(); err != nil {
		return err
	}
	return s.confine()
}
