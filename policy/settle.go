package policy

import (
	"fmt"
	"maps"
	"math"
	"sort"
	"strings"

	"gnvcc/cache"
	"gnvcc/policy/stats"
	"gnvcc/profile"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// What is decided at the end of a run.
//
// A kernel's recipe is chosen over all its configurations, each weighted by its launches times its time. Eligible is a
// recipe that was compared on fresh samples on every configuration that was measured (in this run or, by the notebook, in those that
// the earlier decision rests on), that is Better on one of them at least, Harmful (more than 1 % slower) on none, and refused on
// none. Of these the one that saves most time. Where guards did not hold for some launches (their arguments varied), those count with the
// plain copy's time.
//
// Flags of ptxas are the whole file's: a recipe with them is eligible only if every other kernel of the file is known and
// chooses the same flags.

// A Result is one kernel as a run left it.
type Result struct {
	Kernel   Kernel
	Decision *cache.Decision // nil if nothing was measured or decided
	Alone    []Alone         // what was left alone, and why
	Lost     string          // what ended a process while this kernel was tuned

	// With Options.Judged, Decision gives the same bits; these are decisions that don't, slowest first, for the judge, and what the fastest of
	// them saves beyond Decision over all launches seen, ns.
	Approximate []cache.Decision
	Saves       float64
}

// Alone is one configuration (or a whole kernel: zero shape) that was left alone.
type Alone struct {
	Shape  Shape
	Count  int
	Reason string
}

// A choice is an eligible recipe.
type choice struct {
	recipe recipe.Recipe
	saved  float64 // ns over all launches seen
	total  float64 // ns of the default over all launches seen
}

// Finish ends the run: it settles every kernel and hands the decisions to the sink. Results come in order of first launch.
func (t *Tuner) Finish() ([]Result, error) {
	t.pool.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	eligible := map[*kernel][]choice{}
	for _, k := range t.order {
		if k.alone == "" && k.lost == "" {
			eligible[k] = t.eligible(k)
		}
	}
	t.indifferent(eligible)
	flags := t.fileFlags(eligible)
	var out []Result
	var failed error
	for _, k := range t.order {
		r := Result{Kernel: k.Kernel, Lost: k.lost}
		if k.alone != "" {
			r.Alone = append(r.Alone, Alone{Count: k.launches(), Reason: k.alone})
		} else {
			for _, c := range k.order {
				if c.alone != "" {
					r.Alone = append(r.Alone, Alone{Shape: c.shape, Count: c.count, Reason: c.alone})
				}
			}
		}
		if k.lost == "" && k.Identity != "" {
			if t.o.Judged {
				t.judged(&r, k, eligible[k], flags[k.File])
			} else {
				r.Decision = t.decide(k, eligible[k], flags[k.File])
			}
			if stale := k.unheld(); stale != "" {
				t.notes = append(t.notes, fmt.Sprintf("%s: %s", k.label(), stale))
				if r.Decision != nil {
					r.Decision.Evidence.Note = strings.TrimPrefix(r.Decision.Evidence.Note+"; "+stale, "; ")
				}
			}
			if r.Decision != nil && t.sink != nil {
				if err := t.sink.Decide(*r.Decision); err != nil && failed == nil {
					failed = fmt.Errorf("keep what was decided for %s: %w", k.label(), err)
				}
			}
		}
		out = append(out, r)
	}
	return out, failed
}

// unheld says of an earlier recipe with values that no launch of this run had them, "" if one did or may have.
func (k *kernel) unheld() string {
	if k.past == nil {
		return ""
	}
	r, err := recipe.Parse(k.past.Recipe)
	if err != nil || !r.HasCopy() {
		return ""
	}
	seen := false
	for _, c := range k.order {
		if c.launch == nil {
			continue
		}
		seen = true
		for _, t := range r.Terms {
			if g, err := t.Guard(); err == nil && !c.excluded(&k.Kernel, g) {
				return ""
			}
		}
	}
	if !seen {
		return ""
	}
	return fmt.Sprintf("no launch of this run had the values that %s was made for: all took the plain kernel", k.past.Recipe)
}

// Notes are what the run has to say beside its results.
func (t *Tuner) Notes() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.notes...)
}

func (k *kernel) launches() int {
	n := 0
	for _, c := range k.order {
		n += c.count
	}
	return n
}

// measured returns the configurations that a decision must regard.
func (k *kernel) measured() []*config {
	var out []*config
	for _, c := range k.order {
		if c.searched && c.alone == "" && len(c.book.Trials) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// remember brings in an earlier decision: its recipe competes, and its configurations count.
func (k *kernel) remember(t *Tuner, device string) {
	if t.sink == nil {
		return
	}
	k.past = t.sink.Past(&k.Kernel, device)
	if k.past == nil || k.past.Recipe == "" {
		return
	}
	r, err := recipe.Parse(k.past.Recipe)
	if err != nil || rewrite.ExactnessOf(r) > t.o.Exact {
		return
	}
	if !t.o.allowsAll(r) {
		return
	}
	entries, err := r.Entries()
	if err != nil {
		return
	}
	if len(entries) < 2 {
		k.win(r)
		return
	}
	for _, e := range entries { // each is a kernel of its own, and is looked at by itself
		k.win(e)
	}
}

// earlier returns configurations of the earlier decision that this run did not see, from the notebook.
func (k *kernel) earlier(t *Tuner) []*config {
	if k.past == nil || k.past.Evidence.Device != k.device {
		return nil
	}
	var out []*config
	for _, l := range k.past.Evidence.Launches {
		shape := Shape{Grid: l.Grid, Block: l.Block, Dynamic: l.Dynamic}
		if c := k.configs[shape]; c != nil && c.searched {
			continue
		}
		c := &config{shape: shape, key: notebookKey(k.Identity, k.device, shape, t.o.leave()), count: l.Count, before: l.Before, searched: true}
		if c.book = readNotebook(t.memory, c.key, k.Identity); len(c.book.Trials) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// eligible returns what may be chosen, the best first.
func (t *Tuner) eligible(k *kernel) []choice {
	configs := append(k.measured(), k.earlier(t)...)
	var out []choice
	winners := k.winners()
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
			if t.o.Rule.Harmful(f.Ratio) {
				whole = false
				tr.Refused = fmt.Sprintf("%.1f %% slower on %s", 100*(f.Ratio.Estimate-1), c.shape)
				break
			}
			better = better || t.o.Rule.Better(f.Ratio)
			w := float64(max(c.count, 1)) * f.Before.Median
			ch.total += w
			ch.saved += w * (1 - c.expected(&k.Kernel, tr))
		}
		if !whole || !better || ch.saved <= 0 {
			continue
		}
		if why := k.blind(r, configs); why != "" && !t.o.Bet {
			if k.withheld == "" {
				k.withheld = fmt.Sprintf("%s is faster where it was measured, but %s (-bet would allow it)", r, why)
			}
			continue
		}
		out = append(out, ch)
	}
	sort.SliceStable(out, func(i, j int) bool {
		if a, b := out[i], out[j]; math.Abs(a.saved-b.saved) > 0.01*(a.total-a.saved) {
			return a.saved > b.saved
		}
		return simpler(out[i].recipe, out[j].recipe)
	})
	return out
}

// merged joins recipes for second entries: each of these is a kernel of its own, with its own figures, and the host takes the
// first whose guard holds. At most three (rewrite/source's limit) of the first eight, in the order in which they won.
func merged(winners []recipe.Recipe) []recipe.Recipe {
	var single []recipe.Recipe
	for _, r := range winners {
		if entries, err := r.Entries(); err == nil && len(entries) == 1 && fileTerms(r) == "" && len(single) < 8 {
			single = append(single, entries[0])
		}
	}
	var out []recipe.Recipe
	for i, a := range single {
		for j, b := range single[i+1:] {
			if conditionsOf(a) == conditionsOf(b) {
				continue
			}
			out = append(out, recipe.Join([]recipe.Recipe{a, b}))
			for _, c := range single[i+1+j+1:] {
				if x := conditionsOf(c); x != conditionsOf(a) && x != conditionsOf(b) {
					out = append(out, recipe.Join([]recipe.Recipe{a, b, c}))
				}
			}
		}
	}
	return out
}

// conditionsOf is the text of a single entry's guard, "" if it has none.
func conditionsOf(r recipe.Recipe) string {
	text, _ := r.Get(recipe.Second, "")
	return text
}

// figure is what is known of a recipe on a configuration. Of several second entries it is the first one that its launches can
// take; where they can take none, they take the kernel itself, which is nvcc's own.
func (c *config) figure(k *Kernel, r recipe.Recipe) *Trial {
	if tr := c.trial(r.String()); tr != nil {
		return tr
	}
	entries, err := r.Entries()
	if err != nil || len(entries) == 0 {
		return nil
	}
	for _, e := range entries {
		if guards, err := e.Guards(); err == nil && len(guards) == 1 && !c.excluded(k, guards[0]) {
			return c.trial(e.String()) // nil: not known
		}
	}
	return &Trial{Recipe: r, Text: r.String(), Build: k.Default, Confirmed: &Compared{
		Ratio: stats.Interval{Estimate: 1, Low: 1, High: 1, N: 1}, Before: c.before, After: c.before}}
}

// excluded tells whether no launch of the configuration can have fulfilled a guard: something in it had another value in all
// of them.
func (c *config) excluded(k *Kernel, g recipe.Guard) bool {
	return c.launch != nil && g.Excludes(lookUp(Values(k, c.launch)))
}

// expected is the ratio over all launches of a configuration: those whose values varied are taken to run the plain copy.
func (c *config) expected(k *Kernel, tr *Trial) float64 {
	ratio := tr.Confirmed.Ratio.Estimate
	if c.launch == nil || c.count == 0 || !broken(k, tr.Recipe, c.launch) {
		return ratio
	}
	plain := 1.0
	if tr.Plain != nil {
		plain = tr.Plain.Ratio.Estimate
	}
	held := float64(c.count-min(c.varied, c.count)) / float64(c.count)
	return held*ratio + (1-held)*plain
}

// fileFlags decides on flags for the PTX files: those that all kernels of a file are for and that save most.
func (t *Tuner) fileFlags(eligible map[*kernel][]choice) map[string]string {
	files := map[string][]*kernel{}
	for _, k := range t.order {
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
func bestFlags(kernels []*kernel, eligible map[*kernel][]choice, flags string) float64 {
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

// choose returns the best choice with just these flags, nil if there is none.
func choose(choices []choice, flags string) *choice {
	for i := range choices {
		if fileTerms(choices[i].recipe) == flags {
			return &choices[i]
		}
	}
	return nil
}

// fileTerms returns the text of a recipe's terms that are the whole file's.
func fileTerms(r recipe.Recipe) string {
	var out recipe.Recipe
	for _, t := range r.Terms {
		if l := levers[t.Lever]; l != nil && l.stage == rewrite.Flag {
			out = out.With(t)
		}
	}
	return out.String()
}

// decide writes a kernel's decision down; nil if nothing was measured and nothing can be said that is not known already.
func (t *Tuner) decide(k *kernel, choices []choice, flags string) *cache.Decision {
	configs := k.measured()
	d := &cache.Decision{Identity: k.Identity, Kernel: k.Name, Target: k.Target, For: k.For, Time: t.now()}
	d.Evidence = cache.Evidence{Device: k.device, Driver: t.o.Driver, Version: t.o.Version, Default: k.Default, Chosen: k.Default}
	d.Exactness = rewrite.ExactnessOf(recipe.Recipe{}).String()
	if len(configs) == 0 {
		if k.past != nil {
			return nil
		}
		d.Evidence.Note = k.reason()
		return d
	}
	all := append(configs, k.earlier(t)...)
	ch := choose(choices, flags)
	var chosen recipe.Recipe
	if ch != nil {
		chosen = ch.recipe
		d.Recipe, d.Exactness = chosen.String(), rewrite.ExactnessOf(chosen).String()
		if e := t.error(k, configs, chosen); e != (Error{}) {
			d.Exactness = rewrite.Approximate.String()
			d.Evidence.Note = t.off(e)
		}
	} else if f := wantedFlags(choices); f != "" && flags == "" {
		d.Evidence.Note = fmt.Sprintf("%s would pay, but it is a flag for all kernels of the file, and not right for all", f)
	} else if len(choices) == 0 {
		d.Evidence.Note = k.withheld
	}
	for _, c := range all {
		if c.note != "" {
			d.Evidence.Note = strings.TrimPrefix(d.Evidence.Note+"; "+c.note, "; ")
		}
		l := cache.Launch{Grid: c.shape.Grid, Block: c.shape.Block, Dynamic: c.shape.Dynamic, Count: c.count, Before: c.before, After: c.before, Exhaustive: c.book.Exhaustive}
		if c.book.Cost != (cache.Cost{}) {
			l.Cost = &c.book.Cost
		}
		if c.launch != nil {
			l.Values = constants(&k.Kernel, c.launch)
		}
		if tr := c.figure(&k.Kernel, chosen); tr != nil && ch != nil {
			if tr.Build.Registers > d.Evidence.Chosen.Registers || tr.Build.Registers > 0 && d.Evidence.Chosen == k.Default {
				d.Evidence.Chosen = tr.Build // of several entries the one with the most registers
			}
			l.Checked, l.Varied, l.Before, l.After = tr.Checked, tr.Varied, tr.Confirmed.Before, tr.Confirmed.After
			// Times drift over a run: what was compared block by block is the truth, and the table's ratio shall be it.
			l.After = scaled(l.After, l.Before.Median*tr.Confirmed.Ratio.Estimate)
		}
		d.Evidence.Launches = append(d.Evidence.Launches, l)
	}
	d.Evidence.Tried = tried(all, d.Recipe)
	d.Evidence.Curve = curveOf(all)
	for _, c := range configs {
		for lever, why := range c.untried {
			if d.Evidence.Untried == nil {
				d.Evidence.Untried = map[string]string{}
			}
			d.Evidence.Untried[lever] = why
		}
	}
	d.Evidence.Normals = normals(all, chosen)
	d.Evidence.Names = k.ArgumentNames(chosen)
	return d
}

// normals gathers what cicc gave for a recipe, for each of its second entries.
func normals(configs []*config, r recipe.Recipe) map[string]string {
	parts, err := r.Entries()
	if err != nil {
		return nil
	}
	var out map[string]string
	for _, part := range append(parts, r) {
		for _, c := range configs {
			if tr := c.trial(part.String()); tr != nil && len(tr.Normals) > 0 {
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
func (t *Tuner) error(k *kernel, configs []*config, r recipe.Recipe) Error {
	var e Error
	for _, c := range configs {
		e = e.max(c.random)
		if tr := c.figure(&k.Kernel, r); tr != nil {
			e = e.max(tr.Error)
		}
	}
	return e
}

// off says how far results are off.
func (t *Tuner) off(e Error) string {
	text := fmt.Sprintf("results differ by up to %.2g, %.2g in the mean", e.Max, e.Mean)
	if e.Max >= unknownError {
		text = "results differ, it is not known how far"
	}
	if t.o.Within != (Bound{}) {
		text += fmt.Sprintf("; %s is allowed", t.o.Within)
	}
	return text
}

// scaled moves a time to another median.
func scaled(t cache.Time, median float64) cache.Time {
	if t.Median <= 0 {
		return t
	}
	f := median / t.Median
	return cache.Time{Median: median, Low: t.Low * f, High: t.High * f, N: t.N}
}

func wantedFlags(choices []choice) string {
	for _, ch := range choices {
		if f := fileTerms(ch.recipe); f != "" {
			return f
		}
	}
	return ""
}

// reason is why a kernel was left alone, of its configurations the first one's.
func (k *kernel) reason() string {
	if k.alone != "" {
		return k.alone
	}
	for _, c := range k.order {
		if c.alone != "" {
			return c.alone
		}
	}
	return "no launch of it was measured"
}

// constants are the values that all launches of a configuration had in common, by name.
func constants(k *Kernel, l *profile.Launch) map[string]string {
	out := map[string]string{}
	for _, v := range Values(k, l) {
		switch v.Kind {
		case Scalar:
			out[v.Name] = v.Text()
		case Alignment:
			out[v.Name] = "aligned to " + v.Text()
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// tried sums up the trials of all configurations: ratios weighted by time, a refusal anywhere is one.
func tried(configs []*config, chosen string) []cache.Trial {
	type sum struct {
		cache.Trial
		time, weight float64
	}
	sums := map[string]*sum{}
	var order []string
	for _, c := range configs {
		w := float64(max(c.count, 1)) * math.Max(c.before.Median, 1)
		for _, tr := range c.book.Trials {
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
			switch {
			case s.Refused != "":
			case tr.Refused != "":
				s.Refused = tr.Refused
			case tr.Same == "-":
				s.Refused = "the same code as the default"
			case tr.Same != "" && tr.Text != chosen:
				s.Refused = "the same code as " + tr.Same
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
