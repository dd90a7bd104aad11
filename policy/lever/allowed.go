package lever

import (
	"slices"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// Which levers the user lets a recipe have.

// Allowed tells whether all levers of a recipe may be used on a kernel. A copy that only the host
// tells from the kernel belongs to the lever that needs it.
func Allowed(o *policy.Options, k *policy.Kernel, r recipe.Recipe) bool {
	if o.Keep && len(k.Outvoted(r)) > 0 {
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

// allowsWith tells whether a lever that was not asked for may stand in a recipe beside one that
// was, as part of its value (a cap beside a demotion).
func allowsWith(o *policy.Options, r recipe.Recipe, l *Lever) bool {
	return !slices.Contains(o.Without, l.Name) && slices.ContainsFunc(r.Terms,
		func(t recipe.Term) bool {
			other := levers()[t.Lever]
			return other != nil && o.Allows(other.Name) && slices.Contains(other.With, l.Name)
		})
}
