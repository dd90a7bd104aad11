package decide

import (
	"fmt"
	"slices"

	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// Approximation that a judge allows: a command of the user's that looks at the program's output. It
// sees what no launch's own error tells: how errors grow from launch to launch, and whether they
// matter. Every question to it is a build and a run, so that few are asked.
//
// The tuning run measures, for each kernel, the fastest recipe that gives the same bits and some
// approximations with their times; this file chooses among them.

// Choose finds what a judge accepts. Kernel i has sizes[i] approximations: 0 stands for none,
// sizes[i] for the fastest. try builds and runs the program with a selection and gives the judge's
// error; it is called once for each selection. All of the fastest first; where that is too much,
// kernel by kernel (the caller puts those that save most first), each as far as the judge goes
// along with what was accepted before. The selection that comes back has been judged as a whole, or
// is none at all.
func Choose(sizes []int, bound float64, try func(selection []int) (float64, error)) ([]int, error) {
	chosen := make([]int, len(sizes))
	if !slices.ContainsFunc(sizes, func(n int) bool { return n > 0 }) {
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
	all := slices.Clone(sizes)
	if e, err := ask(all); err != nil || e <= bound {
		return all, err
	}
	for i, n := range sizes {
		for d := n; d > 0; d-- {
			s := slices.Clone(chosen)
			s[i] = d
			e, err := ask(s)
			if err != nil {
				return nil, err
			}
			if e <= bound {
				chosen = s
				break
			}
		}
	}
	return chosen, nil
}

// judged fills in what a judge chooses from: the decision with the same bits, and those without,
// slowest first.
func (t *Run) judged(r *Result, k *Findings, choices []choice) {
	var exact, off []choice
	for _, ch := range choices {
		if Approximates(ch.recipe) || t.error(k, k.measured(), ch.recipe) != (policy.Error{}) {
			off = append(off, ch)
		} else {
			exact = append(exact, ch)
		}
	}
	r.Decision = t.decide(k, exact)
	r.Between = k.between
	base := 0.0
	if len(exact) > 0 {
		base = exact[0].saved
	}
	for _, ch := range off { // the best first
		if ch.saved > base {
			r.Saves = max(r.Saves, ch.saved-base)
			if d := t.decide(k, []choice{ch}); d != nil {
				r.Approximate = append(r.Approximate, *d)
			}
		}
	}
	slices.Reverse(r.Approximate)
}

// Approximates tells whether a recipe has a lever that does.
func Approximates(r recipe.Recipe) bool { return rewrite.ExactnessOf(r) == rewrite.Approximate }
