package decide

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/check"
	"gnvcc/policy/stats"
	"gnvcc/profile"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// Which recipes may be chosen for a kernel, by the rule of settle.go.

// A choice is an eligible recipe.
type choice struct {
	recipe recipe.Recipe
	saved  float64 // ns over all launches seen
	total  float64 // ns of the default over all launches seen
}

// eligible returns what may be chosen, the best first.
func (t *Run) eligible(k *Findings) []choice {
	configs := append(k.measured(), k.earlier(t)...)
	k.withheld = ""
	var out []choice
	winners := slices.DeleteFunc(k.Winners(), func(r recipe.Recipe) bool {
		why := k.Unchecked(r)
		if why != "" {
			k.withheld = fmt.Sprintf("%s is faster, but %s", r, why)
		}
		return why != ""
	})
	for _, r := range append(winners, merged(winners)...) {
		ch := choice{recipe: r}
		better, whole := false, true
		for _, c := range configs {
			tr := c.figure(&k.Kernel, r)
			if tr == nil || tr.Confirmed == nil || tr.Refused != "" {
				whole = false // not known here: not believed
				break
			}
			f := tr.Confirmed
			of := c.judge(f)
			if why := of.harm(c, f, t.Options.Rule); why != "" {
				whole = false
				tr.Refused = why
				break
			}
			better = better || f.BetterBy(t.Options.Rule, of.ratio)
			w := c.weightOf(f.Before.Median)
			ch.total += w
			ch.saved += w * (1 - c.expected(&k.Kernel, tr))
		}
		if !whole || !better || ch.saved <= 0 {
			continue
		}
		if why := k.answers(r, configs); why != "" {
			k.withheld = fmt.Sprintf("%s is faster, but %s", r, why)
			continue
		}
		if why := k.blind(r, configs); why != "" {
			if k.withheld == "" {
				k.withheld = fmt.Sprintf("%s is faster where it was measured, but %s", r, why)
			}
			continue
		}
		out = append(out, ch)
	}
	sort.SliceStable(out, func(i, j int) bool {
		if a, b := out[i], out[j]; math.Abs(a.saved-b.saved) > 0.01*(a.total-a.saved) {
			return a.saved > b.saved
		}
		return policy.Simpler(out[i].recipe, out[j].recipe)
	})
	return out
}

// Coverage is what of nvcc's own code and of a recipe's ran in the launches on which it was checked,
// one of which is returned; nil: there is none.
func (k *Findings) Coverage(r recipe.Recipe) (check.Coverage, *profile.Launch) {
	var own, chosen []*cache.Counts
	var launch *profile.Launch
	for _, c := range k.Configs {
		if tr := c.figure(&k.Kernel, r); tr != nil && tr.Checked > 0 {
			own, chosen, launch = append(own, c.Notebook.Counts), append(chosen, tr.Counts), c.Launch
		}
	}
	return check.CoverageOf(own, chosen), launch
}

// Unchecked says why a recipe must not serve all launches that it would, "" where it may: in some of
// these, arithmetic could run that was never compared.
func (k *Findings) Unchecked(r recipe.Recipe) string {
	if rewrite.ExactnessOf(r) != rewrite.Checked {
		return ""
	}
	c, launch := k.Coverage(r)
	why := c.Never()
	if !c.Counted && k.Decided.Data {
		why = c.Unchecked() + ", and data decides what runs"
	}
	if why != "" || k.IsConfined(r, c) {
		return why
	}
	if why = c.Unchecked(); why == "" {
		why = "its arguments decide where it stores, or which of the numbers computed are used"
	}
	if launch == nil {
		return why
	}
	if _, err := k.Confined(r, launch, c); err != nil {
		why += fmt.Sprintf(", and no second entry can be made for such launches only: %v", err)
	}
	return why
}

// Second entries of a kernel, at the most, and single ones that they are chosen from, in the order in
// which they won. Each costs a run of cicc in every build, and room in the cubin.
const mostEntries, mostSingle = 5, 8

// merged joins recipes for second entries: each of these is a kernel of its own, with its own
// figures, and the host takes the first whose guard holds.
func merged(winners []recipe.Recipe) []recipe.Recipe {
	var single []recipe.Recipe
	for _, r := range winners {
		if entries, err := r.Entries(); err == nil && len(entries) == 1 && len(single) < mostSingle {
			single = append(single, entries[0])
		}
	}
	var out []recipe.Recipe
	var add func(chosen, left []recipe.Recipe)
	add = func(chosen, left []recipe.Recipe) {
		if len(chosen) > 1 {
			out = append(out, recipe.Join(chosen))
		}
		if len(chosen) == mostEntries {
			return
		}
		for i, r := range left {
			if !slices.ContainsFunc(chosen, func(c recipe.Recipe) bool {
				return conditionsOf(c) == conditionsOf(r)
			}) {
				add(append(slices.Clone(chosen), r), left[i+1:])
			}
		}
	}
	add(nil, single)
	return out
}

// conditionsOf is the text of a single entry's guard, "" if it has none.
func conditionsOf(r recipe.Recipe) string {
	for _, t := range r.Terms {
		if t.IsSecond() {
			return t.Value
		}
	}
	return ""
}

// figure is what is known of a recipe on a configuration. Of several second entries it is the first
// one that its launches can take; where they can take none, they take the kernel itself, which is
// nvcc's own.
func (c *Config) figure(k *policy.Kernel, r recipe.Recipe) *policy.Trial {
	if tr := c.Trial(r.String()); tr != nil {
		return tr
	}
	entries, err := r.Entries()
	if err != nil || len(entries) == 0 {
		return nil
	}
	for _, e := range entries {
		if c.takes(k, e) {
			return c.Trial(e.String()) // nil: not known
		}
	}
	return &policy.Trial{Recipe: r, Text: r.String(), Build: k.Default, Confirmed: &policy.Compared{
		Ratio: stats.Interval{Estimate: 1, Low: 1, High: 1, N: 1}, Before: c.Before, After: c.Before}}
}

// excluded reports whether no launch of the configuration can have fulfilled a guard: something in it
// had another value in all of them.
func (c *Config) excluded(k *policy.Kernel, g recipe.Guard) bool {
	return c.Launch != nil && g.Excludes(policy.LookUp(policy.Values(k, c.Launch)))
}

// expected is the ratio that can be claimed over all launches of a configuration: those whose
// values varied are taken to run the kernel itself.
func (c *Config) expected(k *policy.Kernel, tr *policy.Trial) float64 {
	ratio := c.judge(tr.Confirmed).ratio
	if c.Launch == nil || c.Count == 0 || !k.Broken(tr.Recipe, c.Launch) {
		return ratio
	}
	held := float64(c.Count-min(c.Varied, c.Count)) / float64(c.Count)
	return held*ratio + 1 - held
}

// weight is the time of all launches of a configuration with the default, ns: as the program took
// it, where that was seen, since a replay need not take the same; of what was seen of one
// configuration, all is seen so.
func (c *Config) weight() float64 { return c.weightOf(c.Before.Median) }

func (c *Config) weightOf(ns float64) float64 {
	if c.Seconds > 0 {
		return c.Seconds * 1e9
	}
	return float64(max(c.Count, 1)) * math.Max(ns, 1)
}
