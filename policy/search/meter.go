package search

import (
	"cmp"
	"time"
)

// Where a search's time goes, step by step, for whoever wants it faster.

// A step is a part of a search.
type step string

const (
	starting  step = "starting"  // the default: loaded, timed, checked
	compiling step = "compiling" // waiting for candidates
	checking  step = "checking"  // loading candidates and comparing what they leave
	racing    step = "racing"
	building  step = "building"  // waiting for what a build gives of a draft
	comparing step = "comparing" // on fresh samples
	counting  step = "counting"  // waiting for, and running, what counts
	varying   step = "varying"   // winners on varied data
	thinking  step = ""          // all else
)

// A meter adds up what steps take. A step within another one is none of that one's.
type meter struct {
	at    step
	since time.Time // zero: nothing was begun
	spent map[step]time.Duration
}

// in begins a step; what it returns goes back to the one before.
func (m *meter) in(s step) (back func()) {
	before := m.to(s)
	return func() { m.to(before) }
}

func (m *meter) to(s step) (before step) {
	now := time.Now()
	if m.spent == nil {
		m.spent = map[step]time.Duration{}
	}
	if !m.since.IsZero() {
		m.spent[m.at] += now.Sub(m.since)
	}
	before, m.at, m.since = m.at, s, now
	return before
}

// metered adds a search's steps to those of its configuration; the tuner is locked.
func (t *Tuner) metered(x *search) {
	x.meter.to(thinking)
	is := capturedOf(x.l, x.c.Shape)
	if t.spentOn[is] == nil {
		t.spentOn[is] = map[step]time.Duration{}
	}
	for s, d := range x.meter.spent {
		t.spentOn[is][s] += d
	}
}

// Spent is what searches on a configuration took since it was last asked, in seconds, by step.
func (t *Tuner) Spent(l Captured) map[string]float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := map[string]float64{}
	for s, d := range t.spentOn[l] {
		out[cmp.Or(string(s), "rest")] = d.Seconds()
	}
	delete(t.spentOn, l)
	return out
}
