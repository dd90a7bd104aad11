package decide

import (
	"fmt"
	"maps"
	"sort"
	"strings"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/profile"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// What is written down of a kernel.

// decide writes a kernel's decision down; nil if nothing was measured and nothing can be said that
// is not known already.
func (t *Run) decide(k *Findings, choices []choice) *cache.Decision {
	configs := k.measured()
	d := &cache.Decision{Identity: k.Identity, Kernel: k.Name, Target: k.Target, For: k.For,
		Time: t.Now()}
	d.Evidence = cache.Evidence{Device: k.Device, Driver: t.Options.Driver, Version: t.Options.Version,
		Default: k.Default, Chosen: k.Default}
	d.Exactness = rewrite.ExactnessOf(recipe.Recipe{}).String()
	if len(configs) == 0 {
		if k.Past != nil {
			return nil
		}
		d.Evidence.Note = append(k.leftAlone(), "no launch was measured")[0]
		return d
	}
	all := append(configs, k.earlier(t)...)
	var chosen recipe.Recipe
	if len(choices) > 0 {
		chosen = choices[0].recipe
		d.Recipe, d.Exactness = chosen.String(), rewrite.ExactnessOf(chosen).String()
		if e := t.error(k, configs, chosen); e != (policy.Error{}) {
			d.Exactness = rewrite.Approximate.String()
			d.Evidence.Note = t.off(e)
		}
		if note := k.among(chosen, all); note != "" {
			d.Evidence.Note = strings.TrimPrefix(d.Evidence.Note+"; "+note, "; ")
		}
	} else {
		d.Evidence.Note = k.withheld
	}
	if why := k.passed(all, chosen); why != "" {
		d.Evidence.Note = strings.TrimPrefix(d.Evidence.Note+"; "+why, "; ")
	}
	k.incomparable(d)
	for _, c := range all {
		if c.Note != "" {
			d.Evidence.Note = strings.TrimPrefix(d.Evidence.Note+"; "+c.Note, "; ")
		}
		l := cache.Launch{Grid: c.Shape.Grid, Block: c.Shape.Block, Dynamic: c.Shape.Dynamic,
			Set: c.Shape.Set, Count: c.Count, Seconds: c.Seconds, Before: c.Before, After: c.Before,
			Counts: c.Notebook.Counts}
		if c.Notebook.Cost != (cache.Cost{}) {
			l.Cost = &c.Notebook.Cost
		}
		if c.Launch != nil {
			l.Values, l.Arrays = constants(&k.Kernel, c.Launch), c.Launch.Arrays
		}
		if tr := c.figure(&k.Kernel, chosen); tr != nil && len(choices) > 0 {
			if tr.Build.Registers > d.Evidence.Chosen.Registers || tr.Build.Registers > 0 &&
				d.Evidence.Chosen == k.Default {
				d.Evidence.Chosen = tr.Build // of several entries the one with the most registers
			}
			l.Checked, l.Varied, l.Before, l.After = tr.Checked, tr.Varied, tr.Confirmed.Before,
				tr.Confirmed.After
			if rewrite.ExactnessOf(chosen) == rewrite.Checked {
				l.Chosen = tr.Counts
			}
			// Times drift over a run: what was compared block by block is the truth, and the table's ratio
			// shall be it.
			l.After = scaled(l.After, l.Before.Median*c.expected(&k.Kernel, tr))
		}
		d.Evidence.Launches = append(d.Evidence.Launches, l)
	}
	d.Evidence.Rest = k.rest(chosen, all)
	d.Evidence.Tried = tried(all, d.Recipe)
	for _, c := range configs {
		for lever, why := range c.Untried {
			if d.Evidence.Untried == nil {
				d.Evidence.Untried = map[string]string{}
			}
			d.Evidence.Untried[lever] = why
		}
	}
	d.Evidence.Normals = normals(all, chosen)
	d.Evidence.Names = k.ArgumentNames(chosen)
	d.Evidence.Outvoted = lever.Outvoted(&k.Kernel, chosen)
	d.Evidence.Program = k.said(d.Recipe)
	return d
}

// incomparable says of a kernel whose results differ from run to run that they were not compared.
func (k *Findings) incomparable(d *cache.Decision) {
	switch {
	case k.Unsteady == "":
	case d.Recipe != "":
		d.Evidence.Unsteady = k.Unsteady
	default:
		d.Evidence.Note = strings.TrimPrefix(d.Evidence.Note+"; "+k.Unsteady+
			": only recipes that change no arithmetic were tried (a bound, --within ERROR, or a reduction in a fixed order allows more)", "; ")
	}
}

// said is what the program said of a recipe, or of one that was taken back where there is no other.
func (k *Findings) said(r string) *cache.InProgram {
	if k.Past == nil || k.Past.Evidence.Program == nil || k.Past.Evidence.Device != k.Device {
		return nil
	}
	if of := k.Past.Evidence.Program; of.Recipe == r && of.TakenBack == "" || r == "" && of.TakenBack != "" {
		return of
	}
	return nil
}

// normals gathers what cicc gave for a recipe, for each of its second entries.
func normals(configs []*Config, r recipe.Recipe) map[string]string {
	parts, err := r.Entries()
	if err != nil {
		return nil
	}
	var out map[string]string
	for _, part := range append(parts, r) {
		for _, c := range configs {
			if tr := c.Trial(part.String()); tr != nil && len(tr.Normals) > 0 {
				if out == nil {
					out = map[string]string{}
				}
				maps.Copy(out, tr.Normals)
				break
			}
		}
	}
	return out
}

// error is the largest error that a recipe, or the kernel itself from run to run, was seen to have.
func (t *Run) error(k *Findings, configs []*Config, r recipe.Recipe) policy.Error {
	var e policy.Error
	for _, c := range configs {
		e = e.Larger(c.Random)
		if tr := c.figure(&k.Kernel, r); tr != nil {
			e = e.Larger(tr.Error)
		}
	}
	return e
}

// off says how far results are off.
func (t *Run) off(e policy.Error) string {
	return fmt.Sprintf("results differ by up to %.2g, %.2g in the mean; %s is allowed", e.Max, e.Mean,
		t.Options.Within)
}

// scaled moves a time to another median.
func scaled(t cache.Time, median float64) cache.Time {
	if t.Median <= 0 {
		return t
	}
	f := median / t.Median
	return cache.Time{Median: median, Low: t.Low * f, High: t.High * f, N: t.N}
}

// constants are the values that all launches of a configuration had in common, by name.
func constants(k *policy.Kernel, l *profile.Launch) map[string]string {
	out := map[string]string{}
	for _, v := range policy.Values(k, l) {
		switch v.Kind {
		case policy.Scalar:
			out[v.Name] = v.Text()
		case policy.Alignment:
			out[v.Name] = "aligned to " + v.Text()
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// tried sums up the trials of all configurations: ratios weighted by time, a refusal anywhere is
// one.
func tried(configs []*Config, chosen string) []cache.Trial {
	type sum struct {
		cache.Trial
		time, weight float64
	}
	sums := map[string]*sum{}
	var order []string
	for _, c := range configs {
		w := c.weight()
		for _, tr := range c.Notebook.Trials {
			s := sums[tr.Text]
			if s == nil {
				s = &sum{Trial: cache.Trial{Recipe: tr.Text, Build: tr.Build}}
				sums[tr.Text] = s
				order = append(order, tr.Text)
			}
			ratio := tr.Ratio
			if tr.Confirmed != nil {
				ratio = tr.Confirmed.Ratio.Estimate
			}
			if ratio > 0 {
				s.time, s.weight = s.time+w*ratio, s.weight+w
			}
			if tr.Confirmed == nil {
				s.Open = tr.Open
			}
			switch {
			case s.Refused != "":
			case tr.Refused != "":
				s.Refused, s.Because = tr.Refused, tr.Because
			case tr.Same == "-":
				s.Refused, s.Because = "the same code as the default", cache.SameCode
			case tr.Same != "" && tr.Text != chosen:
				s.Refused, s.Because = "the same code as "+tr.Same, cache.SameCode
			}
		}
	}
	var out []cache.Trial
	for _, text := range order {
		s := sums[text]
		if s.weight > 0 {
			s.Ratio = s.time / s.weight
		}
		out = append(out, s.Trial)
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i].Ratio, out[j].Ratio
		if (a > 0) != (b > 0) {
			return a > 0
		}
		return a < b
	})
	return out
}
