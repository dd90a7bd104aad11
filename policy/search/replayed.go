package search

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/profile"
)

// What differs where launches are replayed in processes of our own: a crash costs such a process,
// the budget is dealt out by what a kernel weighs, and winners are checked on data that the program
// never had.

// SetBudget sets the longest time for the next configuration, and by how much its search may exceed
// it where the best that it has measured is not compared yet.
func (t *Tuner) SetBudget(d, grace time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.o.Budget, t.grace, t.brief = d, grace, nil
	for _, k := range t.order {
		for _, c := range k.configs {
			c.used = 0
		}
	}
}

// Vary is a session on a launch with varied data (replay.Options.Vary). Winners that leave other
// bits than the original are refused; a variation on which the original does not repeat itself
// proves nothing, be it at once or when it is asked again under other schedules (chance.go). False:
// nothing is left to check.
func (t *Tuner) Vary(ctx context.Context, variation int, l *profile.Launch,
	s profile.Session) (more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.kernel(l)
	if k == nil || t.ended || len(k.Winners()) == 0 {
		return false
	}
	c := k.config(l, t)
	kept, alone, before, random := t.o.Budget, c.Alone, c.Before, c.Random
	t.o.Budget = max(kept, 10*time.Second) // the winners are compiled already
	x := t.search(ctx, k, c, l, s, t.now().Add(t.o.Budget))
	defer t.metered(x)
	defer x.meter.in(varying)()
	defer func() { t.o.Budget, c.Alone, c.Before, c.Random = kept, alone, before, random }()
	if err := x.load(); err != nil {
		return true
	}
	defer x.unload()
	if d, err := s.Check(x.baseline); err != nil || !decide.Within(&x.t.o, &x.k.Kernel, d) {
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
				t.progress.Note(fmt.Sprintf("%s: varied data %d does not count: %s", k.Label(), variation, how))
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
	return len(k.Winners()) > 0
}

// Decided tells whether a kernel has a winner that varied data could refuse.
func (t *Tuner) Decided(l Captured) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.byName[l.id()]
	return k != nil && k.Alone == "" && k.Lost == "" && len(k.Winners()) > 0
}

// Missed tells whether what won on a configuration was not compared on one of its captures.
func (t *Tuner) Missed(l Captured, capture string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.byName[l.id()]
	if k == nil || k.Alone != "" || k.Lost != "" {
		return false
	}
	c := k.configs[l.Shape]
	return c != nil && c.missed(capture)
}

// Awaited tells whether what won elsewhere was not compared on a configuration that was searched
// before.
func (t *Tuner) Awaited(l Captured) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, c := t.byName[l.id()], t.at(l)
	return c != nil && k.Alone == "" && k.Lost == "" && k.Awaited(&c.Config)
}

// Short tells whether a configuration's launches are too short for a search.
func (t *Tuner) Short(l Captured) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.at(l)
	return c != nil && c.Short
}

// Unsearched says why nothing is known of what was replayed, "" if something is: its search ended
// before it began, or there was none. That a launch is too short is known.
func (t *Tuner) Unsearched(l Captured) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.byName[l.id()]
	if k == nil {
		return ""
	}
	c := k.configs[l.Shape]
	if k.Alone != "" || c == nil || c.Short {
		return k.Alone
	}
	return c.Alone
}

// CheckOnly keeps a configuration from being searched: what won elsewhere is compared on it.
func (t *Tuner) CheckOnly(l Captured) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.checks[l] = true
}

// ManyGrids says that most launches of a configuration's kernel have other grids: it gets no code
// for its grid alone.
func (t *Tuner) ManyGrids(l Captured) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.grids[l] = true
}

// Again makes the next replay of a configuration choose anew, where its winner was refused. False:
// there is nothing to choose.
func (t *Tuner) Again(l Captured) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.byName[l.id()]
	if k == nil {
		return false
	}
	c := k.configs[l.Shape]
	if c == nil || c.winner != nil || !c.Searched() || !c.Open() || k.Alone != "" || k.Lost != "" ||
		len(k.Winners()) > 0 {
		return false
	}
	c.Phase = decide.Unsearched
	return true
}

// Captured names what is replayed.
type Captured struct {
	Cubin, Kernel string
	Shape         policy.Shape
	Device        string // the model of GPU: a kernel on another one is searched by itself
}

func (c Captured) id() string { return c.Cubin + " " + c.Kernel + " " + c.Device }

func capturedOf(l *profile.Launch, shape policy.Shape) Captured {
	return Captured{l.Cubin, l.Kernel, shape, l.Model()}
}
