package search

import (
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/lever"
	"gnvcc/rewrite/recipe"
)

// alternatives makes sure that what a judge may fall back on is compared as well: the best recipe
// with the same bits, and the best with other functions.
func (s *search) alternatives(winner *policy.Trial) error {
	if !s.t.o.Judged || winner == nil || !decide.Approximates(winner.Recipe) &&
		winner.Error == (policy.Error{}) {
		return nil
	}
	exact, err := s.pick(func(tr *policy.Trial) bool {
		return !decide.Approximates(tr.Recipe) && tr.Error == (policy.Error{})
	})
	if err != nil {
		return err
	}
	if exact != nil {
		s.k.Win(exact.Recipe)
	}
	// The best with other functions or forms: a Newton step behind them, only the division, ...
	seen := map[string]bool{functions(winner.Recipe): true, "": true}
	for _, tr := range policy.Rank(s.c.Notebook.Trials) {
		if f := functions(tr.Recipe); !seen[f] && len(seen) < 5 && tr.Ratio < lever.Step {
			seen[f] = true
			s.k.Win(tr.Recipe)
		}
	}
	return nil
}

// functions are the terms of a recipe that approximate, as text.
func functions(r recipe.Recipe) string {
	var out recipe.Recipe
	for _, t := range r.Terms {
		if decide.Approximates(recipe.Recipe{Terms: []recipe.Term{t}}) {
			out = out.With(t)
		}
	}
	return out.String()
}
