package search

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"gnvcc/policy"
	"gnvcc/policy/measure"
	"gnvcc/policy/stats"
	"gnvcc/profile"
	"gnvcc/rewrite/recipe"
)

// Step 1 of the search: the default.

// tooShort begins the reason that says of a launch what was found of it.
const tooShort = "too short: "

// begin measures the default and reads back what it is.
func (s *search) begin() error {
	if err := s.load(); err != nil {
		return err
	}
	if err := s.time(); err != nil {
		return err
	}
	s.plans()
	d, err := s.on.Steady()
	if err != nil {
		return s.lost(err, "it can't be checked")
	}
	if how := s.differently(d); how != "" {
		if err := s.unsteady(how, nil); err != nil {
			return err
		}
	} else {
		s.c.Random = s.k.ErrorOf(d)
	}
	for _, tr := range s.c.Notebook.Trials {
		tr.Stale = s.k.Broken(tr.Recipe, s.l)
		if tr.Code != "" && tr.Same == "" {
			s.byCode[tr.Code] = tr
		}
	}
	return nil
}

// plans keeps the end of the budget free for a comparison of the best on fresh samples.
func (s *search) plans() {
	now := s.t.now()
	// What has begun when that is over (an arm of a race, its baseline) takes some launches
	// more.
	s.moment = min(s.moment, max(0, s.end.Sub(now)/32))
	s.deadline = s.end.Add(-min(s.comparison()*4/3+2*s.moment, max(0, s.end.Sub(now)/2)))
	if s.compileBy.After(s.deadline) {
		s.compileBy = s.deadline
	}
}

// load makes the default build, and loads it where the program runs another one.
func (s *search) load() error {
	s.loaded, s.byCode = map[string]profile.Candidate{}, map[string]*policy.Trial{}
	def, err := s.compile(recipe.Recipe{}, 0)
	if err != nil {
		return errStop{"nvcc's own build can't be reproduced: " + policy.FirstLine(err)}
	}
	s.original = policy.CodeOf(def, s.k.Name)
	if s.k.Default.Spill == 0 {
		// a cubin does not hold it, and a build has no word of it unless the user asked for ptxas -v
		s.k.Default.Spill = def.Build.Spill
	}
	s.on, s.largest = measure.Launch{Session: s.s, Seen: s.l, Base: profile.Original, Rule: s.t.o.Rule}, s.l.MaxThreads
	if s.k.Applied != "" || s.differs() {
		var at profile.Attributes
		if s.on.Base, at, err = s.s.Load(def.Path, def.Entry); err != nil {
			return s.lost(err, "nvcc's own build can't be loaded")
		}
		s.largest = at.MaxThreads
	}
	return nil
}

// time takes the default's first times, as long as a budget and a kernel allow it, and plans by
// them.
func (s *search) time() error {
	err := s.on.Begin(func(took time.Duration) error {
		if took <= s.p.Budget/longest {
			return nil
		}
		s.c.Before = policy.TimeOf(s.on.First, s.t.o.Rule.Confidence)
		return errStop{fmt.Sprintf(
			"a launch takes %v and a search at least %d of them: the budget of %v is too short (--budget)",
			took.Round(time.Millisecond), longest, s.p.Budget)}
	})
	if stop := (errStop{}); errors.As(err, &stop) {
		return err
	} else if err != nil {
		return s.lost(err, "it can't be measured")
	}
	if m := stats.Median(s.on.First); m < float64(s.t.o.Short.Nanoseconds()) {
		s.c.Before, s.c.Short = policy.TimeOf(s.on.First, s.t.o.Rule.Confidence), true
		return errStop{fmt.Sprintf(tooShort+"%.2g us a launch", m/1e3)}
	}
	if err := s.on.Warm(); err != nil {
		return s.lost(err, "it can't be measured")
	}
	s.c.Before = policy.TimeOf(s.on.First, s.t.o.Rule.Confidence)
	s.on.Rule.Stop = func() bool { return !s.affords() }
	return nil
}

// differs reports whether the program runs other code than the default's compile gives here: then the
// default that candidates are compared with is loaded as they are.
func (s *search) differs() bool {
	if s.l.CubinPath == "" || s.original == "" {
		return false
	}
	b, err := os.ReadFile(s.l.CubinPath)
	if err != nil {
		return false
	}
	h, err := policy.CodeHash(b, s.k.Name)
	return err == nil && !strings.HasPrefix(s.original, h)
}
