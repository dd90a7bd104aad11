package search

import (
	"errors"
	"math"
	"sort"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/lever"
	"gnvcc/policy/stats"
	"gnvcc/profile"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// Approximation within a bound. Where all warps may approximate, the search goes on as with any
// other lever. Where that exceeds the bound and would be faster, the largest degree within it is
// looked for (decide/degree.go), by the warps' index in their block. The degrees that were measured
// on the way, with a few others, are the curve of the report.

const (
	randomRuns = 8 // runs of a recipe whose results differ from run to run: the largest error counts
	curveRuns  = 5 // launches timed at each point of the curve
	curveSteps = 4 // points of a curve that the report has at least, if there are so many degrees
)

// degrees looks for degrees within the bound where all is too much, and draws the curve.
func (s *search) degrees() error {
	if s.t.o.Exact < rewrite.Approximate || s.over() {
		return nil
	}
	family, whole, err := s.family()
	if err != nil || family == nil {
		return err
	}
	warps := (s.c.Shape.Threads() + 31) / 32
	p := &points{s: s, family: family.Recipe}
	p.note(rewrite.Degree{}, warps, whole, family.Error)
	found := rewrite.Degree{}
	if !family.Usable() && warps > 1 {
		if found, err = p.search(warps); err != nil {
			return err
		}
	}
	if warps > 1 && whole < lever.Step {
		for i := 1; i < curveSteps && !s.over(); i++ {
			if d := warps * i / curveSteps; d > 0 {
				if _, err := p.at(rewrite.Degree{Warps: d}, warps); err != nil {
					return err
				}
			}
		}
	}
	s.c.Notebook.Curve = p.list()
	if found == (rewrite.Degree{}) {
		return nil
	}
	return s.try("approximation in some warps", []recipe.Recipe{rewrite.WithDegree(family.Recipe,
		found)})
}

// family returns the approximation that the curve is about, with its time over the default's: the
// fastest of those that exceed the bound and are no failure otherwise, if it is faster than all
// that don't, since a part of it may be too; else the fastest within the bound. nil if none gains.
func (s *search) family() (best *policy.Trial, ratio float64, err error) {
	ratio = lever.Step
	for _, tr := range policy.Rank(s.c.Notebook.Trials) {
		if decide.Approximates(tr.Recipe) && tr.Ratio < ratio {
			best, ratio = tr, tr.Ratio
			break
		}
	}
	for _, tr := range s.c.Notebook.Trials {
		if !decide.Approximates(tr.Recipe) || tr.Refused == "" || tr.Error == (policy.Error{}) ||
			s.t.o.Within.Of(tr.Error) >= policy.UnknownError ||
			rewrite.DegreeOf(tr.Recipe) != (rewrite.Degree{}) {
			continue
		}
		if tr.Ratio == 0 {
			c, err := s.compile(tr.Recipe, 3)
			if err != nil {
				continue
			}
			if tr.Ratio, err = s.glance(c); err != nil {
				if dead(err) {
					return nil, 0, err
				}
				continue
			}
		}
		if tr.Ratio > 0 && tr.Ratio < ratio {
			best, ratio = tr, tr.Ratio
		}
	}
	return best, ratio, nil
}

// glance measures a candidate in a few launches between as many of the default's: for the curve and
// for ordering, never believed.
func (s *search) glance(c *policy.Candidate) (float64, error) {
	arm, _, err := s.s.LoadAs(c.Path, c.Entry, c.Manner)
	if err != nil {
		return 0, err
	}
	defer func() { _ = s.s.Unload(arm) }()
	return s.ratio(arm)
}

func (s *search) ratio(arm profile.Candidate) (float64, error) {
	base, err := s.measure(s.baseline, curveRuns)
	if err != nil {
		return 0, err
	}
	x, err := s.measure(arm, curveRuns)
	if err != nil {
		return 0, err
	}
	return stats.Median(x) / stats.Median(base), nil
}

// points are the measured points of a curve.
type points struct {
	s      *search
	family recipe.Recipe
	all    []cache.Degree
}

// search finds the largest degree of a kind.
func (p *points) search(n int) (rewrite.Degree, error) {
	bound := p.s.t.o.Within
	c := decide.NewCurve(func(d int) (float64, error) {
		degree := rewrite.Degree{Warps: d}
		if d == n {
			degree = rewrite.Degree{} // all
		}
		e, err := p.at(degree, n)
		return bound.Of(e), err
	})
	d, err := c.Largest(n, bound.Value)
	if err != nil || d == 0 {
		return rewrite.Degree{}, err
	}
	return rewrite.Degree{Warps: d}, nil
}

// at measures error and time of a degree of n; what can't be compiled or loaded has an error that
// no bound allows.
func (p *points) at(d rewrite.Degree, n int) (policy.Error, error) {
	for _, known := range p.all {
		if known.Warps == d.Warps || d == (rewrite.Degree{}) && known.Warps == known.Of {
			return policy.Error{Max: known.Max, Mean: known.Mean}, nil
		}
	}
	s := p.s
	bad := policy.Error{Max: policy.UnknownError, Mean: policy.UnknownError}
	if s.over() {
		s.missing = true
		return bad, s.ctx.Err()
	}
	c, err := s.compile(rewrite.WithDegree(p.family, d), 3)
	if err != nil {
		if errors.Is(err, errBudget) {
			s.missing, s.c.Phase = true, decide.Resumable
		}
		return bad, s.ctx.Err()
	}
	// only what ends the process is an error
	only := func(err error) (policy.Error, error) {
		if dead(err) {
			return bad, err
		}
		return bad, nil
	}
	arm, _, err := s.s.LoadAs(c.Path, c.Entry, c.Manner)
	if err != nil {
		return only(err)
	}
	defer func() { _ = s.s.Unload(arm) }()
	runs := 1
	if s.c.Random != (policy.Error{}) {
		runs = randomRuns
	}
	var e policy.Error
	for range runs {
		diff, err := s.s.Check(arm)
		if err != nil {
			return only(err)
		}
		e = e.Larger(s.k.ErrorOf(diff))
	}
	ratio, err := s.ratio(arm)
	if err != nil {
		return only(err)
	}
	p.note(d, n, ratio, e)
	return e, nil
}

func (p *points) note(d rewrite.Degree, n int, ratio float64, e policy.Error) {
	if d == (rewrite.Degree{}) {
		d.Warps = n
	}
	p.all = append(p.all, cache.Degree{Recipe: p.family.String(), Warps: d.Warps, Of: n,
		Ratio: math.Round(ratio*1e4) / 1e4, Max: e.Max, Mean: e.Mean})
}

func (p *points) list() []cache.Degree {
	sort.SliceStable(p.all, func(i, j int) bool {
		return p.all[i].Warps < p.all[j].Warps
	})
	return p.all
}
