package policy

import (
	"strings"

	"gnvcc/profile"
	"gnvcc/rewrite"
)

// Guarded specialisation: a copy of the kernel for the values that its launches have, behind a guard, the plain copy beside it.
// Which values pay is not known beforehand, and fewer conditions are better, as they hold more often. Tried: the
// block's size, block and grid, all scalars, scalars and block, all of it, the alignment of all pointers, and each scalar alone where
// there are few; around the best one, each condition left out.

var _ = register(Lever{
	Name: "spec", Idea: "a copy for", Gain: 1.065,
	Try:    specs,
	Around: specsAround,
	Words: func(k *Kernel, t rewrite.Term) string {
		return "a copy for launches with " + strings.ReplaceAll(strings.ReplaceAll(t.Value, "=", " = "), ",", ", ")
	},
})

const fewScalars = 4 // as many are tried singly

func specs(s *Situation) []rewrite.Recipe {
	if s.Kernel.NoSpec != "" {
		return nil
	}
	var out []rewrite.Recipe
	block, grid := ofKind(s.Values, BlockDim), ofKind(s.Values, GridDim)
	scalars, aligned := ofKind(s.Values, Scalar), ofKind(s.Values, Alignment)
	add := func(sets ...[]Value) {
		var all []Value
		for _, set := range sets {
			all = append(all, set...)
		}
		if len(all) > 0 {
			out = append(out, spec(all))
		}
	}
	if len(scalars) > 0 {
		add(scalars, block)
		add(scalars)
	}
	add(block)
	add(scalars, block, grid)
	if len(scalars) > 0 {
		add(block, grid)
	}
	if len(aligned) > 0 {
		add(aligned)
		add(scalars, block, aligned)
	}
	if len(scalars) > 1 && len(scalars) <= fewScalars {
		for _, v := range scalars {
			add([]Value{v})
		}
	}
	return out
}

// specsAround joins the best guard with the best factor, and leaves conditions out.
func specsAround(s *Situation, best Trial) []rewrite.Recipe {
	var out []rewrite.Recipe
	if !hasLever(best.Recipe, "spec") {
		for _, r := range specs(s) {
			if tr := s.Trial(r.String()); tr != nil && tr.usable() && tr.Ratio < step {
				out = append(out, join(best.Recipe, r))
			}
		}
		return out
	}
	// The best recipe has a guard: with each factor that was no loss alone, and with less guard.
	for _, r := range unrolls("", 4, 1, 2, 8) {
		if tr := s.Trial(r.String()); tr != nil && tr.Refused == "" && tr.Ratio < combinable && !hasLever(best.Recipe, "unroll") {
			out = append(out, join(best.Recipe, r))
		}
	}
	for _, t := range best.Recipe.Terms {
		conditions := strings.Split(t.Value, ",")
		if t.Lever != "spec" || len(conditions) < 2 || len(conditions) > 8 {
			continue
		}
		for i := range conditions {
			less := append(append([]string(nil), conditions[:i]...), conditions[i+1:]...)
			out = append(out, without(best.Recipe, "spec").With(rewrite.Term{Lever: "spec", Value: strings.Join(less, ","), Brace: true}))
		}
	}
	return out
}

func spec(values []Value) rewrite.Recipe {
	return rewrite.Recipe{}.With(rewrite.Term{Lever: "spec", Value: guard(values), Brace: true})
}

func ofKind(values []Value, kind ValueKind) []Value {
	var out []Value
	for _, v := range values {
		if v.Kind == kind {
			out = append(out, v)
		}
	}
	return out
}

// broken tells whether a recipe's guards ask for values that a launch, or another launch of its configuration, does not have.
func broken(k *Kernel, r rewrite.Recipe, l *profile.Launch) bool {
	have := map[string]string{}
	for _, v := range Values(k, l) {
		have[v.Name] = v.Text
		if v.Kind == Alignment {
			have["align("+v.Name+")"] = v.Text
		}
	}
	any := false
	for _, t := range r.Terms {
		if t.Lever != "spec" {
			continue
		}
		any = true
		holds := true
		for _, c := range strings.Split(t.Value, ",") {
			name, value, _ := strings.Cut(c, "=")
			holds = holds && have[name] == value
		}
		if holds {
			return false // one of several guards suffices
		}
	}
	return any
}
