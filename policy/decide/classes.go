package decide

import (
	"fmt"
	"math"

	"gnvcc/policy"
	"gnvcc/policy/stats"
	"gnvcc/profile"
)

// Launches of one configuration may differ in work: of a breadth-first search most have an empty
// frontier. A recipe that won on such a one was measured at 0.42 of nvcc's speed in the program. So
// the program's launches are taken by classes of time, and a recipe is weighed by them: it must be
// no slower on any class that has thin of the time or more. A class is measured where nvcc's code
// takes, in the replay of some captured launch, what it takes in the program; or where it lies
// between two such launches, near to each other or of those that span (reach). What is not measured
// counts as launches that were not captured (blind).
//
// Of 138 adopted recipes of two recorded suites (bench, listed and unseen programs) the mean alone
// refuses nine: both of the search, and seven that a distribution, or a capture more, lets pass.

const (
	uniform = 1.5 // times that spread by less are noise: they are one class
	thin    = 0.05
	// What the program's time may be of the replay's. Longer: by this, and by what events around a
	// launch take that the device waits for. In 138 recorded configurations that was 4 to 29 us in the
	// mean where the launches are the same, and more where hardly any was timed.
	longer, events, eventsOfFew = 1.1, 20e3, 60e3
	// Shorter: the replay's cache may be colder. A launch with more work by this is no other one.
	shorter = 1.15
	few     = 3 // timed launches from which a time is believed
	apart   = 3 // measured launches further apart, in time, stand for none between them unless they span
)

// A band is launches of about the same time, ns each, and how many; by which captured launches it is measured.
type band struct {
	mean, launches float64
	measured       []policy.Part
}

// judgement is what the captured launches say of all those of a configuration.
type judgement struct {
	ratio      float64 // that can be claimed of all of them
	unmeasured float64 // part of their time
	mean       float64 // ns, of the largest class that is not measured
	slow, at   float64 // the largest ratio on a class that is not thin, and ns of its launches
	several    bool    // they differ in work
}

// judge weighs a recipe by classes. Figures of one that was compared on one launch, by a run that
// did not take its time down, are of all.
func (c *Config) judge(f *policy.Compared) judgement {
	parts := f.Parts
	if len(parts) == 0 || parts[0].Base == 0 {
		parts = []policy.Part{{Base: f.Before.Median, Estimate: f.Ratio.Estimate, Ratio: f.Careful()}}
	}
	bands, several := c.bands(parts)
	j := judgement{ratio: f.Careful(), several: several}
	total, worst, sum, most := 0.0, 0.0, 0.0, 0.0
	for _, p := range parts {
		worst = max(worst, p.Ratio)
	}
	for _, b := range bands {
		work := b.work()
		total += work
		if len(b.measured) == 0 {
			if j.unmeasured += work; work > most {
				most, j.mean = work, b.mean
			}
			sum += work * worst
			continue
		}
		ratio := 0.0
		for _, p := range b.measured {
			ratio = max(ratio, p.Ratio)
		}
		sum += work * ratio
	}
	if total == 0 {
		return j
	}
	j.unmeasured /= total
	if several {
		j.ratio = sum / total
	}
	for _, b := range bands {
		for _, p := range b.measured {
			if several && b.work() >= thin*total && p.Estimate > j.slow {
				j.slow, j.at = p.Estimate, b.mean
			}
		}
	}
	return j
}

// harm says where a recipe is slower than a rule allows, "" nowhere.
func (j judgement) harm(c *Config, f *policy.Compared, rule stats.Rule) string {
	switch {
	case j.slow > 1+rule.Harm:
		return fmt.Sprintf("%.1f %% slower on %s, in launches of %.3g us", 100*(j.slow-1), c.Shape, j.at/1e3)
	case rule.Harmful(f.Ratio) && !c.Thin(f.Before.Median):
		return fmt.Sprintf("%.1f %% slower on %s", 100*(f.Ratio.Estimate-1), c.Shape)
	}
	return ""
}

// work is what a band's launches take, ns: in the replay, where that is known; what events take
// is none.
func (b band) work() float64 {
	if len(b.measured) == 0 {
		return b.launches * max(b.mean-events, b.mean/2)
	}
	least := math.Inf(1)
	for _, p := range b.measured {
		least = min(least, p.Base)
	}
	return b.launches * max(min(b.mean, least), (b.mean-events)/longer) // the latter where none covers it
}

// Thin reports whether launches that take so long in the replay (ns) are some, and have too little of the
// configuration's time to speak against a recipe.
func (c *Config) Thin(base float64) bool {
	classes := c.classes()
	if all := joined(classes); covers(base, all.Mean()*1e9, events) && !differ(classes) {
		return false
	}
	all, here := 0.0, 0.0
	for _, x := range classes {
		b := band{mean: x.Mean() * 1e9, launches: float64(x.Launches)}
		if covers(base, b.mean, events) {
			b.measured = []policy.Part{{Base: base}}
			here += b.work()
		}
		all += b.work()
	}
	return here > 0 && here < thin*all
}

// bands are the configuration's classes, with the captured launches that measure each; several:
// they differ in work. None where the program's times are not known.
func (c *Config) bands(parts []policy.Part) (bands []band, several bool) {
	slack := events
	if c.Sampled < few {
		slack = eventsOfFew
	}
	classes := c.classes()
	if len(classes) == 0 || c.Count > 0 && c.Count <= len(parts) {
		return nil, false // not known, or every launch was captured
	}
	// A captured launch stands for itself, whatever it took there: the first one of a run waits for
	// its code, and comes to a device with low clocks.
	for _, p := range parts {
		for i := range classes {
			x := &classes[i]
			if p.Took > 0 && x.Launches > 0 && profile.ClassOf(p.Took) == x.Low &&
				!covers(p.Base, p.Took*1e9, slack) {
				x.Launches, x.Seconds = x.Launches-1, max(x.Seconds-p.Took, 0)
				bands = append(bands, band{p.Base, 1, []policy.Part{p}})
				break
			}
		}
	}
	several = differ(classes)
	if !several {
		classes = []profile.Class{joined(classes)}
	}
	for _, x := range classes {
		if x.Launches > 0 {
			b := band{mean: x.Mean() * 1e9, launches: float64(x.Launches)}
			b.measured = measuring(parts, b.mean, slack)
			bands = append(bands, b)
		}
	}
	return bands, several
}

// reach is how far apart, in time, two captured launches may be that stand for those between them. Work may go
// by data, in any amount: where a recipe is faster on each of them, the lightest, the heaviest and one of neither's
// class, it is proposed for all between, and the program decides (package confirm).
func reach(parts []policy.Part) float64 {
	least, most := math.Inf(1), 0.0
	for _, p := range parts {
		if p.Ratio >= 1 {
			return apart
		}
		least, most = min(least, p.Base), max(most, p.Base)
	}
	for _, p := range parts {
		if p.Base > uniform*least && most > uniform*p.Base {
			return math.Inf(1)
		}
	}
	return apart
}

// measuring are the captured launches that take what others do; the nearest one that takes less and the nearest
// that takes more, where none does and they are within reach.
func measuring(parts []policy.Part, mean, slack float64) (out []policy.Part) {
	var below, above *policy.Part
	for i, p := range parts {
		switch {
		case covers(p.Base, mean, slack):
			out = append(out, p)
		case p.Base < mean && (below == nil || p.Base > below.Base):
			below = &parts[i]
		case p.Base > mean && (above == nil || p.Base < above.Base):
			above = &parts[i]
		}
	}
	if len(out) == 0 && below != nil && above != nil && above.Base <= reach(parts)*below.Base+slack {
		out = append(out, *below, *above)
	}
	return out
}

// covers reports whether a launch that takes base in the replay takes about mean in the program, ns.
func covers(base, mean, slack float64) bool {
	return mean <= longer*base+slack && mean*shorter >= base
}

// classes are those of the program's launches; one where their mean alone is known, none where
// nothing was timed.
func (c *Config) classes() []profile.Class {
	if len(c.Classes) > 0 {
		return append([]profile.Class(nil), c.Classes...)
	}
	if c.Sampled == 0 || c.Seconds <= 0 || c.Count == 0 {
		return nil
	}
	mean := c.Seconds / float64(c.Count)
	return []profile.Class{{Low: mean, Launches: c.Count, Seconds: c.Seconds}}
}

// differ reports whether times spread by more than noise does, and events take, leaving out a
// twentieth of the time.
func differ(classes []profile.Class) bool {
	least, most := profile.Between(classes, 1-thin)
	return most > uniform*least && most-least > events/1e9
}

// Differs reports whether the launches differ in work.
func (c *Config) Differs() bool { return differ(c.classes()) }

// joined is all of them as one.
func joined(classes []profile.Class) (out profile.Class) {
	for i, x := range classes {
		if i == 0 {
			out.Low = x.Low
		}
		out.Launches, out.Seconds = out.Launches+x.Launches, out.Seconds+x.Seconds
	}
	return out
}
