package decide

import (
	"fmt"

	"gnvcc/policy"
	"gnvcc/rewrite/recipe"
)

// The best that was measured is not always what is adopted, and whoever reads the figures asks why.

// worthSaying is how much less time (a part of the chosen recipe's) makes a candidate one that is
// missed: what a race of few launches can tell with certainty, and a comparison would adopt.
const worthSaying = 0.03

// passed says of the candidate that took least time, over all configurations, why another one was
// chosen, "" where none took clearly less or the reason stands with it (it was refused; on fresh
// samples it was no better).
func (k *Findings) passed(all []*Config, chosen recipe.Recipe) string {
	var best *policy.Trial
	least := (1 - worthSaying) * k.over(all, chosen, chosen)
	for _, c := range all {
		for _, tr := range c.Notebook.Trials {
			if tr.Refused != "" || tr.Same != "" || tr.Ratio <= 0 || tr.Stale {
				continue
			}
			if t := k.over(all, tr.Recipe, chosen); t < least {
				best, least = tr, t
			}
		}
	}
	if best == nil {
		return ""
	}
	if best.Open == "" {
		return ""
	}
	return fmt.Sprintf("%s took %.2fx the default's time when tried, but %s", best.Text, least, best.Open)
}

// over is the part of the default's time that a recipe takes over all configurations; where it was
// not measured, the chosen one's there.
func (k *Findings) over(all []*Config, r, chosen recipe.Recipe) float64 {
	var time, weight float64
	for _, c := range all {
		ratio := 1.0
		for _, one := range []recipe.Recipe{r, chosen} {
			tr := c.figure(&k.Kernel, one)
			if tr == nil || tr.Refused != "" || tr.Ratio <= 0 && tr.Confirmed == nil {
				continue
			}
			if ratio = tr.Ratio; tr.Confirmed != nil {
				ratio = tr.Confirmed.Ratio.Estimate
			}
			break
		}
		w := c.weight()
		time, weight = time+w*ratio, weight+w
	}
	if weight == 0 {
		return 1
	}
	return time / weight
}
