package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/lever"
	"gnvcc/profile"
	"gnvcc/sim"
)

// A visit: what is done while a captured launch stands still in a replaying process. The first one
// searches, later ones check what won, and go on where time had ended a search.

// A Plan is what the visits of one capture are for, and what they may take.
type Plan struct {
	Budget time.Duration // for all of them; 0: the options'
	Grace  time.Duration // by how much they may exceed it to compare the best that is measured
	Look   *Look         // with which the search begins; nil: it takes the whole budget at once
	// another size leads: what won elsewhere is compared, and nothing is searched
	Check     bool
	Resume    bool // a search that time had ended goes on
	ManyGrids bool // most launches of the kernel have other grids: no code for this grid alone

	used time.Duration // of the budget
}

// left is what a search may use of the budget.
func (p *Plan) left() time.Duration { return p.Budget - p.Budget/looks - p.used }

// searchable reports whether that is enough to begin one.
func (p *Plan) searchable() bool { return p.left() > p.Budget/(2*looks) }

const (
	// the part of a budget that is kept for later visits, on which what won is checked again
	looks = 8
	look  = 10 // launches that it takes to check a winner
)

// A task is what a visit does.
type task uint8

const (
	nothing      task = iota
	searchFirst       // it was not searched yet
	searchOn          // on with a search that time had ended
	checkWinners      // what won is checked and compared
)

// task says what there is to be done at a launch of a configuration.
func (t *Run) task(c *Config, l *profile.Launch, p *Plan) task {
	switch {
	case !c.live() || !c.Open():
		return nothing
	case !c.Searched():
		return searchFirst
	case p.used+time.Duration(look*c.Before.Median) >= p.Budget:
		return nothing
	case p.Resume && c.cut:
		return searchOn
	case c.missed(l.Capture) && c.checks < 2*t.o.Checks:
		return checkWinners
	}
	for _, r := range c.k.Winners() {
		tr := c.Trial(r.String())
		if tr == nil || tr.Refused == "" && (tr.Confirmed == nil || c.checks < t.o.Checks) {
			return checkWinners
		}
	}
	return nothing
}

// Search visits a launch: it searches for recipes where that was not done yet, else it checks what
// won. An error means that the process is lost by a candidate, and that another one may go on.
func (t *Run) Search(ctx context.Context, l *profile.Launch, s profile.Session, p *Plan) error {
	p.Budget = cmp.Or(p.Budget, t.o.Budget)
	k := t.kernel(l)
	if k == nil || t.ended || t.ctx.Err() != nil {
		return nil
	}
	c := t.config(k, l)
	task := t.task(c, l, p)
	switch task {
	case nothing:
		return nil
	case searchFirst:
		full := k.Searched()
		if verified := full - t.o.Full; full >= t.o.Full && (len(k.Winners()) == 0 ||
			verified >= t.o.Verify) {
			c.Alone = fmt.Sprintf("more than %d configurations of this kernel", full)
			c.Close()
			return nil
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()
	c.Alone = ""
	begun := t.now().Add(-l.Saving) // copying memory aside is the budget's, too
	defer func() { p.used += t.now().Sub(begun) }()
	left := p.left()
	if c.Searched() && !p.searchable() {
		left = p.Budget - p.used
	}
	x := t.search(ctx, c, l, s, p, begun.Add(left))
	err := x.visit(task)
	c.Notebook.Cost = x.cost()
	var stop errStop
	switch {
	case errors.As(err, &stop):
		if c.winner == nil && len(c.fresh) == 0 {
			c.Alone = stop.reason
			c.Close()
		}
	case err != nil && ctx.Err() != nil: // the run ends, and no candidate has crashed
		if task == searchFirst {
			c.Phase = decide.Unsearched
		}
		return err
	case err != nil && k.crashes < t.o.Crashes:
		if k.crashes++; task == searchFirst {
			c.Phase = decide.Unsearched
		}
		return err
	case err != nil:
		k.Lost = policy.FirstLine(err)
		t.progress.Lost(&k.Kernel, c.Shape, err)
		return err
	}
	t.progress.Tuned(&k.Kernel, c.Shape, c.outcome())
	return nil
}

// visit does a task.
func (s *search) visit(task task) error {
	c := s.c
	switch task {
	case searchFirst:
		c.Phase = decide.Searched
		if s.k.Searched() > s.t.o.Full || s.p.Check {
			return s.revisit() // only what won elsewhere
		}
		c.Own = true
	case searchOn:
		s.p.Resume = false
	default:
		return s.revisit()
	}
	return s.run()
}

// search prepares a search that ends by a time.
func (t *Run) search(ctx context.Context, c *Config, l *profile.Launch, s profile.Session,
	p *Plan, end time.Time) *search {
	d, known := sim.Lookup(l.Device.Major*10 + l.Device.Minor)
	k := c.k
	sit := &lever.Situation{Kernel: &k.Kernel, Shape: c.Shape, Device: d, Known: known,
		Values: policy.Values(&k.Kernel, l), Options: &t.o, Trial: c.Trial, Largest: l.MaxThreads}
	sit.Device.SMs = l.Device.Multiprocessors
	sit.ManyGrids = p.ManyGrids
	for _, other := range k.Configs {
		sit.Shapes = append(sit.Shapes, other.Shape)
	}
	// Of the budget, a quarter is kept for measuring what was compiled.
	by := t.now().Add(end.Sub(t.now()) * 3 / 4)
	return &search{t: t, k: k, c: c, l: l, s: s, ctx: ctx, sit: sit, p: p, asked: map[string]bool{},
		end: end, deadline: end, moment: 100 * time.Millisecond,
		compileBy: by,
		begun:     t.now(), before: c.Notebook.Cost, spent: t.spent()}
}

// Vary visits a launch with varied data. Winners that leave other bits than the original are
// refused; a variation on which the original does not repeat itself proves nothing, be it at once
// or when it is asked again under other schedules (chance.go). False: nothing is left to check.
func (t *Run) Vary(ctx context.Context, variation int, l *profile.Launch, s profile.Session,
	p *Plan) (more bool) {
	k := t.kernel(l)
	if k == nil || t.ended || len(k.Winners()) == 0 || k.Unsteady != "" {
		return false
	}
	c := t.config(k, l)
	alone, before, random := c.Alone, c.Before, c.Random
	// the winners are compiled already
	own := &Plan{Budget: max(cmp.Or(p.Budget, t.o.Budget), 10*time.Second), ManyGrids: p.ManyGrids}
	x := t.search(ctx, c, l, s, own, t.now().Add(own.Budget))
	defer func() { c.Alone, c.Before, c.Random = alone, before, random }()
	if err := x.load(); err != nil {
		return true
	}
	defer x.unload()
	if d, err := s.Check(x.on.Base); err != nil || !decide.Within(&t.o, &k.Kernel, d) {
		return true // it proves nothing
	}
	for _, tr := range c.Notebook.Trials {
		if tr.Code != "" && tr.Same == "" {
			x.byCode[tr.Code] = tr
		}
	}
	var stood []*policy.Trial
	counts := true
	defer func() {
		for _, tr := range stood {
			if counts {
				tr.Varied++
			}
		}
		for _, tr := range c.Notebook.Trials {
			if other := c.Trial(tr.Same); other != nil && tr.Confirmed != nil {
				follow(tr, other)
			}
		}
		x.save()
	}()
	for _, r := range k.Winners() {
		tr := c.Trial(r.String())
		if tr == nil || tr.Refused != "" || tr.Same != "" {
			continue
		}
		was, checked := *tr, tr.Checked
		_, ok, err := x.arm(tr)
		if err != nil {
			var fault *profile.Fault
			if errors.As(err, &fault) || errors.Is(err, profile.ErrHung) {
				tr.Refused = fmt.Sprintf("%s (with varied data %d)", tr.Refused, variation)
			}
			return true
		}
		tr.Checked = checked
		if ok {
			stood = append(stood, tr)
		} else if tr.Refused != "" {
			var how string
			if tr.Because == cache.OtherBits {
				how, err = x.disagrees(x.schedules())
			}
			if how != "" {
				*tr, counts = was, false
				t.progress.Note(fmt.Sprintf("%s: varied data %d is skipped: %s", k.Label(), variation,
					how))
				return true
			}
			tr.Refused = fmt.Sprintf("%s (with varied data %d)", tr.Refused, variation)
			t.progress.Note(fmt.Sprintf("%s: %s is refused: %s", k.Label(), tr.Text, tr.Refused))
			if c.winner == tr {
				c.winner = nil
			}
			if err != nil {
				return true // the process is lost
			}
		}
	}
	x.countVaried(variation, stood)
	return len(k.Winners()) > 0
}
