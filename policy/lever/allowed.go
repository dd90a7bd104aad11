package lever

import (
	"errors"
	"fmt"
	"slices"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// Which levers the user lets a recipe have, what speaks against one that he gives, and which of his
// hints one does not keep.
//
// Hints and meanings. A block's largest size (__launch_bounds__(N)) has a meaning: the program
// is wrong without it, and every recipe keeps it. The second value of __launch_bounds__,
// __maxnreg__(N), -maxrregcount and #pragma unroll N are hints: somebody thought, once and for
// some GPU, that the kernel would be faster with them. What is measured faster on the user's own
// launches outvotes a hint, unless he says --keep-directives (Options.Keep). The kernel's
// identity knows them: with another hint it is another kernel, of which nothing was measured.

// Allowed reports whether all levers of a recipe may be used on a kernel. A copy that only the host
// tells from the kernel belongs to the lever that needs it.
func Allowed(o *policy.Options, k *policy.Kernel, r recipe.Recipe) bool {
	if o.Keep && len(Outvoted(k, r)) > 0 {
		return false
	}
	for _, t := range r.Terms {
		if l := levers()[t.Lever]; l == nil || !t.HostOnly() && !o.Allows(l.Name) &&
			!allowsWith(o, r, l) {
			return false
		}
	}
	return true
}

// allowsWith reports whether a lever that was not asked for may stand in a recipe with one that
// was, as part of its value (a cap with a demotion).
func allowsWith(o *policy.Options, r recipe.Recipe, l *Lever) bool {
	return !slices.Contains(o.Without, l.Name) && slices.ContainsFunc(r.Terms,
		func(t recipe.Term) bool {
			other := levers()[t.Lever]
			return other != nil && o.Allows(other.Name) && slices.Contains(other.With, l.Name)
		})
}

// Pinnable says why a kernel is not to be built with a recipe that a user gives and nothing measures,
// nil if it may be: all that speaks against a candidate before it is run.
func Pinnable(k *policy.Kernel, r recipe.Recipe) error {
	if k.Alone != "" {
		return errors.New(k.Alone)
	}
	if why := k.Shut(r); why != "" {
		return errors.New(why)
	}
	for _, t := range r.Terms {
		if l := levers()[t.Lever]; l != nil && l.Refuse != nil {
			if why := l.Refuse(k, t); why != "" {
				return fmt.Errorf("%s: %s", t, why)
			}
		}
	}
	return nil
}

// Outvoted lists the hints for a kernel that a recipe does not keep.
func Outvoted(k *policy.Kernel, r recipe.Recipe) []string {
	var out []string
	add := func(hint string) {
		if hint != "" && !slices.Contains(out, hint) {
			out = append(out, hint)
		}
	}
	for _, t := range r.Terms {
		if l := levers()[t.Lever]; l != nil && l.Outvotes != nil {
			add(l.Outvotes(k, t))
		}
		if g, err := t.Guard(); err == nil {
			for _, hint := range Outvoted(k, g.Own) {
				add(hint)
			}
		}
	}
	return out
}

// Caching are the groups of terms that only say what the caches shall keep.
func Caching() (out []string) {
	for _, l := range All() {
		out = append(out, l.Caches...)
	}
	return out
}
