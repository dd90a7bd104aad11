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
	Name: "spec", Idea: "a copy for", Gain: 1.065,
	Try: func(s *Situation) []recipe.Recipe {
		if s.Kernel.NoSpec != "" || s.Kernel.NoSecond != "" {
			return nil
		}
		return specs(s, "spec")
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
		return specsAround(s, best, "spec")
	},
	Words: func(k *Kernel, t recipe.Term) string {
		values, own, bar := strings.Cut(t.Value, "|")
		t.Value = values
		text := "a second entry for launches with " + conditions(t)
		if r, err := recipe.Parse(own); bar && err == nil {
			text += " (" + Words(k, r) + ")"
		}
		return text
	},
})

func conditions(t recipe.Term) string {
	t.Value = strings.NewReplacer("host(block)", "blocks", "host(dynamic)", "bytes of dynamic shared memory").Replace(t.Value)
	return strings.ReplaceAll(strings.ReplaceAll(t.Value, "=", " = "), ",", ", ")
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
	if lever == "spec" {
		always = ofKind(s.Values, BlockDim)
		block = always
	}
	add(scalars, block)
	if lever != "spec" {
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
		for _, less := range leaveOut(t.Value) {
			out = append(out, without(best.Recipe, lever).With(recipe.Term{Lever: lever, Value: less, Brace: true}))
		}
	}
	return out
}

// leaveOut returns a guard's text with each condition left out, the block's and the grid's dimensions together.
func leaveOut(text string) []string {
	all := strings.Split(text, ",")
	unit := func(c string) string {
		name, _, _ := strings.Cut(c, "=")
		for _, prefix := range []string{"blockDim.", "gridDim.", "align(", "host("} {
			if strings.HasPrefix(name, prefix) {
				return prefix
			}
		}
		return name
	}
	var units, out []string
	for _, c := range all {
		if u := unit(c); !slices.Contains(units, u) {
			units = append(units, u)
		}
	}
	if len(units) < 2 || len(units) > 8 {
		return nil
	}
	for _, u := range units {
		if u == "host(" {
			continue // the throttled entry needs it
		}
		out = append(out, strings.Join(slices.DeleteFunc(slices.Clone(all), func(c string) bool { return unit(c) == u }), ","))
	}
	return out
}

func spec(lever string, values []Value) recipe.Recipe {
	return recipe.Recipe{}.With(recipe.Term{Lever: lever, Value: guard(values), Brace: true})
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
		if t.Lever != "spec" {
			continue
		}
		if h, err := recipe.HostConditions(t.Value); err == nil && h.Block[0] > 0 {
			most = max(most, h.Block[0]*h.Block[1]*h.Block[2])
			continue
		}
		size, dims := 1, 0
		for _, c := range strings.Split(t.Value, ",") {
			if name, value, _ := strings.Cut(c, "="); strings.HasPrefix(name, "blockDim.") {
				n := 0
				for _, digit := range value {
					n = 10*n + int(digit-'0')
				}
				size, dims = size*n, dims+1
			}
		}
		if dims < 3 {
			return 0, false
		}
		most = max(most, size)
	}
	return most, most > 0
}

// specialised tells whether a recipe has copies for values, in either form.
func specialised(r recipe.Recipe) bool { return hasLever(r, "spec") || hasLever(r, "guard") }

// broken tells whether a recipe's guards ask for values that not all launches of this configuration have so far.
func broken(k *Kernel, r recipe.Recipe, l *profile.Launch) bool {
	return specialised(r) && !fulfilled(r, Values(k, l))
}

// held tells whether a launch itself fulfils one of a recipe's guards.
func held(k *Kernel, r recipe.Recipe, l *profile.Launch) bool {
	return fulfilled(r, valuesNow(k, l))
}

func fulfilled(r recipe.Recipe, values []Value) bool {
	have := map[string]string{}
	for _, v := range values {
		if v.Kind == Alignment {
			have["align("+v.Name+")"] = v.Text
		} else {
			have[v.Name] = v.Text
		}
	}
	for _, t := range r.Terms {
		if t.Lever != "spec" && t.Lever != "guard" {
			continue
		}
		holds := true
		for _, c := range strings.Split(t.Value, ",") {
			name, value, _ := strings.Cut(c, "=")
			holds = holds && have[name] == value
		}
		if holds {
			return true
		}
	}
	return false
}
