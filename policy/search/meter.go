package search

import (
	"cmp"
	"time"

	"gnvcc/cache"
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

// A search costs the time that the program stood still for it, the candidates, and the tools'
// runs. It is kept beside what the search found (the notebook, then the decision), and adds up over
// the runs that went on with it.

// spent sums the tools up. Runs that another kernel's candidates cause meanwhile are few: kernels are
// searched one after the other, and what was not compiled in time goes on beside the next one.
func (t *Run) spent() cache.Cost {
	var c cache.Cost
	for _, tool := range []struct {
		name string
		runs *int
	}{{"cicc", &c.Cicc}, {"ptxas", &c.Ptxas}} {
		runs, took := t.compiler.Spent(tool.name)
		*tool.runs = runs
		c.Compiling += took.Seconds()
	}
	return c
}

// cost is what the search of this configuration has cost so far, all runs together.
func (s *search) cost() cache.Cost {
	now := s.t.spent()
	return cache.Cost{
		Seconds:    s.before.Seconds + s.t.now().Sub(s.begun).Seconds(),
		Candidates: len(s.c.Notebook.Trials),
		Cicc:       s.before.Cicc + now.Cicc - s.spent.Cicc,
		Ptxas:      s.before.Ptxas + now.Ptxas - s.spent.Ptxas,
		Compiling:  s.before.Compiling + now.Compiling - s.spent.Compiling,
	}
}
