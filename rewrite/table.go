package rewrite

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"gnvcc/rewrite/coarsen"
	"gnvcc/rewrite/demote"
	"gnvcc/rewrite/recipe"
)

// What the table of levers (passes.go) says of recipes.

// Exactness says how sure it is that a changed kernel computes the same bits.
type Exactness uint8

// From the strongest promise to the weakest.
const (
	ByConstruction Exactness = iota // the arithmetic instructions are the same: hints, register counts
	// a compiler works on the arithmetic anew: compared on the launches that were seen
	Checked
	Approximate // other results are intended, within a bound
)

func (e Exactness) String() string {
	switch e {
	case ByConstruction:
		return "construction"
	case Checked:
		return "checked"
	}
	return "approximate"
}

// ParseExactness reads what String prints.
func ParseExactness(s string) (Exactness, error) {
	for e := ByConstruction; e <= Approximate; e++ {
		if e.String() == s {
			return e, nil
		}
	}
	return 0, fmt.Errorf("exactness %q: it is construction, checked or approximate", s)
}

// Stage says where a lever acts.
type Stage uint8

// In the order of a build.
const (
	Source   Stage = iota + 1 // the preprocessed device code, in front of cicc
	PTX                       // in front of ptxas
	HostStub                  // how the host stub launches a second entry
)

// ExactnessOf is the weakest promise among the recipe's terms; ByConstruction for nvcc's own
// compile, Approximate where a lever is not known. A copy of which only the host knows the
// conditions is nvcc's own compile; one that is launched with other warps is checked (shape.go).
func ExactnessOf(r recipe.Recipe) Exactness {
	worst := ByConstruction
	for _, t := range r.Terms {
		e := Approximate
		if p := lookup(t.Lever); p != nil && p.exact != nil {
			e = p.exact(t)
		} else if p != nil {
			e = p.Exact
		}
		if t.HostOnly() {
			e = ByConstruction
		}
		if t.IsSecond() { // what one entry alone is built with
			if g, err := t.Guard(); err != nil {
				e = Approximate
			} else {
				e = max(e, ExactnessOf(g.Own))
			}
		}
		worst = max(worst, e)
	}
	for _, blocks := range reshapes(r) {
		if !sameWarps(blocks[0], blocks[1]) {
			worst = max(worst, Checked)
		}
	}
	return worst
}

// demoted is the exactness of one value of demote: where ptxas spills to shared memory the arithmetic
// is its own, unlike with the others.
func demoted(t recipe.Term) Exactness {
	if t.Value == demote.Spill {
		return ByConstruction
	}
	return Checked
}

// Uses reports whether a lever stands anywhere in a recipe, behind a bar too.
func Uses(r recipe.Recipe, lever string) bool {
	return slices.ContainsFunc(r.Terms, func(t recipe.Term) bool {
		if t.Lever == lever {
			return true
		}
		g, err := t.Guard()
		return err == nil && Uses(g.Own, lever)
	})
}

// KnowsBlock reports whether code made by a recipe is for one size of blocks.
func KnowsBlock(r recipe.Recipe) bool {
	return slices.ContainsFunc(passes, func(p Pass) bool { return p.Block && Uses(r, p.Lever) })
}

// At returns the terms of the recipe that act at a stage.
func At(r recipe.Recipe, s Stage) recipe.Recipe {
	var out recipe.Recipe
	for _, t := range r.Terms {
		if p := lookup(t.Lever); p != nil && p.Stage == s {
			out.Terms = append(out.Terms, t)
		}
	}
	return out
}

// Check reports whether every lever of a recipe is known and takes a site where one is given. A
// recipe of a newer gnvcc fails here.
func Check(r recipe.Recipe) error {
	for _, t := range r.Terms {
		p := lookup(t.Lever)
		if p == nil {
			return fmt.Errorf("recipe %q: lever %s is not known; known are %v", r, t.Lever, names())
		}
		if t.Site != "" && !p.Sites {
			return fmt.Errorf("recipe %q: %s is for the whole kernel and takes no @%s", r, t.Lever, t.Site)
		}
		if err := checkPlace(t); err != nil {
			return fmt.Errorf("recipe %q: %w", r, err)
		}
	}
	entries, err := r.Entries()
	if err != nil {
		return err
	}
	if len(entries) > 1 {
		for _, e := range entries {
			if err := Check(e); err != nil {
				return err
			}
		}
	} else if len(entries) == 1 && entries[0].String() != r.String() {
		return Check(entries[0])
	} else if err := checkThrottle(r); err != nil {
		return err
	} else if err := coarsen.Check(r); err != nil {
		return err
	} else {
		return checkShape(r)
	}
	return nil
}

// checkPlace checks the site of a term, and that a second entry names no argument: a kernel is found
// by its PTX, which knows neither lines nor names.
func checkPlace(t recipe.Term) error {
	if p := lookup(t.Lever); p != nil && p.check != nil {
		if err := p.check(t); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	if !t.IsSecond() {
		return nil
	}
	g, err := t.Guard()
	switch {
	case err != nil:
		return err
	case g.Named() != "":
		return fmt.Errorf(
			"%s: %s is a name; an argument is kept by its number (#0)", t, g.Named())
	}
	return nil
}

// loopSite checks the site of unroll: a loop.
func loopSite(t recipe.Term) error {
	if t.Site == "" {
		return nil
	}
	function, n, ok := strings.Cut(t.Site, ".")
	if !ok {
		function, n = "f", t.Site
	}
	if _, err := recipe.Number(n, 1, 1<<20); err != nil || function == "" {
		return errors.New("a loop is named by its number in the kernel (unroll@2) or in a function (unroll@f.1)")
	}
	return nil
}

// accessSite checks that of hint.
func accessSite(t recipe.Term) error {
	_, _, err := hintSite(t.Site)
	return err
}

func names() []string {
	var out []string
	for _, p := range passes {
		out = append(out, p.Lever)
	}
	sort.Strings(out)
	return out
}
