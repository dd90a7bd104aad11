package policy

import (
	"fmt"
	"slices"

	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// Why a lever has nothing to try on a kernel. A report would otherwise leave open whether it was forgotten.

// untried returns the reasons, by lever, for those of which nothing is tried at first. What is tried around a winner later
// makes the reason void.
func (s *search) untried() map[string]string {
	out := map[string]string{}
	for _, l := range Levers() {
		if why := s.whyNot(l); why != "" {
			out[l.Name] = why
		}
	}
	return out
}

func (s *search) whyNot(l *Lever) string {
	if !s.t.o.allows(l) {
		return "left out by the options of this run"
	}
	if slices.Contains(s.k.Banned, l.Name) {
		return "banned by the user (gnvcc ban)"
	}
	if e := exactnessOf(l.Name); e > s.t.o.Exact {
		if e == rewrite.Approximate {
			return "not the same results: only where it is asked for"
		}
		return fmt.Sprintf("not exact by %s, which was asked for", s.t.o.Exact)
	}
	if l.Try != nil {
		for _, r := range l.Try(s.sit) {
			if s.permitted(r) {
				return ""
			}
		}
	}
	if l.Why != nil {
		if why := l.Why(s.sit); why != "" {
			return why
		}
	}
	return "no value for this kernel"
}

// exactnessOf is a lever's own.
func exactnessOf(name string) rewrite.Exactness {
	return rewrite.ExactnessOf(recipe.Recipe{Terms: []recipe.Term{{Lever: name, Value: "x"}}})
}
