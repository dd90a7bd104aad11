package lever

import (
	"slices"
	"strings"

	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/demote"
	"gnvcc/rewrite/recipe"
)

// Recipes taken apart and put together, as levers and the search need them.

// ForDynamic reports whether all copies of a recipe are for launches with one size of dynamic shared
// memory: no other launch comes to them.
func ForDynamic(r recipe.Recipe) bool {
	copies := 0
	for _, t := range r.Terms {
		if !t.IsSecond() {
			continue
		}
		g, err := t.Guard()
		if err != nil {
			return false
		}
		if _, ok := g.Dynamic(); !ok {
			return false
		}
		copies++
	}
	return copies > 0
}

// Group names the terms of which a recipe has one value or the other, and the search combines one
// with the best of each other group: those of one lever; of hints, those for loads ("hint@ld") and
// those for stores ("hint@st").
func Group(t recipe.Term) string {
	if l := levers()[t.Lever]; l != nil && l.Group != nil {
		return l.Group(t)
	}
	return t.Lever
}

// Of returns the group of a recipe's terms, or "" if it has several. A copy that only the host
// tells from the kernel is none by itself.
func Of(r recipe.Recipe) string {
	name := ""
	for _, t := range r.Terms {
		if t.HostOnly() {
			continue
		}
		if name != "" && Group(t) != name {
			return ""
		}
		name = Group(t)
	}
	return name
}

// sitesOf returns the sites at which a recipe has a term's group and value.
func sitesOf(r recipe.Recipe, like recipe.Term) []string {
	var out []string
	for _, t := range r.Terms {
		if Group(t) == Group(like) && t.Value == like.Value && t.Site != "" {
			out = append(out, t.Site)
		}
	}
	return out
}

// Term makes a recipe of one term, of a lever ("maxnreg") or of one at a site ("hint@ld").
func Term(name, value string) recipe.Recipe {
	lever, site, _ := strings.Cut(name, "@")
	return recipe.Recipe{}.With(recipe.Term{Lever: lever, Site: site, Value: value})
}

// terms makes a recipe of each value.
func terms(name string, values ...string) (out []recipe.Recipe) {
	for _, v := range values {
		out = append(out, Term(name, v))
	}
	return out
}

// Join returns a with b's terms in addition; b's take the place of a's where they stand at the same
// site.
func Join(a, b recipe.Recipe) recipe.Recipe {
	if r, ok := joinSpecs(a, b); ok {
		return r
	}
	for _, t := range b.Terms {
		a = a.With(t)
	}
	return a
}

// Needed is the largest block that must be launched under a recipe: that of the default, that of
// the guards, or those that its entries are launched with.
func Needed(r recipe.Recipe, largest int) int {
	if n, ok := shapedBlock(r); ok {
		return n
	}
	if n, ok := guardedBlock(r); ok {
		return min(n, largest)
	}
	return largest
}

func spec(values []policy.Value) recipe.Recipe {
	return recipe.Recipe{}.With(policy.Guard(values).Term())
}

// shapedBlock returns the threads of the largest block that a recipe's entries are launched with,
// where each has one of its own.
func shapedBlock(r recipe.Recipe) (int, bool) {
	entries, err := r.Entries()
	most := 0
	for _, e := range entries {
		b := rewrite.Shape(e)
		if b == [3]int{} {
			return 0, false
		}
		most = max(most, b[0]*b[1]*b[2])
	}
	return most, err == nil && most > 0
}

// guardedBlock returns the threads of the largest block for which a recipe's second entry is
// launched; false if its guards don't bound the block.
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

// joinSpecs joins two recipes of which one or both have a copy. Conditions that the host alone
// looks at, which a throttled entry needs, go to the copy that is there: a launch takes one entry,
// not two. False: neither is such a one.
func joinSpecs(a, b recipe.Recipe) (recipe.Recipe, bool) {
	var host, values []recipe.Term
	for _, t := range append(a.Terms[:len(a.Terms):len(a.Terms)], b.Terms...) {
		switch {
		case t.HostOnly():
			host = append(host, t)
		case t.IsSecond():
			values = append(values, t)
		}
	}
	if len(host) == 0 {
		return recipe.Recipe{}, false
	}
	out := Join(a.Without(recipe.Second), b.Without(recipe.Second))
	if len(values) == 0 {
		return out.With(host[len(host)-1]), true
	}
	for _, t := range values {
		g, err := t.Guard()
		more, hostErr := host[len(host)-1].Guard()
		if err == nil && hostErr == nil && !slices.ContainsFunc(g.Conditions, recipe.Condition.Host) {
			t = g.And(more).Term()
		}
		out = out.With(t)
	}
	return out, true
}

// Has reports whether a recipe has a term of a lever, or of a group.
func Has(r recipe.Recipe, lever string) bool {
	for _, t := range r.Terms {
		if t.Lever == lever || Group(t) == lever {
			return true
		}
	}
	return false
}

// HasStage reports whether any of a recipe's levers belongs to a stage.
func HasStage(r recipe.Recipe, stage rewrite.Stage) bool {
	for _, t := range r.Terms {
		if l := Named(t.Lever); l != nil && l.Stage == stage && !t.HostOnly() {
			return true
		}
	}
	return false
}

// ExactnessOf is a lever's own, as rewrite's table has it: a recipe's may be weaker by what a copy
// is built with.
func ExactnessOf(name string) rewrite.Exactness {
	for _, p := range rewrite.Levers() {
		if p.Lever == name {
			return p.Exact
		}
	}
	return rewrite.Approximate
}

// ToShared returns the recipes that keep values in shared memory, for a launch.
func ToShared(s *Situation) []recipe.Recipe { return levers()[demote.Lever].Try(s) }
