package policy

import (
	"fmt"
	"math"
	"slices"

	"gnvcc/rewrite/recipe"
)

// Configurations that nobody measured: their launches are too long, too short, too many, or of a kind that can't be repeated. A recipe that won
// elsewhere may be slower there, and nobody would know. So it is adopted only where the host keeps it from them (a second entry for other
// values, blocks or grids), or where they take a small share of the kernel's time.

// smallShare is the part of a kernel's time that may go to a recipe that was not measured on it. Even where it were half as fast
// again, the whole would not be harmed by more than 2.5 %, less than what the rest must gain (stats.Standard).
const smallShare = 0.05

// unmeasured lists the configurations that a decision knows nothing of.
func (k *kernel) unmeasured() []*config {
	known := map[*config]bool{}
	for _, c := range k.measured() {
		known[c] = true
	}
	var out []*config
	for _, c := range k.order {
		if !known[c] {
			out = append(out, c)
		}
	}
	return out
}

// blind says what speaks against a recipe because of the launches that nobody measured, "" if nothing does. configs are those that
// were measured.
func (k *kernel) blind(r recipe.Recipe, configs []*config) string {
	seen, unseen := 0.0, 0.0
	for _, c := range configs {
		seen += float64(max(c.count, 1)) * c.before.Median
	}
	var worst *config
	most := 0.0
	for _, c := range k.unmeasured() {
		if c.count == 0 || c.avoids(&k.Kernel, r) {
			continue
		}
		t := float64(c.count) * c.guess(configs)
		if unseen += t; t > most {
			worst, most = c, t
		}
	}
	if unseen <= smallShare*(seen+unseen) {
		return ""
	}
	why := worst.alone
	if why == "" {
		why = "it was not reached"
	}
	return fmt.Sprintf("about %.0f %% of its time is in launches that nobody measured (%s: %s)", 100*unseen/(seen+unseen), worst.shape, why)
}

// avoids tells whether the host keeps a configuration's launches from all that a recipe makes.
func (c *config) avoids(k *Kernel, r recipe.Recipe) bool {
	guards, err := r.Guards()
	return r.HasSecond() && err == nil && !slices.ContainsFunc(guards, func(g recipe.Guard) bool { return !c.excluded(k, g) })
}

// guess is the time of one launch, ns: measured if it was looked at, else that of the slowest launch that was, for more blocks in proportion.
func (c *config) guess(configs []*config) float64 {
	if c.before.Median > 0 {
		return c.before.Median
	}
	most := 1.0
	for _, other := range configs {
		more := float64(c.shape.Blocks()) / math.Max(float64(other.shape.Blocks()), 1)
		most = math.Max(most, other.before.Median*math.Max(more, 1))
	}
	return most
}
