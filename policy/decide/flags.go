package decide

import (
	"math"

	"gnvcc/policy"
	"gnvcc/policy/stats"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// Kernels to which a flag makes no difference. A flag of ptxas is for all kernels of a file, so all
// of them have to want it; one whose code it leaves as it is has nothing against it.

// indifferent gives such kernels the choice of flags that others of their file have, at no gain.
func (t *Run) indifferent(eligible map[*Findings][]choice) {
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

// unmoved tells whether a recipe is known to give the default's own code on every configuration
// that counts.
func (k *Findings) unmoved(r recipe.Recipe) bool {
	configs := k.measured()
	for _, c := range configs {
		tr := c.Trial(r.String())
		if tr == nil || tr.Refused != "" || tr.Same != "-" {
			return false
		}
		if tr.Confirmed == nil {
			tr.Confirmed = &policy.Compared{Ratio: stats.Interval{Estimate: 1, Low: 1, High: 1, N: 1},
				Before: c.Before, After: c.Before}
		}
	}
	return len(configs) > 0
}

// fileFlags decides on flags for the PTX files: those that all kernels of a file are for and that
// save most.
func (t *Run) fileFlags(eligible map[*Findings][]choice) map[string]string {
	files := map[string][]*Findings{}
	for _, k := range t.Kernels {
		if k.Identity != "" {
			files[k.File] = append(files[k.File], k)
		}
	}
	out := map[string]string{}
	for file, kernels := range files {
		whole := len(kernels) == len(kernels[0].Siblings)+1
		best, flags := bestFlags(kernels, eligible, ""), map[string]bool{}
		for _, k := range kernels {
			for _, ch := range eligible[k] {
				flags[fileTerms(ch.recipe)] = true
			}
		}
		if !whole {
			continue
		}
		for f := range flags {
			if saved := bestFlags(kernels, eligible, f); saved > best {
				best, out[file] = saved, f
			}
		}
	}
	return out
}

// bestFlags is what kernels of a file save under flags, -Inf if one of them is against it.
func bestFlags(kernels []*Findings, eligible map[*Findings][]choice, flags string) float64 {
	sum := 0.0
	for _, k := range kernels {
		ch := choose(eligible[k], flags)
		switch {
		case ch != nil:
			sum += ch.saved
		case flags != "":
			return math.Inf(-1)
		}
	}
	return sum
}

// fileTerms returns the text of a recipe's terms that are the whole file's.
func fileTerms(r recipe.Recipe) string {
	return rewrite.At(r, rewrite.Flag).String()
}
