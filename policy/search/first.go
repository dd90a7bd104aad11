package search

import (
	"time"

	"gnvcc/policy/stats"
	"gnvcc/rewrite/recipe"
)

// A first look: where a budget is for many kernels, one value of each lever shows which of them are
// worth more of it. Of 203 kernels of bench/results with twenty candidates and more, those of which
// no lever alone took 3 % off (82) gained 0.2 % by the rest of the search, in the mean; the others 26 %.

// A Look is how the next search begins.
type Look struct {
	For time.Duration // at the most, if launches are short
	// More gives the time that the search may take further by the part of the default's time that the
	// best takes off so far. 0: it ends for now; what it has found is compared, and can be adopted.
	More func(gain float64) time.Duration
}

// briefly looks at a configuration, if that is asked for, and reports whether the search goes on.
// What an earlier run has tried was a look.
func (s *search) briefly() (on bool, err error) {
	look := s.p.Look
	if look == nil {
		return true, nil
	}
	end, by := s.deadline, s.compileBy
	launch := time.Duration(stats.Median(s.on.First)) + s.on.Rule.Launch
	s.deadline = earlier(s.t.now().Add(max(look.For, longest*launch)), end)
	s.compileBy = earlier(s.deadline, by)
	if len(s.c.Notebook.Trials) == 0 {
		s.sit.Region = s.region(recipe.Recipe{}, s.k.Default.Registers)
		var turn []recipe.Recipe
		for _, list := range s.lists() {
			if len(list) > 0 {
				turn = append(turn, list[0])
			}
		}
		err = s.try("first candidates", append(s.elsewhere(), turn...))
	}
	if err != nil {
		return false, err
	}
	more := look.More(s.c.Gain())
	now := s.t.now()
	s.glanced, s.missing = more <= 0, false
	s.end = earlier(now.Add(max(more, look.For)), s.end)
	s.p.Budget = s.p.used + s.end.Sub(s.begun)
	s.compileBy = now.Add(s.end.Sub(now) * 3 / 4)
	s.plans()
	s.missing = s.glanced
	return !s.glanced, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
