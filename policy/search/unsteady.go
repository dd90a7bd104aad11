package search

import (
	"fmt"
	"slices"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/lever"
	"gnvcc/profile"
	"gnvcc/rewrite"
)

// Kernels whose results differ from run to run with nvcc's own code: sums by atomics on floats, work
// lists, clocks. There is nothing to compare a candidate's results with. A recipe that is exact by
// construction changes no arithmetic instruction, and what it leaves is what nvcc's own code may
// leave in another order: these are tried, and time alone decides. All others are refused, on every
// configuration of the kernel. Where the PTX shows no reason for the difference (a race between plain
// stores, memory that nobody has written), the kernel is left alone: its bits may hang on
// timing in a way that the program's author does not know.

// differently says how what the default leaves differs from run to run, "" where it does not, or by
// no more than the user allows.
func (s *search) differently(d profile.Difference) string {
	switch {
	case !decide.Within(&s.t.o, &s.k.Kernel, d):
		return "two runs of the default differ (" + d.String() + ")"
	case s.l.Unsteady != "" && s.t.o.Within == (policy.Bound{}):
		return s.l.Unsteady
	}
	return ""
}

// unsteady goes on without comparing results, or gives the reason why the search ends. now is the
// candidate that is admitted, nil if none is. Others that were refused for what they left are tried anew.
func (s *search) unsteady(how string, now *policy.Trial) error {
	why := lever.Unordered.Of(&s.k.Kernel)
	if why == "" || s.k.External != "" {
		return errStop{"nondeterministic: " + how + s.advice()}
	}
	if s.k.Unsteady == "" {
		s.t.progress.Note(fmt.Sprintf("%s: %s (%s): only recipes that change no arithmetic are tried", s.k.Label(), why, how))
	}
	s.k.Unsteady = why
	for _, tr := range slices.Clone(s.c.Notebook.Trials) {
		if refused := s.k.Incomparable(tr.Recipe); refused != "" {
			tr.Refused, tr.Because = refused, ""
		} else if tr.Because == cache.OtherBits && tr == now {
			tr.Refused, tr.Because = "", ""
		} else if tr.Because == cache.OtherBits {
			s.c.Forget(tr)
			s.c.Notebook.Done = false
		}
	}
	return nil
}

// advice is what the user can do.
func (s *search) advice() string {
	if s.t.o.Within != (policy.Bound{}) {
		return "; a larger bound (--within), or a reduction in a fixed order, would allow tuning it"
	}
	return "; a bound (--within ERROR), or a reduction in a fixed order, would allow tuning it"
}

// exact is the weakest promise that a recipe may make here.
func (s *search) exact() rewrite.Exactness {
	if s.k.Unsteady != "" {
		return rewrite.ByConstruction
	}
	return s.t.o.Exact
}
