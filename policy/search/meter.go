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

// addTo adds the steps to those of a plan, in seconds.
func (m *meter) addTo(p *Plan) {
	m.to(thinking)
	if p.Spent == nil {
		p.Spent = map[string]float64{}
	}
	for s, d := range m.spent {
		p.Spent[cmp.Or(string(s), "rest")] += d.Seconds()
	}
}
