package recipe

import "fmt"

// Second entries. A recipe with spec terms is for entries that stand beside the kernel, one a term.
// What they have in common stands outside; what only one of them is built with stands in its
// braces, behind a bar:
//
//	hint@ld=cs spec{n=64} spec{n=1024}
//	spec{n=64} spec{n=1024|maxnreg=96 unroll=4}
//
// The host looks at them in this order and launches the first whose conditions hold.

// Entries gives the recipe of each second entry by itself: all its terms, and one spec term without
// a bar. None where the recipe is for the kernel itself.
func (r Recipe) Entries() ([]Recipe, error) {
	var common Recipe
	var seconds []Term
	for _, t := range r.Terms {
		if t.IsSecond() {
			seconds = append(seconds, t)
		} else {
			common.Terms = append(common.Terms, t)
		}
	}
	var out []Recipe
	for _, t := range seconds {
		g, err := t.Guard()
		if err != nil {
			return nil, fmt.Errorf("recipe %q: %w", r, err)
		}
		e := Recipe{Terms: append([]Term(nil), common.Terms...)}
		for _, own := range g.Own.Terms {
			e = e.With(own)
		}
		g.Own = Recipe{}
		out = append(out, e.With(g.Term()))
	}
	return out, nil
}

// Join makes one recipe of recipes that have one spec term each. The order stays: the host looks at
// the first one first.
func Join(entries []Recipe) Recipe {
	if len(entries) == 1 {
		return entries[0]
	}
	rest := make([]Recipe, len(entries))
	same := true
	for i, e := range entries {
		for _, t := range e.Terms {
			if !t.IsSecond() {
				rest[i].Terms = append(rest[i].Terms, t)
			}
		}
		same = same && rest[i].String() == rest[0].String()
	}
	var out Recipe
	if same && len(entries) > 0 {
		out.Terms = append(out.Terms, rest[0].Terms...)
	}
	for i, e := range entries {
		for _, t := range e.Terms {
			if t.IsSecond() {
				if !same && !rest[i].IsDefault() {
					t.Value += "|" + rest[i].String()
				}
				out = out.With(t)
			}
		}
	}
	return out
}
