package lever

import (
	"fmt"
	"slices"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
	"gnvcc/rewrite/repeat"
)

// Turns of a loop in a row, in PTX. It asks for no second run of cicc, so that no contraction is
// chosen anew: kernels take it of which no variant of the source can be proved.
//
// Tried are counted loops, innermost and large ones first: the others keep all their tests.

var _ = register(Lever{
	Name: "repeat", Idea: "turns in a row, in PTX:", Gain: 1,
	Try: func(s *Situation) []recipe.Recipe {
		var out []recipe.Recipe
		loops := repeatable(s.Kernel)
		for n, l := range loops[:min(len(loops), mostRepeated)] {
			out = append(out, repeated(recipe.Recipe{}, l, 4))
			if n == 0 {
				out = append(out, repeated(recipe.Recipe{}, l, 2), repeated(recipe.Recipe{}, l, 8))
			}
		}
		return out
	},
	Around: func(s *Situation, best policy.Trial) []recipe.Recipe {
		var out []recipe.Recipe
		if !Has(best.Recipe, "repeat") {
			return nil
		}
		loops := repeatable(s.Kernel)
		for _, l := range loops[:min(len(loops), mostRepeated)] {
			if has, ok := best.Recipe.Get("repeat", fmt.Sprint(l.Number)); !ok {
				out = append(out, repeated(best.Recipe, l, 4))
			} else if has == "8" {
				out = append(out, repeated(best.Recipe, l, repeat.Most))
			}
		}
		return out
	},
	Words: func(k *policy.Kernel, t recipe.Term) string {
		return fmt.Sprintf("%s turns of the PTX's loop %s in a row", t.Value, t.Site)
	},
	Why: func(s *Situation) string {
		if _, err := repeatsOf(s.Kernel); err != nil {
			return err.Error()
		}
		return "no loop whose turns are counted"
	},
})

const (
	mostRepeated = 3
	mostInRow    = 6000 // statements of all turns
)

// repeatsOf are the kernel's loops whose turns can stand in a row, none where nobody has read its
// PTX.
func repeatsOf(k *policy.Kernel) ([]repeat.Loop, error) {
	if k.Repeats == nil {
		return nil, nil
	}
	return k.Repeats()
}

func repeatable(k *policy.Kernel) []repeat.Loop {
	loops, _ := repeatsOf(k) // Why says it
	out := slices.DeleteFunc(slices.Clone(loops), func(l repeat.Loop) bool {
		return !l.Counted || 4*l.Size > mostInRow
	})
	slices.SortStableFunc(out, func(a, b repeat.Loop) int {
		if a.Inner != b.Inner {
			if a.Inner {
				return -1
			}
			return 1
		}
		return b.Size - a.Size
	})
	return out
}

// repeated adds a loop's turns to a recipe.
func repeated(to recipe.Recipe, l repeat.Loop, turns int) recipe.Recipe {
	return to.With(recipe.Term{Lever: "repeat", Site: fmt.Sprint(l.Number), Value: fmt.Sprint(turns)})
}
