package policy

import (
	"errors"
	"fmt"
	"math"
	"sort"

	"gnvcc/cache"
	"gnvcc/policy/stats"
	"gnvcc/profile"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
)

// Approximation within a bound. Where all warps may approximate, the search goes on as with any other lever. Where that exceeds the bound and would be faster, the
// largest degree within it is looked for (degree.go), by the warps' index in their block, and, if the user takes results that differ from run to run, by
// their slot in the multiprocessor. The degrees that were measured on the way, with a few others, are the curve of the report.

const (
	slotRuns   = 8 // runs of a recipe whose results differ from run to run: the largest error counts
	curveRuns  = 5 // launches timed at each point of the curve
	curveSteps = 4 // points of a curve that the report has at least, if there are so many degrees
	descendTo  = 8 // up to so many degrees are tried one by one from above; from more, by interpolation
)

// approximates tells whether a recipe has a lever that does.
func approximates(r recipe.Recipe) bool { return rewrite.ExactnessOf(r) == rewrite.Approximate }

// degrees looks for degrees within the bound where all is too much, and draws the curve.
func (s *search) degrees() error {
	if s.t.o.Exact < rewrite.Approximate || s.over() {
		return nil
	}
	family, whole, err := s.family()
	if err != nil || family == nil {
		return err
	}
	warps := (s.c.shape.Threads() + 31) / 32
	p := &points{s: s, family: family.Recipe}
	if err := p.add(rewrite.Degree{}, warps, whole); err != nil {
		return err
	}
	found := rewrite.Degree{}
	if !family.usable() && warps > 1 {
		if found, err = p.search(warps, false); err != nil {
			return err
		}
	}
	if !family.usable() && found == (rewrite.Degree{}) && s.t.o.Slots {
		slots := 64
		if s.sit.Known {
			shape := simShape(family.Build, s.c.shape)
			if n := s.sit.Device.Occupancy(family.Build.Registers, shape).Warps; n > 0 {
				slots = n // beyond them, more slots change nothing
			}
		}
		if found, err = p.search(slots, true); err != nil {
			return err
		}
	}
	if warps > 1 && whole < step {
		for i := 1; i < curveSteps && !s.over(); i++ {
			if d := warps * i / curveSteps; d > 0 {
				if _, err := p.at(rewrite.Degree{Warps: d}, warps); err != nil {
					return err
				}
			}
		}
	}
	s.c.book.Curve = p.list()
	if found == (rewrite.Degree{}) {
		return nil
	}
	return s.try("approximation in some warps", []recipe.Recipe{rewrite.WithDegree(family.Recipe, found)})
}

// family returns the approximation that the curve is about, with its time over the default's: the fastest of those that exceed the bound and are no
// failure otherwise, if it is faster than all that don't, since a part of it may be too; else the fastest within the bound. nil if none
// gains.
func (s *search) family() (best *Trial, ratio float64, err error) {
	ratio = step
	for _, tr := range rank(s.c.book.Trials) {
		if approximates(tr.Recipe) && tr.Ratio < ratio {
			best, ratio = tr, tr.Ratio
			break
		}
	}
	for _, tr := range s.c.book.Trials {
		if !approximates(tr.Recipe) || tr.Refused == "" || tr.Error == (Error{}) || s.t.o.Within.of(tr.Error) >= unknownError || rewrite.DegreeOf(tr.Recipe) != (rewrite.Degree{}) {
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

// glance measures a candidate in a few launches between as many of the default's: for the curve and for ordering, never believed.
func (s *search) glance(c *Candidate) (float64, error) {
	arm, _, err := s.s.LoadReserved(c.Path, c.Entry, c.Reserve)
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
func (p *points) search(n int, slots bool) (rewrite.Degree, error) {
	bound := p.s.t.o.Within
	c := newCurve(func(d int) (float64, error) {
		degree := rewrite.Degree{SM: slots, Warps: d}
		if d == n && !slots {
			degree = rewrite.Degree{} // all
		}
		e, err := p.at(degree, n)
		return bound.of(e), err
	})
	find := c.approach
	if n <= descendTo {
		find = c.descend
	}
	d, err := find(n, bound.Value)
	if err != nil || d == 0 {
		return rewrite.Degree{}, err
	}
	return rewrite.Degree{SM: slots, Warps: d}, nil
}

// at measures error and time of a degree of n; what can't be compiled or loaded has an error that no bound allows.
func (p *points) at(d rewrite.Degree, n int) (Error, error) {
	for _, known := range p.all {
		if known.Slots == d.SM && (known.Warps == d.Warps || d == (rewrite.Degree{}) && known.Warps == known.Of && !d.SM) {
			return Error{known.Max, known.Mean}, nil
		}
	}
	s := p.s
	bad := Error{unknownError, unknownError}
	if s.over() {
		s.missing = true
		return bad, s.ctx.Err()
	}
	c, err := s.compile(rewrite.WithDegree(p.family, d), 3)
	if err != nil {
		if errors.Is(err, errBudget) {
			s.missing, s.c.waits = true, true
		}
		return bad, s.ctx.Err()
	}
	arm, _, err := s.s.LoadReserved(c.Path, c.Entry, c.Reserve)
	if err != nil {
		if dead(err) {
			return bad, err
		}
		return bad, nil
	}
	defer func() { _ = s.s.Unload(arm) }()
	runs := 1
	if d.SM || s.c.random != (Error{}) {
		runs = slotRuns
	}
	var e Error
	for range runs {
		diff, err := s.s.Check(arm)
		if err != nil {
			if dead(err) {
				return bad, err
			}
			return bad, nil
		}
		e = e.max(s.k.errorOf(diff))
	}
	ratio, err := s.ratio(arm)
	if err != nil {
		if dead(err) {
			return bad, err
		}
		return bad, nil
	}
	p.note(d, n, ratio, e)
	return e, nil
}

// add notes the point of all warps, which the search has met before.
func (p *points) add(d rewrite.Degree, n int, ratio float64) error {
	for _, tr := range p.s.c.book.Trials {
		if tr.Text == p.family.String() {
			p.note(d, n, ratio, tr.Error)
		}
	}
	return nil
}

func (p *points) note(d rewrite.Degree, n int, ratio float64, e Error) {
	if d == (rewrite.Degree{}) {
		d.Warps = n
	}
	p.all = append(p.all, cache.Degree{Recipe: p.family.String(), Warps: d.Warps, Of: n, Slots: d.SM, Ratio: math.Round(ratio*1e4) / 1e4, Max: e.Max, Mean: e.Mean})
}

func (p *points) list() []cache.Degree {
	sort.SliceStable(p.all, func(i, j int) bool {
		a, b := p.all[i], p.all[j]
		if a.Slots != b.Slots {
			return b.Slots
		}
		return a.Warps < b.Warps
	})
	return p.all
}

// curveOf is the curve of the configuration that takes most time, of those that have one.
func curveOf(configs []*config) []cache.Degree {
	var out []cache.Degree
	most := -1.0
	for _, c := range configs {
		if w := float64(max(c.count, 1)) * c.before.Median; len(c.book.Curve) > 0 && w > most {
			out, most = c.book.Curve, w
		}
	}
	return out
}

// curve prints what degrees cost and what they give.
func (p *printer) curve(e Entry) {
	all := e.Decision.Evidence.Curve
	if len(all) == 0 {
		return
	}
	p.line("")
	p.line("  approximation of %s, %s, by degree (error of the worst value, and the mean):", e.Kernel, all[0].Recipe)
	p.line("    %-16s %8s %10s %10s", "warps", "time", "error", "mean")
	p.line("    %-16s %8.3f %10s %10s", "none", 1.0, "0", "0")
	for _, d := range all {
		unit := ""
		if d.Slots {
			unit = " slots"
		}
		p.line("    %-16s %8.3f %10s %10s", fmt.Sprintf("%d of %d%s", d.Warps, d.Of, unit), d.Ratio, relative(d.Max), relative(d.Mean))
	}
}

// relative prints a relative error.
func relative(x float64) string {
	if x >= unknownError {
		return "not known"
	}
	return fmt.Sprintf("%.3g", x)
}
