package search

import (
	"fmt"
	"slices"

	"gnvcc/policy/lever"
	"gnvcc/rewrite"
)

// Why a lever has nothing to try on a kernel. A report would otherwise leave open whether it was
// forgotten.

// untried returns the reasons, by lever, for those of which nothing is tried at first. What is
// tried around a winner later makes the reason void.
func (s *search) untried() map[string]string {
	out := map[string]string{}
	for _, l := range lever.All() {
		if why := s.whyNot(l); why != "" {
			out[l.Name] = why
		}
	}
	return out
}

func (s *search) whyNot(l *lever.Lever) string {
	if !s.t.o.Allows(l.Name) {
		return "excluded by this run's options"
	}
	if slices.Contains(s.k.Banned, l.Name) {
		return "banned by the user (gnvcc pin --without)"
	}
	if why := s.k.Shut(lever.Term(l.Name, "")); why != "" {
		return why
	}
	if e := lever.ExactnessOf(l.Name); e > s.exact() {
		if s.k.Unsteady != "" && e <= s.t.o.Exact {
			return s.k.Unsteady + ": what changes its arithmetic can't be checked"
		}
		if e == rewrite.Approximate {
			return "gives other results: only with --exact=approximate"
		}
		return fmt.Sprintf("not exact by %s, as --exact demands", s.t.o.Exact)
	}
	if l.Try != nil {
		if slices.ContainsFunc(l.Try(s.sit), s.permitted) {
			return ""
		}
	}
	if l.Why != nil {
		if why := l.Why(s.sit); why != "" {
			return why
		}
	}
	return "no value for this kernel"
}
