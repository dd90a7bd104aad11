package search

import (
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/lever"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// alternatives makes sure that what a judge may fall back on is compared as well: the best recipe
// with the same bits, and some degrees.
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
	if !decide.Approximates(winner.Recipe) || rewrite.DegreeOf(winner.Recipe) != (rewrite.Degree{}) {
		return nil
	}
	warps := (s.c.Shape.Threads() + 31) / 32
	for i := 1; i < curveSteps; i++ {
		if d := warps * i / curveSteps; d > 0 {
			s.k.Win(rewrite.WithDegree(winner.Recipe, rewrite.Degree{Warps: d}))
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
	return rewrite.WithDegree(out, rewrite.Degree{}).String()
}
