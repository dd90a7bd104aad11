package foretell

import (
	"gnvcc/cache"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim/predict"
)

// What hints are worth, by what was counted of a launch.

// hinted is the architecture on whose GPU that was measured.
const hinted = 90

// traffic is what was counted of all accesses together; nothing on another architecture.
func traffic(c *cache.Counts, cc int) (t predict.Traffic) {
	if c == nil || cc != hinted {
		return t
	}
	sum := func(all []uint64) (n float64) {
		for _, v := range all {
			n += float64(v)
		}
		return n
	}
	return predict.Traffic{Sectors: sum(c.Sectors), Memory: sum(c.Memory), Lines: sum(c.Lines)}
}

// hints are recipes with the hints that are worth something, the best first.
func hints(c *cache.Counts, cc int) (out []recipe.Recipe) {
	for _, v := range traffic(c, cc).HintsFor() {
		out = append(out, recipe.Recipe{}.With(recipe.Term{Lever: "ld", Value: v}))
	}
	return out
}

// Worth is the part of the time that is left with a recipe's hints on loads, 1 where nobody knows.
func Worth(c *cache.Counts, cc int, r recipe.Recipe) float64 {
	value, ok := r.Get("ld", "")
	for _, t := range r.Terms {
		ok = ok && (t.Lever != "ld" || t.Site == "") // other loads may have other hints
	}
	if !ok {
		return 1
	}
	return traffic(c, cc).Worth(value)
}
