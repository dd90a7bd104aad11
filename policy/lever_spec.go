package policy

import (
	"slices"
	"strings"

	"gnvcc/profile"
	"gnvcc/rewrite/recipe"
)

// Specialisation: a copy of the kernel for the values that its launches have. There are two forms. "spec" is a second entry, chosen in
// the host stub: the kernel itself stays nvcc's own and pays nothing, and the copy has its own register count. "guard" has both
// copies in one kernel behind a guard; it is for kernels that can't have a second entry, and its plain copy is measured too.
//
// Which values pay is not known beforehand, and fewer conditions are better, as they hold more often. Tried: scalars with the
// block's size, scalars, the block, all of it with the grid, the alignment of all pointers, and each scalar alone where there
// are few; around the best one, each condition left out (a block's three dimensions are one condition).

var _ = register(Lever{
	Name: recipe.Second, Idea: "a copy for", Gain: 1.065,
	Try: func(s *Situation) []recipe.Recipe {
		if s.Kernel.NoSpec != "" || s.Kernel.NoSecond != "" {
			return nil
		}
		return specs(s, recipe.Second)
	},
	Why: func(s *Situation) string {
		if s.Kernel.NoSpec != "" {
			return s.Kernel.NoSpec
		}
		return s.Kernel.NoSecond
	},
	Around: func(s *Situation, best Trial) []recipe.Recipe {
		if s.Kernel.NoSpec != "" || s.Kernel.NoSecond != "" {
			return nil
		}
		return specsAround(s, best, recipe.Second)
	},
	Words: func(k *Kernel, t recipe.Term) string {
		g, err := t.Guard()
		if err != nil {
			return "a second entry"
		}
		text := "a second entry for launches with " + conditions(k, g)
		if !g.Own.IsDefault() {
			text += " (" + Words(k, g.Own) + ")"
		}
		return text
	},
})

// ArgumentNames gives the names of the arguments that a recipe's conditions look at, by their places; nil: it has none.
func (k *Kernel) ArgumentNames(r recipe.Recipe) map[string]string {
	var out map[string]string
	guards, err := r.Guards()
	if err != nil {
		return nil
	}
	for _, g := range guards {
		for _, c := range g.Conditions {
			for _, v := range k.Values {
				if c.Kind <= recipe.Alignment && v.Name != "" && v.Place() == c.Of {
					if out == nil {
						out = map[string]string{}
					}
					out[c.Of.String()] = v.Name
				}
			}
		}
	}
	return out
}

// conditions are a guard's in words, with the names of the parameters where the kernel is known.
func conditions(k *Kernel, g recipe.Guard) string {
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
		case recipe.HostDynamic:
			key = "bytes of dynamic shared memory"
		}
		words = append(words, key+" = "+c.Text())
	}
	return strings.Join(words, ", ")
}

const fewScalars = 4 // as many are tried singly

// specs returns the guards to try on the default code.
func specs(s *Situation, lever string) []recipe.Recipe {
	block, grid := read(s.Kernel, ofKind(s.Values, BlockDim)), read(s.Kernel, ofKind(s.Values, GridDim))
	scalars, aligned := ofKind(s.Values, Scalar), ofKind(s.Values, Alignment)
	var out []recipe.Recipe
	add := func(sets ...[]Value) {
		all := slices.Concat(sets...)
		if len(all) > 0 {
			out = append(out, spec(lever, all))
		}
	}
	// A copy that the host chooses is for one block size wherever that can matter: the condition costs nothing, and registers
	// that the largest block could not have are allowed behind it. A guard inside has as few conditions as possible.
	always := []Value(nil)
	if lever == recipe.Second {
		always = ofKind(s.Values, BlockDim)
		block = always
	}
	add(scalars, block)
	if lever != recipe.Second {
		add(scalars)
	}
	add(block)
	add(scalars, block, grid)
	add(block, grid)
	if len(aligned) > 0 {
		add(always, aligned)
		add(scalars, block, aligned)
	}
	if len(scalars) > 1 && len(scalars) <= fewScalars {
		for _, v := range scalars {
			add([]Value{v}, always)
		}
	}
	return out
}

// read keeps the dimensions that the kernel reads.
func read(k *Kernel, values []Value) []Value {
	if k.Reads == nil {
		return values
	}
	return slices.DeleteFunc(slices.Clone(values), func(v Value) bool { return !slices.Contains(k.Reads, v.Name) })
}

// specsAround joins the best guard with the best factor, and leaves conditions out.
func specsAround(s *Situation, best Trial, lever string) []recipe.Recipe {
	var out []recipe.Recipe
	if !slices.ContainsFunc(best.Recipe.Terms, func(t recipe.Term) bool { return t.Lever == lever && !t.HostOnly() }) {
		for _, r := range specs(s, lever) {
			if tr := s.Trial(r.String()); tr != nil && tr.usable() && tr.Ratio < step {
				out = append(out, join(best.Recipe, r))
			}
		}
		return out
	}
	for _, r := range unrolls("", 4, 1, 2, 8) {
		if tr := s.Trial(r.String()); tr != nil && tr.Refused == "" && tr.Ratio < combinable && !hasLever(best.Recipe, "unroll") {
			out = append(out, join(best.Recipe, r))
		}
	}
	for _, t := range best.Recipe.Terms {
		if t.Lever != lever || t.HostOnly() {
			continue
		}
		g, err := t.Guard()
		if err != nil {
			continue
		}
		for _, less := range g.LeaveOut() {
			out = append(out, without(best.Recipe, lever).With(less.Term(lever)))
		}
	}
	return out
}

func spec(lever string, values []Value) recipe.Recipe {
	return recipe.Recipe{}.With(guard(values).Term(lever))
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

// guardedBlock returns the threads of the largest block for which a recipe's second entry is launched; false if its guards don't
// bound the block.
func guardedBlock(r recipe.Recipe) (int, bool) {
	most := 0
	for _, t := range r.Terms {
		if !t.IsSecond() {
			continue
		}
		g, err := t.Guard()
		if err != nil {
			return 0, false
		}
		block := g.Block()
		size := block[0] * block[1] * block[2]
		if size == 0 {
			return 0, false
		}
		most = max(most, size)
	}
	return most, most > 0
}

// broken tells whether a recipe's guards ask for values that not all launches of this configuration have so far.
func broken(k *Kernel, r recipe.Recipe, l *profile.Launch) bool {
	return r.HasCopy() && !fulfilled(r, Values(k, l))
}

// held tells whether a launch itself fulfils one of a recipe's guards.
func held(k *Kernel, r recipe.Recipe, l *profile.Launch) bool {
	return fulfilled(r, valuesNow(k, l))
}

func fulfilled(r recipe.Recipe, values []Value) bool {
	guards, err := r.Guards()
	have := lookUp(values)
	return err == nil && slices.ContainsFunc(guards, func(g recipe.Guard) bool { return g.Holds(have) })
}
