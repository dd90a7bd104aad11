package search

import (
	"errors"
	"time"

	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/rewrite"
)

// Some source variants could have other bits for all that is known before they are compiled. To
// prove that one has not takes longer than to measure it, so only what would be adopted, or built
// upon, is proved. A draft has to be compiled from the whole text before it is adopted. Both run in
// the pool, beside the measuring.

// prove proves a trial that is doubted; true: nothing is left to be proved. A trial that is not
// proved is refused; where time ran out it is neither.
func (s *search) prove(tr *policy.Trial) bool { return s.proveUntil(tr, s.compileBy) }

// proofPatience is how long a search waits for a proof while it could go on with something else.
// Most take a second or two, some that fail half a minute. A variable for tests.
var proofPatience = 2 * time.Second

// patient tells until when best waits for a trial's proof: the first time that it comes to one, all
// that it could come to are begun.
func (s *search) patient(tr *policy.Trial) time.Time {
	if !tr.Doubted {
		return time.Time{}
	}
	if s.waited[tr.Text].IsZero() {
		s.othersToo()
		s.waited[tr.Text] = s.t.now()
		s.presume(tr)
	}
	return s.waited[tr.Text].Add(proofPatience)
}

// caughtUp waits for the proofs that best did not wait for; true: one of them is there now, and
// more is to be tried around it. It is false from the second time on.
func (s *search) caughtUp() bool {
	late := s.passed
	s.passed = nil
	if late == nil || s.late || s.over() {
		return false
	}
	s.late = true
	for _, tr := range policy.Rank(s.c.Notebook.Trials) {
		if tr.Ratio > late.Ratio || s.over() {
			return false
		}
		if doubted := tr.Doubted; s.prove(tr) {
			return doubted
		}
	}
	return false
}

// proveUntil proves a trial if that takes no longer than until some time.
func (s *search) proveUntil(tr *policy.Trial, until time.Time) bool {
	if !tr.Doubted || tr.Refused != "" {
		return tr.Refused == ""
	}
	defer s.meter.in(proving)()
	j := s.t.pool.want(&s.k.Kernel, tr.Recipe, proofOf(tr), 0)
	if until.After(s.compileBy) {
		until = s.compileBy
	}
	s.waitUntil(j, until)
	_, err := j.result()
	switch {
	case errors.Is(err, errBudget) || s.ctx.Err() != nil:
		return false
	case errors.Is(err, errUnproved):
		tr.Refused = err.Error()
		s.othersToo()
		return false
	case err != nil:
		tr.Refused = "it does not compile: " + policy.FirstLine(err)
		return false
	}
	tr.Doubted, tr.Proved, s.proved[tr.Text] = false, true, true
	return true
}

// othersToo asks for the proofs of all that gain, as far as there are workers: where one variant
// can't be proved, most others can't either, and a walk down the ranks would wait a second or more
// for each. They come behind candidates, until they are waited for.
func (s *search) othersToo() {
	most := max(2, s.t.pool.n*3/4)
	for _, tr := range policy.Rank(s.c.Notebook.Trials) {
		if most == 0 || tr.Ratio > lever.Step {
			return
		}
		if tr.Doubted && tr.Refused == "" {
			s.unasked = append(s.unasked, s.t.pool.want(&s.k.Kernel, tr.Recipe, proofOf(tr), 3))
			most--
		}
	}
}

// presumed is around how many trials a search has compiled before they are proved.
const presumed = 3

// presume lets what will be tried around a trial be compiled while its proof is waited for, behind
// all proofs: most are proved. Around those that are not, it was in vain.
func (s *search) presume(tr *policy.Trial) {
	if len(s.waited) > presumed || !tr.Doubted || tr.Refused != "" {
		return
	}
	stage := rewrite.Source
	if s.together {
		stage = rewrite.PTX
	}
	next := s.around(tr, stage)
	if s.together {
		next = append(s.additions(tr, 0), next...)
	}
	for _, r := range next {
		if s.c.Trial(r.String()) == nil && !r.IsDefault() && s.permitted(r) {
			s.unasked = append(s.unasked, s.want(r, 4))
		}
	}
}

func proofOf(tr *policy.Trial) kind {
	if tr.Draft {
		return provedDraft
	}
	return proved
}

// ahead asks for what it takes to adopt the best so far. At the end of the budget there is no time
// left for it, and what is measured and can't be adopted is worth nothing.
func (s *search) ahead() {
	const best = 2 // each may cost a few runs of cicc
	for i, tr := range policy.Rank(s.c.Notebook.Trials) {
		if i == best || tr.Ratio > lever.Step {
			return
		}
		if tr.Draft {
			s.t.pool.want(&s.k.Kernel, tr.Recipe, whole, 1)
		}
		if tr.Doubted {
			s.t.pool.want(&s.k.Kernel, tr.Recipe, proofOf(tr), 1)
		}
	}
}
