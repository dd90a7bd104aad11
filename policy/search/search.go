package search

import (
	"context"
	"errors"
	"slices"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/policy/measure"
	"gnvcc/policy/stats"
	"gnvcc/profile"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// The search over recipes for one configuration of one kernel, while a replayed program stands still
// at a launch.
//
//  1. The default (begin.go): short? nondeterministic? The registers that can matter to it, by two
//     ptxas runs. Where the run's budget is for many kernels: one value of each lever, and then
//     whether to go on at once (first.go).
//  2. Singly: every lever's values on the default code. PTX levers are measured first, while the
//     source variants, dearer by a cicc run each, compile beside. All of a stage run in one race.
//     Where launches or ptxas take so long that this alone would use the budget up, levers take
//     turns, the most promising first, and half of the budget is kept for what follows.
//  3. Source levers together: around the best source recipe (factor with values, fewer guards,
//     factors per loop), while that gains at least 1 % a round. Where none gains anything alone:
//     loops one by one, and then two together, once.
//  4. PTX levers around the best recipe so far: caps anew (its registers are others), and of every
//     other lever the two best values that were not slower than 2 % when alone. Once also around
//     the best recipe with a copy for values where the best has none, if it is close behind: what a
//     copy gains may show only when a cap brings its warps back.
//  5. The winners together, greedily: to the best recipe, the best value of each lever not yet in
//     it; the best of these becomes the next best recipe if it gains at least 1 %; at most three
//     times.
//  6. The best three (policy.Rank), one after the other, on fresh samples against the default
//     (confirm.go): the first that is Better by the rule of policy/stats is the winner.
//
// A candidate is compiled, checked that it does not shrink the largest block, compared by code with
// those had before, loaded, run once and its memory compared, and only then measured. All of it
// goes into the notebook, so that a later run begins where this one's budget ended.

const (
	finalists = 3 // compared on fresh samples
	// launches that a budget must have room for: a comparison on fresh samples takes 20, a search as
	// many
	longest = 40
)

// A search is the state of one.
type search struct {
	t   *Run
	k   *kernel
	c   *Config
	l   *profile.Launch
	s   profile.Session
	ctx context.Context
	sit *lever.Situation
	p   *Plan
	end time.Time // of the budget
	// nothing new is looked for after it: what is left is for a comparison of the best on fresh
	// samples
	deadline time.Time
	// what the host takes around a comparison, kept free beside it: a candidate is loaded and checked,
	// timers come late
	moment time.Duration
	// compiles are waited for until then: what came in time has still to be measured
	compileBy time.Time

	on       measure.Launch               // with the default build: the program's own, or loaded
	original string                       // its code
	largest  int                          // its largest block
	loaded   map[string]profile.Candidate // by recipe text
	byCode   map[string]*policy.Trial
	missing  bool // something was not compiled in time
	doubted  bool // doubt has asked
	glanced  bool // it ends with its first look, for now
	// within which three quarters of a stage with source variants were compiled
	usual      time.Duration
	oneCompile time.Duration   // what the lowest cap took, as far as it was waited for
	asked      map[string]bool // what was asked for, by text

	begun time.Time
	// of earlier searches of the configuration; of the tools, at this one's begin
	before, spent cache.Cost
}

// errStop ends a search early without being an error of anybody's: the reason goes into the report.
type errStop struct{ reason string }

func (e errStop) Error() string { return e.reason }

// run searches; the winner, if any, stands in the configuration. An error means that the process is
// lost, or an errStop.
func (s *search) run() error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.unload()
	s.c.Untried = s.untried()
	if s.k.Unsteady == "" {
		s.counting(recipe.Recipe{})
	}
	if !s.c.Notebook.Done {
		err := s.explore()
		s.c.cut = s.glanced || s.over()
		s.c.left = s.open()
		if err == nil && !s.over() && !s.missing {
			s.c.Notebook.Done = true
		}
		if err != nil {
			return err
		}
	}
	if err := s.confirm(); err != nil {
		return err
	}
	if s.k.Unsteady == "" && (!s.glanced || slices.ContainsFunc(s.k.Winners(), s.unchecked)) {
		patience := countingWait
		if s.p.Look != nil { // other searches wait
			patience = 0
		}
		s.countOwn(patience)
	}
	return s.confine()
}

// explore runs steps 2 to 5.
func (s *search) explore() error {
	if on, err := s.briefly(); !on || err != nil {
		return err
	}
	if err := s.singly(); err != nil {
		return err
	}
	if err := s.sources(); err != nil {
		return err
	}
	return s.winners()
}

// singly is step 2: every lever by itself.
func (s *search) singly() error {
	s.sit.Region = s.region(recipe.Recipe{}, s.k.Default.Registers)
	var cheap, dear []recipe.Recipe
	lists := s.lists()
	for _, r := range slices.Concat(lists...) {
		if lever.HasStage(r, rewrite.Source) {
			dear = append(dear, r)
		} else {
			cheap = append(cheap, r)
		}
	}
	// Recipes that won elsewhere go first, on every configuration.
	won := s.elsewhere()
	for _, r := range won {
		s.want(r, 5)
	}
	for _, r := range cheap {
		s.want(r, 10)
	}
	for _, r := range dear {
		s.want(r, 20)
	}
	if s.slow(len(cheap) + len(dear)) {
		if err := s.sparing(append(won, byTurns(lists)...)); err != nil {
			return err
		}
	} else {
		if err := s.try("register caps and hints", append(won, cheap...)); err != nil {
			return err
		}
		if err := s.try("source variants", dear); err != nil {
			return err
		}
	}
	return nil
}

// sources is step 3.
func (s *search) sources() error {
	for round := 0; round < 3 && !s.over(); round++ {
		best := s.best(isSource)
		doing := "combining source variants"
		if best == nil || best.Ratio > lever.Step {
			if round > 0 {
				break
			}
			best, doing = &policy.Trial{Ratio: 1}, "loops one by one"
		}
		before := best.Ratio
		if err := s.try(doing, s.around(best, rewrite.Source)); err != nil {
			return err
		}
		if best.Text == "" && s.t.o.Allows(recipe.Unroll) {
			if err := s.try("two loops together", lever.Pairs(s.sit, s.c.Notebook.Trials)); err != nil {
				return err
			}
		}
		if now := s.best(isSource); now == nil || now.Ratio > before*lever.Step {
			break
		}
	}
	return nil
}

// winners is steps 4 and 5.
func (s *search) winners() error {
	for round := 0; round < 3 && !s.over(); round++ {
		best := s.best(nil)
		if best == nil || best.Ratio > lever.Step {
			break
		}
		before := best.Ratio
		next := append(s.additions(best, round), s.around(best, rewrite.PTX)...)
		if copied := s.copied(best); round == 0 && copied != nil {
			next = append(next, s.around(copied, rewrite.PTX)...)
		}
		if err := s.try("combining winners", next); err != nil {
			return err
		}
		if now := s.best(nil); now == nil || now.Ratio > before*lever.Step {
			break
		}
	}
	return nil
}

// slow tells whether launches or compiles take so long that so many values alone (a check each, and a
// launch or two of a race) would take more than a quarter of the budget.
func (s *search) slow(values int) bool {
	launch := stats.Median(s.on.First) + float64(s.on.Rule.Launch.Nanoseconds())
	compile := float64(s.oneCompile.Nanoseconds()) / float64(s.t.pool.n)
	return float64(values)*max(3*launch, compile) > float64(s.p.Budget.Nanoseconds())/4
}

// sparing is step 2 for a slow kernel: a few values at a time, the most promising first, for half
// of what is left of the budget. The other half is for the winners together. What was not reached
// is left for a later run.
func (s *search) sparing(values []recipe.Recipe) error {
	const few = 8
	end := s.t.now().Add(s.deadline.Sub(s.t.now()) / 2)
	for len(values) > 0 && s.t.now().Before(end) && !s.over() {
		n := min(few, len(values))
		if err := s.try("most promising candidates", values[:n]); err != nil {
			return err
		}
		values = values[n:]
	}
	s.missing = s.missing || len(values) > 0
	for _, r := range values {
		s.asked[r.String()] = true
	}
	return nil
}

// open is how many candidates were asked for and have not been tried.
func (s *search) open() (n int) {
	for text := range s.asked {
		if s.c.Trial(text) == nil {
			n++
		}
	}
	return n
}

// byTurns takes one value of each list in turn.
func byTurns(lists [][]recipe.Recipe) []recipe.Recipe {
	var out []recipe.Recipe
	for i, more := 0, true; more; i++ {
		more = false
		for _, list := range lists {
			if i < len(list) {
				out, more = append(out, list[i]), true
			}
		}
	}
	return out
}

// elsewhere returns the recipes that won on other configurations, or stood for the kernel before it
// was edited, and, of those made for values, the same for the values here.
func (s *search) elsewhere() []recipe.Recipe {
	var out []recipe.Recipe
	have := policy.LookUp(s.sit.Values)
	list := s.k.Winners()
	for _, r := range s.k.First {
		if rewrite.ExactnessOf(r) <= s.exact() && lever.Allowed(&s.t.o, &s.k.Kernel, r) {
			list = append(list, r)
		}
	}
	for _, r := range list {
		out = append(out, r)
		for i, t := range r.Terms {
			if g, err := t.Guard(); err == nil {
				other := recipe.Recipe{Terms: slices.Clone(r.Terms)}
				other.Terms[i] = g.For(have).Term()
				out = append(out, other)
			}
		}
	}
	return out
}

// around asks the levers of a stage for recipes around the best one.
func (s *search) around(best *policy.Trial, stage rewrite.Stage) []recipe.Recipe {
	var out []recipe.Recipe
	for _, l := range lever.All() {
		if l.Around == nil || !s.t.o.Allows(l.Name) ||
			(l.Stage == rewrite.Source) != (stage == rewrite.Source) {
			continue
		}
		out = append(out, l.Around(s.sit, *best)...)
	}
	return out
}

// additions returns the best recipe with, of every group of terms that it does not have, the best values
// alone: two in the first round, one later.
func (s *search) additions(best *policy.Trial, round int) []recipe.Recipe {
	most := 2
	if round > 0 {
		most = 1
	}
	count := map[string]int{}
	var out []recipe.Recipe
	for _, tr := range policy.Rank(s.c.Notebook.Trials) {
		name := lever.Of(tr.Recipe)
		if name == "" || tr.Ratio > lever.Combinable || count[name] >= most ||
			lever.Has(best.Recipe, name) || !together(best.Recipe, tr.Recipe) {
			continue
		}
		r, ok := s.sit.Combine(best.Recipe, tr.Recipe)
		if !ok {
			continue
		}
		count[name]++
		out = append(out, r)
	}
	return out
}

// region compiles with the lowest cap and the highest: Li et al.'s register effective region.
func (s *search) region(r recipe.Recipe, registers int) lever.Region {
	out := lever.Region{Min: lever.LowestCap, Max: max(registers, lever.LowestCap)}
	if !s.t.o.Allows(rewrite.MaxNReg) {
		return out
	}
	low, high := ends(r)
	lowest, highest := s.want(low, 1), s.want(high, 1)
	begun := s.t.now()
	if c, err := s.wait(lowest); err == nil {
		out.Min = max(c.Build.Registers, lever.LowestCap)
		s.oneCompile = max(s.oneCompile, s.t.now().Sub(begun))
	}
	if c, err := s.wait(highest); err == nil {
		out.Max = max(out.Max, c.Build.Registers)
	}
	return out
}

// ends are a recipe with the lowest cap and the highest.
func ends(r recipe.Recipe) (low, high recipe.Recipe) {
	return lever.Join(r, lever.Cap(lever.LowestCap)),
		lever.Join(r, lever.Cap(255))
}

// lists are what is tried of each lever on the default code, the most promising lever first. Hints of
// stores are a list of their own, the last: of 84 programs they gained 1.010 in the mean.
func (s *search) lists() (lists [][]recipe.Recipe) {
	var stores []recipe.Recipe
	for _, l := range lever.All() {
		if !s.t.o.Allows(l.Name) || l.Try == nil {
			continue
		}
		list := s.values(l)
		if n := slices.IndexFunc(list, func(r recipe.Recipe) bool { return lever.Has(r, lever.StoreHints) }); n >= 0 {
			list, stores = list[:n], list[n:]
		}
		lists = append(lists, list)
	}
	return append(lists, stores)
}

// values are what is tried of a lever on the default code.
func (s *search) values(l *lever.Lever) (out []recipe.Recipe) {
	for _, r := range l.Try(s.sit) {
		if s.permitted(r) {
			out = append(out, r)
		}
	}
	return out
}

// together tells whether two recipes can be one: some levers exclude each other.
func together(a, b recipe.Recipe) bool { return rewrite.Check(lever.Join(a, b)) == nil }

// copied returns the best recipe that has a copy for values and is no more than a tenth slower than
// the best, which has none; nil if there is none.
func (s *search) copied(best *policy.Trial) *policy.Trial {
	has := func(tr *policy.Trial) bool {
		return tr.Recipe.HasSecond() && lever.HasStage(tr.Recipe.Without(recipe.Second), rewrite.Source)
	}
	if best.Recipe.HasSecond() {
		return nil
	}
	if tr := s.best(has); tr != nil && tr.Ratio <= best.Ratio*1.1 {
		return tr
	}
	return nil
}

func isSource(tr *policy.Trial) bool { return lever.HasStage(tr.Recipe, rewrite.Source) }

// best returns the fastest usable trial among those that a condition allows (nil: all), nil if
// there is none.
func (s *search) best(of func(*policy.Trial) bool) *policy.Trial {
	for _, tr := range policy.Rank(s.c.Notebook.Trials) {
		if of == nil || of(tr) {
			return tr
		}
	}
	return nil
}

// comparison is about what a comparison on fresh samples takes.
func (s *search) comparison() time.Duration {
	launch := time.Duration(stats.Median(s.on.First)) + s.on.Rule.Launch
	return time.Duration(2*s.on.Plan.Samples()+2) * launch
}

// affords tells whether the budget has room for another one, and nobody wants the run to end.
func (s *search) affords() bool {
	return s.ctx.Err() == nil && !s.t.now().Add(s.comparison()).After(s.end)
}

// over tells whether the budget is used up or the run is to end.
func (s *search) over() bool {
	return s.ctx.Err() != nil || !s.t.now().Before(s.deadline)
}

// dead tells whether an error of a Session means that nothing more can be done in this process.
func dead(err error) bool {
	var fault *profile.Fault
	return errors.As(err, &fault) || errors.Is(err, profile.ErrHung) ||
		errors.Is(err, profile.ErrGone) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// lost makes an error of a Session about the default the search's end: as it is if the process is
// gone, else a reason.
func (s *search) lost(err error, what string) error {
	if dead(err) {
		return err
	}
	return errStop{what + ": " + policy.FirstLine(err)}
}

func (s *search) unload() {
	for text, c := range s.loaded {
		_ = s.s.Unload(c) // the agent unloads at the session's end what is left
		delete(s.loaded, text)
	}
	if s.on.Base != profile.Original {
		_ = s.s.Unload(s.on.Base)
	}
}
