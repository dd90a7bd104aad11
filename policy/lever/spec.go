package lever

import (
	"slices"
	"strings"

	"gnvcc/policy"
	"gnvcc/rewrite/lowered"
	"gnvcc/rewrite/recipe"
)

// Specialisation: a second entry for the values that launches have, chosen in the host stub. The
// kernel itself stays nvcc's own and pays nothing, and the copy has its own register count.
//
// Which values pay is not known beforehand, and fewer conditions are better, as they hold more
// often. Tried: scalars with the block's size, integers alone of these, scalars, the block,
// all of it with the grid, the alignment of all pointers, and each scalar alone where there
// are few; around the best one, each condition left out (a block's three dimensions are one
// condition). Integers are loops' ends and strides, and most of what a copy gains; a known
// float is what the compiler folds functions of, so that a copy with one often has other bits.

var _ = register(Lever{
	Name: recipe.Second, Idea: "a copy for", Gain: 1.065,
	Try: func(s *Situation) []recipe.Recipe {
		if s.Kernel.NoSpec != "" || s.Kernel.NoSecond != "" {
			return nil
		}
		return specs(s)
	},
	Why: func(s *Situation) string {
		if s.Kernel.NoSpec != "" {
			return s.Kernel.NoSpec
		}
		return s.Kernel.NoSecond
	},
	Around: func(s *Situation, best policy.Trial) []recipe.Recipe {
		if s.Kernel.NoSpec != "" || s.Kernel.NoSecond != "" {
			return nil
		}
		return specsAround(s, best)
	},
	Words: copyWords,
	Refuse: func(k *policy.Kernel, t recipe.Term) string {
		if k.NoSecond != "" || t.HostOnly() {
			return k.NoSecond
		}
		return k.NoSpec
	},
})

// copyWords says for which launches a second entry is.
func copyWords(k *policy.Kernel, t recipe.Term) string {
	g, err := t.Guard()
	if err != nil {
		return "a second entry"
	}
	text := "a second entry for launches with " + conditions(k, g)
	if !g.Own.IsDefault() {
		text += " (" + Words(k, g.Own) + ")"
	}
	return text
}

// conditions are a guard's in words, with the names of the parameters where the kernel is known.
func conditions(k *policy.Kernel, g recipe.Guard) string {
	named, err := g.Places(func(p recipe.Place) (recipe.Place, error) {
		if name := k.Names[p.String()]; name != "" {
			p.Name = name
		}
		for _, v := range k.Values {
			if v.Name != "" && v.Place() == p {
				p.Name = v.Name
			}
		}
		return p, nil
	})
	if err == nil {
		g = named
	}
	var words []string
	for _, c := range g.Conditions {
		key := c.Key()
		switch c.Kind {
		case recipe.HostBlock:
			key = "blocks"
		case recipe.HostGrid:
			key = "grids"
		case recipe.HostArgument:
			key = c.Of.String()
		case recipe.HostDynamic:
			key = "bytes of dynamic shared memory"
		}
		words = append(words, key+" = "+c.Text())
	}
	return strings.Join(words, ", ")
}

const fewScalars = 4 // as many are tried singly

// specs returns the guards to try on the default code.
func specs(s *Situation) []recipe.Recipe {
	// It is for one block size wherever that can matter: the condition costs nothing, and registers
	// that the largest block could not have are allowed behind it.
	block, grid := ofKind(s.Values, policy.BlockDim), read(s.Kernel, ofKind(s.Values, policy.GridDim))
	scalars, aligned := ofKind(s.Values, policy.Scalar), ofKind(s.Values, policy.Alignment)
	var out []recipe.Recipe
	add := func(sets ...[]policy.Value) {
		all := slices.Concat(sets...)
		if len(all) > 0 {
			out = append(out, spec(all))
		}
	}
	add(scalars, block)
	if whole := integers(s.Kernel, scalars); len(whole) > 0 && len(whole) < len(scalars) {
		add(whole, block)
	}
	add(block)
	add(scalars, block, grid)
	add(block, grid)
	if len(aligned) > 0 {
		add(aligned) // without a block that is known it is the kernel's own code but for loads
		add(scalars, block, aligned)
	}
	if len(scalars) > 1 && len(scalars) <= fewScalars {
		for _, v := range scalars {
			add([]policy.Value{v}, block)
		}
	}
	return out
}

// integers keeps the values that are no floats.
func integers(k *policy.Kernel, values []policy.Value) []policy.Value {
	floats := map[recipe.Place]bool{}
	for _, v := range k.Values {
		floats[unnamed(v.Place())] = v.Class == lowered.Float
	}
	return slices.DeleteFunc(slices.Clone(values), func(v policy.Value) bool {
		return floats[unnamed(v.Is.Of)]
	})
}

func unnamed(p recipe.Place) recipe.Place { p.Name = ""; return p }

// read keeps the dimensions that the kernel reads.
func read(k *policy.Kernel, values []policy.Value) []policy.Value {
	if k.Reads == nil {
		return values
	}
	return slices.DeleteFunc(slices.Clone(values), func(v policy.Value) bool {
		return !slices.Contains(k.Reads, v.Name)
	})
}

// specsAround joins the best guard with the best factor, and leaves conditions out.
func specsAround(s *Situation, best policy.Trial) []recipe.Recipe {
	var out []recipe.Recipe
	if !slices.ContainsFunc(best.Recipe.Terms, func(t recipe.Term) bool {
		return t.IsSecond() && !t.HostOnly()
	}) {
		for _, r := range specs(s) {
			if tr := s.Trial(r.String()); tr != nil && tr.Usable() && tr.Ratio < Step {
				out = append(out, Join(best.Recipe, r))
			}
		}
		return out
	}
	if !Has(best.Recipe, recipe.Unroll) {
		out = append(out, factorsFor(s, best)...)
	}
	for _, t := range best.Recipe.Terms {
		if !t.IsSecond() || t.HostOnly() {
			continue
		}
		g, err := t.Guard()
		if err != nil {
			continue
		}
		for _, less := range g.LeaveOut() {
			out = append(out, best.Recipe.Without(recipe.Second).With(less.Term()))
		}
	}
	return out
}

// factorsFor are factors for the code of the best values: those that were not slower without
// values, for all loops and for single ones, and complete unrolling of the innermost loops, whose
// ends the values may be.
func factorsFor(s *Situation, best policy.Trial) (out []recipe.Recipe) {
	tried := unrolls("", 4, 1, 2, 8, 16)
	loops := freeLoops(s.Kernel)
	for _, l := range loops[:min(len(loops), mostLoops)] {
		tried = append(tried, unrolls(l.Site, 1, 4, 8, 2, 16)...)
	}
	for _, r := range tried {
		if tr := s.Trial(r.String()); tr != nil && tr.Usable() && tr.Ratio < Combinable {
			out = append(out, Join(best.Recipe, r))
		}
	}
	for _, l := range loops[:min(len(loops), 2)] {
		if l.Inner && l.Site != "" {
			out = append(out, Join(best.Recipe, recipe.Recipe{Terms: []recipe.Term{{Lever: recipe.Unroll,
				Site: l.Site, Value: "full"}}}))
		}
	}
	return out
}

func ofKind(values []policy.Value, kind policy.ValueKind) []policy.Value {
	var out []policy.Value
	for _, v := range values {
		if v.Kind == kind {
			out = append(out, v)
		}
	}
	return out
}
