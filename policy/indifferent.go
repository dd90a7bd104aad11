package policy

import (
	"gnvcc/policy/stats"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// Kernels to which a flag makes no difference. A flag of ptxas is for all kernels of a file, so all of them have to want it; one whose
// code it leaves as it is has nothing against it.

// indifferent gives such kernels the choice of flags that others of their file have, at no gain.
func (t *Tuner) indifferent(eligible map[*kernel][]choice) {
	wanted := map[string]map[string]recipe.Recipe{} // file -> flags as text -> as a recipe
	for k, choices := range eligible {
		for _, ch := range choices {
			if flags := fileTerms(ch.recipe); flags != "" {
				if wanted[k.File] == nil {
					wanted[k.File] = map[string]recipe.Recipe{}
				}
				wanted[k.File][flags] = rewrite.At(ch.recipe, rewrite.Flag)
			}
		}
	}
	for k, choices := range eligible {
		for flags, r := range wanted[k.File] {
			if choose(choices, flags) == nil && k.unmoved(r) {
				eligible[k] = append(eligible[k], choice{recipe: r})
			}
		}
	}
}

// unmoved tells whether a recipe is known to give the default's own code on every configuration that counts.
func (k *kernel) unmoved(r recipe.Recipe) bool {
	configs := k.measured()
	for _, c := range configs {
		tr := c.trial(r.String())
		if tr == nil || tr.Refused != "" || tr.Same != "-" {
			return false
		}
		if tr.Confirmed == nil {
			tr.Confirmed = &Compared{Ratio: stats.Interval{Estimate: 1, Low: 1, High: 1, N: 1}, Before: c.before, After: c.before}
		}
	}
	return len(configs) > 0
}
