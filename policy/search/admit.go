package search

import (
	"errors"
	"fmt"
	"slices"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/lever"
	"gnvcc/policy/stats"
	"gnvcc/profile"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// From recipe to a figure: compile, admit, race.

// try compiles, admits and races recipes; those that were tried before are passed over.
func (s *search) try(doing string, recipes []recipe.Recipe) error {
	var todo []*policy.Trial
	seen := map[string]bool{}
	for _, r := range recipes {
		text := r.String()
		if r.IsDefault() || seen[text] || s.c.Trial(text) != nil {
			continue
		}
		seen[text] = true
		if !s.permitted(r) {
			continue
		}
		s.asked[text] = true
		todo = append(todo, &policy.Trial{Recipe: r, Text: text})
	}
	if len(todo) == 0 {
		return nil
	}
	var jobs []*job
	for _, tr := range todo {
		jobs = append(jobs, s.want(tr.Recipe, 2))
	}
	s.t.progress.Trying(&s.k.Kernel, s.c.Shape, doing, len(todo))
	st := stage{s: s, todo: todo, jobs: jobs, groups: map[string]int{}}
	if err := s.gather(jobs, st.take); err != nil {
		return err
	}
	for st.next < len(todo) {
		if err := st.take(); err != nil {
			return err
		}
	}
	standings, err := s.on.Rule.Race(func(arm, n int) ([]float64, error) {
		if arm == stats.Baseline {
			return s.measure(s.on.Base, n)
		}
		return s.measure(s.loaded[todo[arm].Text], n)
	}, st.arms, s.on.First, stats.Options{Stop: s.over, Fatal: dead})
	for _, was := range standings {
		tr := todo[was.ID]
		tr.Ratio, tr.N = was.Ratio, was.N
		if was.Err != nil {
			s.failed(tr, was.Err)
		}
		if was.N == 0 && was.Err == nil {
			s.missing = true
			s.c.Forget(tr)
		}
	}
	s.drop()
	s.save()
	return err
}

// A stage is recipes that are tried in one race.
type stage struct {
	s      *search
	todo   []*policy.Trial
	jobs   []*job // of these
	next   int    // to be taken
	arms   []stats.Arm
	groups map[string]int // by lever
}

// take admits the next trial, as far as it is compiled.
func (st *stage) take() error {
	s, i := st.s, st.next
	st.next++
	tr := st.todo[i]
	c, err := st.jobs[i].result()
	if errors.Is(err, errBudget) || s.ctx.Err() != nil || s.over() {
		s.missing = true
		return nil // not tried: a later launch or run may; others may be ready
	}
	if err == nil {
		if c, err = s.enough(tr, c); c == nil && err == nil {
			return nil
		}
	}
	if err = s.admit(tr, c, err); err != nil {
		return err
	}
	s.c.Notebook.Trials = append(s.c.Notebook.Trials, tr)
	if tr.Because == cache.OtherBits && tr.Same == "" {
		if err := s.doubt(tr); err != nil {
			return err
		}
	}
	if tr.Refused == "" && tr.Same == "" {
		of := lever.Of(tr.Recipe)
		if st.groups[of] == 0 {
			st.groups[of] = len(st.groups) + 1
		}
		st.arms = append(st.arms, stats.Arm{ID: i, Group: st.groups[of]})
	}
	return nil
}

// enough raises the number of words of a demotion that leaves something to spill; nil, where what it
// comes to was tried already.
func (s *search) enough(tr *policy.Trial, c *policy.Candidate) (*policy.Candidate, error) {
	first := tr.Text
	r, c, err := lever.Enough(&s.k.Kernel, tr.Recipe, func(r recipe.Recipe) (*policy.Candidate, error) {
		if r.String() == first {
			return c, nil
		}
		return s.compile(r, 0)
	})
	if tr.Recipe, tr.Text = r, r.String(); err == nil && tr.Text != first && s.c.Trial(tr.Text) != nil {
		return nil, nil
	}
	return c, err
}

// permitted tells whether the user's options and directives allow a recipe.
func (s *search) permitted(r recipe.Recipe) bool {
	if slices.ContainsFunc(s.k.Banned, func(lever string) bool { return rewrite.Uses(r, lever) }) {
		return false
	}
	if rewrite.ExactnessOf(r) > s.exact() || s.k.Shut(r) != "" {
		return false
	}
	return lever.Allowed(&s.t.o, &s.k.Kernel, r) && s.launchable(r)
}

// launchable tells whether what a recipe makes may be launched now: a second entry computes
// nonsense for values that it was not made for.
func (s *search) launchable(r recipe.Recipe) bool {
	return !r.HasSecond() || s.k.Held(r, s.l)
}

// admit decides whether a compiled candidate is measured; what speaks against it is noted in the
// trial. An error means that the process is lost.
func (s *search) admit(tr *policy.Trial, c *policy.Candidate, err error) error {
	if tr.Refused = s.k.Incomparable(tr.Recipe); tr.Refused != "" {
		return nil
	}
	if err != nil {
		tr.Refused = "it does not compile: " + policy.FirstLine(err)
		return nil
	}
	tr.Build, tr.Code, tr.Normals = c.Build, policy.CodeOf(c, s.k.Name), c.Normals
	if why := decide.Shrinks(&s.k.Kernel, tr.Recipe, c, s.largest, s.l); why != "" {
		tr.Refused = why
		return nil
	}
	if decide.Copies(tr, s.original, s.byCode[tr.Code]) {
		return nil
	}
	if tr.Code != "" {
		s.byCode[tr.Code] = tr
	}
	arm, at, err := s.s.LoadAs(c.Path, c.Entry, c.Manner)
	if err != nil {
		return s.failed(tr, err)
	}
	s.loaded[tr.Text] = arm
	if want := lever.Needed(tr.Recipe, s.largest); at.MaxThreads < want {
		tr.Refused = fmt.Sprintf("blocks of %d threads could no longer be launched: at most %d", want,
			at.MaxThreads)
		return nil
	}
	d, err := s.s.Check(arm)
	if err != nil {
		return s.failed(tr, err)
	}
	if s.k.Unsteady != "" {
		return nil // it ran to its end; what it left says nothing
	}
	tr.Error = tr.Error.Larger(s.k.ErrorOf(d))
	if !decide.Within(&s.t.o, &s.k.Kernel, d) {
		tr.Refused, tr.Because = s.k.Exceeds(s.t.o.Within, d)
		return nil
	}
	tr.Checked++
	return nil
}

// failed notes a candidate's failure; the error comes back if the process is lost by it.
func (s *search) failed(tr *policy.Trial, err error) error {
	var fault *profile.Fault
	switch {
	case errors.As(err, &fault):
		tr.Refused = "it crashed on the device: " + fault.Text
	case errors.Is(err, profile.ErrHung):
		tr.Refused = "it did not finish in time"
	case dead(err):
		return err // not the candidate's fault
	default:
		tr.Refused = "the driver refused it: " + policy.FirstLine(err)
		return nil
	}
	// Remembered at once: the next run must not try it again.
	if s.c.Trial(tr.Text) == nil {
		s.c.Notebook.Trials = append(s.c.Notebook.Trials, tr)
	}
	s.save()
	return err
}

func (s *search) measure(arm profile.Candidate, n int) ([]float64, error) {
	return s.s.Measure(arm, n, profile.Measurement{})
}

// arm returns the loaded candidate of a trial, loading and checking it if need be. A candidate that
// is refused is noted so, and ok is false.
func (s *search) arm(tr *policy.Trial) (c profile.Candidate, ok bool, err error) {
	if c, ok := s.loaded[tr.Text]; ok {
		return c, true, nil
	}
	if !s.launchable(tr.Recipe) {
		return 0, false, nil
	}
	cand, err := s.compile(tr.Recipe, 0)
	if errors.Is(err, errBudget) || s.ctx.Err() != nil {
		return 0, false, nil
	}
	delete(s.byCode, tr.Code) // or it would be taken for a copy of itself
	if err := s.admit(tr, cand, err); err != nil {
		return 0, false, err
	}
	c, ok = s.loaded[tr.Text]
	return c, ok && tr.Refused == "" && tr.Same == "", nil
}

// drop unloads all but the best few candidates.
func (s *search) drop() {
	keep := map[string]bool{}
	for i, tr := range policy.Rank(s.c.Notebook.Trials) {
		if i < finalists+1 {
			keep[tr.Text] = true
		}
	}
	for text, c := range s.loaded {
		if !keep[text] {
			_ = s.s.Unload(c)
			delete(s.loaded, text)
		}
	}
}

func (s *search) save() {
	s.c.Notebook.Cost = s.cost()
	if err := decide.Write(s.t.memory, s.c.key, s.c.Notebook); err != nil {
		s.t.progress.Note("can't keep what was measured: " + policy.FirstLine(err))
	}
}
