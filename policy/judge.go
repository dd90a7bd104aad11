package policy

import (
	"fmt"

	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// Approximation that a judge allows: a command of the user's that looks at the program's output. It sees what no launch's own error tells: how errors
// grow from launch to launch, and whether they matter. Every question to it is a build and a run, so that few are asked.
//
// The tuning run measures, for each kernel, the fastest recipe that gives the same bits and some approximations with their times; this file
// chooses among them.

// Choose finds what a judge accepts. Kernel i has sizes[i] approximations: 0 stands for none, sizes[i] for the fastest. try builds and
// runs the program with a selection and gives the judge's error; it is called once for each selection. All of the fastest first; where that is too much, kernel
// by kernel (the caller puts those that save most first), each as far as the judge goes along with what was accepted before. The selection that
// comes back has been judged as a whole, or is none at all.
func Choose(sizes []int, bound float64, try func(selection []int) (float64, error)) ([]int, error) {
	chosen := make([]int, len(sizes))
	several := 0
	for _, n := range sizes {
		if n > 0 {
			several++
		}
	}
	if several == 0 {
		return chosen, nil
	}
	judged := map[string]float64{}
	ask := func(selection []int) (float64, error) {
		key := fmt.Sprint(selection)
		if e, ok := judged[key]; ok {
			return e, nil
		}
		e, err := try(selection)
		if err == nil {
			judged[key] = e
		}
		return e, err
	}
	all := append([]int(nil), sizes...)
	if e, err := ask(all); err != nil || e <= bound {
		return all, err
	}
	for i, n := range sizes {
		if n == 0 {
			continue
		}
		c := newCurve(func(d int) (float64, error) {
			s := append([]int(nil), chosen...)
			s[i] = d
			return ask(s)
		})
		find := c.approach
		if n <= descendTo {
			find = c.descend
		}
		d, err := find(n, bound)
		if err != nil {
			return nil, err
		}
		chosen[i] = d
	}
	return chosen, nil
}

// alternatives makes sure that what a judge may fall back on is compared as well: the best recipe with the same bits, and some degrees.
func (s *search) alternatives(winner *Trial) error {
	if !s.t.o.Judged || winner == nil || !approximates(winner.Recipe) && winner.Error == (Error{}) {
		return nil
	}
	exact, err := s.pick(func(tr *Trial) bool { return !approximates(tr.Recipe) && tr.Error == (Error{}) })
	if err != nil {
		return err
	}
	if exact != nil {
		s.k.win(exact.Recipe)
	}
	// The best with other functions or forms: a Newton step behind them, only the division, ...
	seen := map[string]bool{functions(winner.Recipe): true, "": true}
	for _, tr := range rank(s.c.book.Trials) {
		if f := functions(tr.Recipe); !seen[f] && len(seen) < 5 && tr.Ratio < step {
			seen[f] = true
			s.k.win(tr.Recipe)
		}
	}
	if !approximates(winner.Recipe) || rewrite.DegreeOf(winner.Recipe) != (rewrite.Degree{}) {
		return nil
	}
	warps := (s.c.shape.Threads() + 31) / 32
	for i := 1; i < curveSteps; i++ {
		if d := warps * i / curveSteps; d > 0 {
			s.k.win(rewrite.WithDegree(winner.Recipe, rewrite.Degree{Warps: d}))
		}
	}
	return nil
}

// functions are the terms of a recipe that approximate, as text.
func functions(r recipe.Recipe) string {
	var out recipe.Recipe
	for _, t := range r.Terms {
		if approximates(recipe.Recipe{Terms: []recipe.Term{t}}) {
			out = out.With(t)
		}
	}
	return rewrite.WithDegree(out, rewrite.Degree{}).String()
}

// judged fills in what a judge chooses from: the decision with the same bits, and those without, slowest first.
func (t *Tuner) judged(r *Result, k *kernel, choices []choice, flags string) {
	var exact, off []choice
	for _, ch := range choices {
		if approximates(ch.recipe) || t.error(k, k.measured(), ch.recipe) != (Error{}) {
			off = append(off, ch)
		} else {
			exact = append(exact, ch)
		}
	}
	r.Decision = t.decide(k, exact, flags)
	base := 0.0
	if ch := choose(exact, flags); ch != nil {
		base = ch.saved
	}
	for _, ch := range off { // the best first
		if fileTerms(ch.recipe) == flags && ch.saved > base {
			r.Saves = max(r.Saves, ch.saved-base)
			if d := t.decide(k, []choice{ch}, flags); d != nil {
				r.Approximate = append(r.Approximate, *d)
			}
		}
	}
	for i, j := 0, len(r.Approximate)-1; i < j; i, j = i+1, j-1 {
		r.Approximate[i], r.Approximate[j] = r.Approximate[j], r.Approximate[i]
	}
}
