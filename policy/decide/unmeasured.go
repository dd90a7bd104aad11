package decide

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// Configurations that were not measured: their launches are too long, too short, too many, or of a
// kind that can't be repeated. A recipe that won elsewhere may be slower there, and no one would
// know. So it is adopted only where the host keeps it from them (a second entry for other values,
// blocks or grids), or where they take a small share of the kernel's time.

//
// Of a kernel whose every launch has another size not all can be measured. What was no slower on
// three grids, and does not depend on the grid, counts as measured for those in between that differ
// in nothing else; where blocks differ, too, it takes four sizes. What stays nvcc's own counts as
// looked at between two sizes on each of which a search found nothing better.

// What leaves the arithmetic alone can give no other bits there. Where it was measured on proposable of
// the kernel's time, and slower on nothing, it is proposed for the rest, too: the program decides (package
// confirm).
const proposable = 0.1

// How many sizes stand for those between them, of one block and of several.
const spanning, spanningBlocks = 3, 4

// smallShare is the part of a kernel's time that may go to a recipe that was not measured on it.
// Even where it were half as fast again, all together would not be harmed by more than 2.5 %, less
// than what the rest must gain (stats.Standard).
const smallShare = 0.05

// unmeasured lists the configurations that a decision knows nothing of.
func (k *Findings) unmeasured() []*Config {
	known := map[*Config]bool{}
	for _, c := range k.measured() {
		known[c] = true
	}
	var out []*Config
	for _, c := range k.Configs {
		if !known[c] {
			out = append(out, c)
		}
	}
	return out
}

// blind says what speaks against a recipe because of the launches that were not measured, "" if
// nothing does. configs are those that were measured.
func (k *Findings) blind(r recipe.Recipe, configs []*Config) string {
	seen, unseen, most, why := 0.0, 0.0, 0.0, ""
	work := 0.0 // of unseen, launches of measured sizes that differ in work
	for _, c := range configs {
		seen += c.weight()
		tr := c.figure(&k.Kernel, r)
		if tr == nil || tr.Confirmed == nil || c.avoids(&k.Kernel, r) {
			continue
		}
		if of := c.judge(tr.Confirmed); of.unmeasured > 0 {
			t := of.unmeasured * c.weight()
			seen, unseen, work = seen-t, unseen+t, work+t
			if t > most {
				most, why = t, fmt.Sprintf("%s: of %.3g us in the program, where the captured one takes %.3g",
					c.Shape, of.mean/1e3, tr.Confirmed.Before.Median/1e3)
			}
		}
	}
	for _, c := range k.unmeasured() {
		if c.Count == 0 || c.avoids(&k.Kernel, r) {
			continue
		}
		t := c.weightOf(c.guess(configs))
		if _, ok := k.spanned(c, r, configs); ok {
			seen += t
			continue
		}
		if unseen += t; t > most {
			most, why = t, fmt.Sprintf("%s: %s", c.Shape, cmp.Or(c.Alone, "not reached within the budget"))
		}
	}
	if unseen <= smallShare*(seen+unseen) {
		return ""
	}
	if work <= smallShare*(seen+unseen) && seen >= proposable*(seen+unseen) && k.even(r, configs) {
		return ""
	}
	return fmt.Sprintf("about %.0f %% of its time is in launches that were not measured (%s)",
		100*unseen/(seen+unseen), why)
}

// even reports whether nothing but the program need be asked about a recipe's other sizes and
// values: it leaves the arithmetic alone, and no measured launch is slower.
func (k *Findings) even(r recipe.Recipe, configs []*Config) bool {
	return rewrite.ExactnessOf(r) == rewrite.ByConstruction && !slices.ContainsFunc(configs, func(c *Config) bool {
		tr := c.figure(&k.Kernel, r)
		return tr == nil || tr.Confirmed == nil || tr.Confirmed.Ratio.Estimate > 1
	})
}

// spanned reports whether a configuration's size lies between sizes on which a recipe was measured
// and never slower, all else being the same, and what it is taken to need of the default's time:
// between its two neighbours, in proportion to threads. Sizes with its block are asked first, then
// those with any.
func (k *Findings) spanned(c *Config, r recipe.Recipe, configs []*Config) (ratio float64,
	ok bool) {
	guards, err := r.Guards()
	if err != nil || slices.ContainsFunc(guards, func(g recipe.Guard) bool {
		return slices.ContainsFunc(g.Conditions, func(c recipe.Condition) bool {
			return c.Kind == recipe.GridDim || c.Kind == recipe.HostGrid
		})
	}) {
		return 0, false
	}
	if points := k.points(c, r, configs, &c.Shape.Block); len(points) >= spanning {
		ratio, ok = between(points, c.Shape)
	}
	if points := k.points(c, r, configs, nil); !ok && len(points) >= spanningBlocks {
		ratio, ok = between(points, c.Shape)
	}
	return ratio, ok
}

// A point is what a recipe was measured to take of the default's time on a size.
type point struct {
	policy.Shape
	ratio float64
}

// points are those that may stand for a configuration, one a size, of one block or (nil) of any;
// none where a recipe was slower on one.
func (k *Findings) points(c *Config, r recipe.Recipe, configs []*Config,
	block *[3]int) (points []point) {
	for _, m := range configs {
		if block != nil && m.Shape.Block != *block || m.Shape.Dynamic != c.Shape.Dynamic ||
			m.avoids(&k.Kernel, r) {
			continue
		}
		tr := m.figure(&k.Kernel, r)
		if tr == nil || tr.Confirmed == nil || tr.Confirmed.Ratio.Estimate > 1 {
			return nil
		}
		x := point{policy.Shape{Grid: m.Shape.Grid, Block: m.Shape.Block}, m.expected(&k.Kernel, tr)}
		i := slices.IndexFunc(points, func(p point) bool { return p.Shape == x.Shape })
		if i < 0 {
			points = append(points, x)
		} else {
			points[i].ratio = max(points[i].ratio, x.ratio) // of another set of values
		}
	}
	return points
}

// between is what a size takes by the nearest points that are no larger, and no smaller, in blocks
// and in each dimension of the block; false where there are none.
func between(points []point, s policy.Shape) (ratio float64, ok bool) {
	threads := func(s policy.Shape) float64 { return float64(s.Blocks()) * float64(s.Threads()) }
	within := func(a, b policy.Shape) bool {
		return a.Blocks() <= b.Blocks() && a.Block[0] <= b.Block[0] && a.Block[1] <= b.Block[1] &&
			a.Block[2] <= b.Block[2]
	}
	var low, high *point
	for i := range points {
		p := &points[i]
		if within(p.Shape, s) && (low == nil || threads(p.Shape) > threads(low.Shape)) {
			low = p
		}
		if within(s, p.Shape) && (high == nil || threads(p.Shape) < threads(high.Shape)) {
			high = p
		}
	}
	if low == nil || high == nil {
		return 0, false
	}
	if all := threads(high.Shape) - threads(low.Shape); all > 0 {
		part := (threads(s) - threads(low.Shape)) / all
		return low.ratio + part*(high.ratio-low.ratio), true
	}
	return max(low.ratio, high.ratio), true
}

// rest is what of a kernel's time was not measured, with a recipe chosen; nil: nothing.
func (k *Findings) rest(r recipe.Recipe, configs []*Config) *cache.Rest {
	var out cache.Rest
	k.between = nil
	none := map[int][]point{} // by dynamic shared memory
	for _, p := range k.nothing(configs) {
		none[p.Dynamic] = append(none[p.Dynamic], p)
	}
	for _, c := range k.unmeasured() {
		if c.Count == 0 {
			continue
		}
		seconds := c.weightOf(c.guess(configs)) / 1e9
		away := r.IsDefault() || c.avoids(&k.Kernel, r)
		ratio, ok := k.spanned(c, r, configs)
		if away {
			ratio, ok = between(none[c.Shape.Dynamic], c.Shape)
		}
		if !ok {
			out.Others += seconds
			continue
		}
		k.between = append(k.between, c.Shape)
		out.Between += seconds
		out.After += seconds * ratio
	}
	if out == (cache.Rest{}) {
		return nil
	}
	return &out
}

// nothing are the sizes on which there is nothing to gain: a search of their own found nothing that
// is better there, or their launches are too short for one.
func (k *Findings) nothing(configs []*Config) (points []point) {
	gains := func(c *Config) bool {
		return slices.ContainsFunc(k.won, func(r recipe.Recipe) bool {
			tr := c.Trial(r.String())
			return tr != nil && tr.Refused == "" && tr.Confirmed != nil && tr.Confirmed.Ratio.Estimate < 1
		})
	}
	for _, c := range append(k.unmeasured(), configs...) {
		searched := c.Alone == "" && len(c.Notebook.Trials) > 0 && (c.Own || c.Notebook.Done)
		if c.Short || searched && !gains(c) {
			points = append(points, point{c.Shape, 1})
		}
	}
	return points
}

// Awaited reports whether something won that was not compared on a configuration on which others
// were: without that it can't be adopted.
func (k *Findings) Awaited(c *Config) bool {
	open := func(r recipe.Recipe) bool {
		tr := c.figure(&k.Kernel, r)
		return tr == nil || tr.Refused == "" && tr.Same == "" && tr.Confirmed == nil
	}
	return slices.Contains(k.measured(), c) && slices.ContainsFunc(k.Winners(), open)
}

// among says for how many sizes the chosen recipe's figures are those of others, "" for none.
func (k *Findings) among(r recipe.Recipe, configs []*Config) string {
	n := 0
	for _, c := range k.unmeasured() {
		if _, ok := k.spanned(c, r, configs); ok && c.Count > 0 && !c.avoids(&k.Kernel, r) {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("measured at some sizes, and also used for %d sizes in between", n)
}

// avoids reports whether the host keeps a configuration's launches from all that a recipe makes.
func (c *Config) avoids(k *policy.Kernel, r recipe.Recipe) bool {
	entries, err := r.Entries()
	return r.HasSecond() && err == nil && !slices.ContainsFunc(entries, func(e recipe.Recipe) bool {
		return c.takes(k, e)
	})
}

// takes reports whether launches of the configuration may come to what a recipe for one second entry
// makes: nothing in them excludes its condition, they can be done as it asks for, and the host
// stub, which chooses, is asked.
func (c *Config) takes(k *policy.Kernel, e recipe.Recipe) bool {
	if c.Launch != nil && c.Launch.Past {
		return false
	}
	guards, err := e.Guards()
	if err != nil || len(guards) != 1 {
		return true // not known
	}
	_, _, ok := rewrite.MannerOf(e).Launch(c.Shape.Grid, c.Shape.Block)
	return ok && !c.excluded(k, guards[0])
}

// guess is the time of one launch, ns: measured if it was looked at, else that of the slowest
// launch that was, for more blocks in proportion.
func (c *Config) guess(configs []*Config) float64 {
	if c.Before.Median > 0 {
		return c.Before.Median
	}
	most := 1.0
	for _, other := range configs {
		more := float64(c.Shape.Blocks()) / math.Max(float64(other.Shape.Blocks()), 1)
		most = math.Max(most, other.Before.Median*math.Max(more, 1))
	}
	return most
}
