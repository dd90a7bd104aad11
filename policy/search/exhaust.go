package search

import (
	"fmt"
	"slices"
	"sort"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/rewrite/recipe"
)

// The benchmark mode (gnvcc tune -exhaustive): how far from the best does the search end, and what
// does finding the best cost?
//
// With registers as the only lever, every count of the region is measured; with bypassing as the
// only one, every threshold.
//
// After the search all pairs of a value that is no refusal with another lever's are measured, the
// most promising first (by the product of what both took alone), then the best of all so far with
// every value, while that gains at least 1 % a round. Ratios of a race are for ordering only, and
// the least of hundreds is a lucky one: what the search would adopt and the three best of all are
// compared with the default on fresh samples, and only what is 1 % faster than the former counts as
// missed. With source levers pairs can be hundreds; the budget cuts them, and the result says so.

// exhaust goes on where the search ended.
func (s *search) exhaust() error {
	out := &cache.Exhaustive{}
	var found *policy.Trial
	if old := s.c.Notebook.Exhaustive; old != nil { // cut by an earlier run's budget
		out.Search, found = old.Search, s.c.Trial(old.Search.Recipe)
	} else {
		var err error
		if found, err = s.pick(func(*policy.Trial) bool { return true }); err != nil {
			return err
		}
		out.Search.Cost = s.cost()
		if found != nil {
			out.Search.Recipe = found.Text
		}
	}
	if list := s.counts(); len(list) > 0 {
		out.Wanted = len(list)
		if err := s.try("every register count", list); err != nil {
			return err
		}
	}
	pairs := s.pairs()
	out.Wanted += len(pairs)
	if err := s.try("all pairs", pairs); err != nil {
		return err
	}
	n, err := s.bestWithAll()
	if err != nil {
		return err
	}
	out.Wanted += n
	out.Cut = s.over() || s.missing
	if out.Search.Ratio, err = s.fresh(found); err != nil {
		return err
	}
	out.Best = out.Search
	for i, tr := range policy.Rank(s.c.Notebook.Trials) {
		if i == finalists {
			break
		}
		ratio, err := s.fresh(tr)
		if err != nil {
			return err
		}
		if ratio < out.Best.Ratio*lever.Step { // less is luck, and the simpler one stands first
			out.Best.Recipe, out.Best.Ratio = tr.Text, ratio
		}
	}
	out.Best.Cost = s.cost()
	s.c.Notebook.Exhaustive = out
	s.c.Note = fmt.Sprintf(
		"the search found %.3f of the default's time (%s) with %d candidates, all %d have %.3f (%s)",
		out.Search.Ratio, out.Search.Recipe, out.Search.Cost.Candidates, out.Best.Cost.Candidates,
		out.Best.Ratio, out.Best.Recipe)
	if out.Cut {
		s.c.Note += fmt.Sprintf("; not all were compiled and measured within the budget of %v",
			s.t.o.Budget)
	}
	return nil
}

// bestWithAll measures the best of all so far with every value, while that gains. It gives how many
// it wanted.
func (s *search) bestWithAll() (wanted int, err error) {
	for round := 0; round < 3 && !s.over(); round++ {
		best := s.best(nil)
		if best == nil {
			break
		}
		before := best.Ratio
		var more []recipe.Recipe
		for _, tr := range s.singles() {
			if r, ok := s.sit.Combine(best.Recipe, tr.Recipe); ok &&
				together(best.Recipe, tr.Recipe) {
				more = append(more, r)
			}
		}
		wanted += len(more)
		if err := s.try("the best with every value", more); err != nil {
			return 0, err
		}
		if now := s.best(nil); now == nil || now.Ratio > before*lever.Step {
			break
		}
	}
	return wanted, nil
}

// counts are caps at every register count that the kernel can have, where no other lever is asked
// for: how near do the critical points come to the best of all? (Li et al., DATE 2016: to 1 to 1.5
// %.)
func (s *search) counts() []recipe.Recipe {
	if !slices.Equal(s.t.o.Levers, []string{"maxnreg"}) || s.k.Bounds != "" && s.t.o.Keep {
		return nil
	}
	top := s.sit.Region.Max
	if s.sit.Known && !s.t.o.Bet {
		top = min(top, s.sit.Device.MostRegisters(s.sit.Largest))
	}
	var out []recipe.Recipe
	for n := max(s.sit.Region.Min, lever.LowestCap); n <= top; n++ {
		out = append(out, lever.Join(recipe.Recipe{}, lever.Term("maxnreg", fmt.Sprint(n))))
	}
	return out
}

// fresh is a trial's time over the default's on fresh samples; 1 for none, and for one that can't
// be launched any more.
func (s *search) fresh(tr *policy.Trial) (float64, error) {
	if tr == nil {
		return 1, nil
	}
	if tr.Confirmed == nil || !s.c.fresh[tr.Text] {
		if _, err := s.compare(tr); err != nil {
			return 1, err
		}
	}
	if tr.Confirmed == nil || tr.Refused != "" {
		return 1, nil
	}
	return tr.Confirmed.Ratio.Estimate, nil
}

// singles are the trials of one lever alone, the fastest first.
func (s *search) singles() []*policy.Trial {
	var out []*policy.Trial
	for _, tr := range policy.Rank(s.c.Notebook.Trials) {
		if lever.Of(tr.Recipe) != "" {
			out = append(out, tr)
		}
	}
	return out
}

// pairs joins every value with every other lever's, the most promising first.
func (s *search) pairs() []recipe.Recipe {
	type pair struct {
		r     recipe.Recipe
		ratio float64
	}
	var all []pair
	singles := s.singles()
	for i, a := range singles {
		for _, b := range singles[i+1:] {
			if lever.Of(a.Recipe) == lever.Of(b.Recipe) || !together(a.Recipe, b.Recipe) {
				continue
			}
			if r, ok := s.sit.Combine(a.Recipe, b.Recipe); ok {
				all = append(all, pair{r, a.Ratio * b.Ratio})
			}
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].ratio < all[j].ratio })
	out := make([]recipe.Recipe, 0, len(all))
	for _, p := range all {
		out = append(out, p.r)
	}
	return out
}
