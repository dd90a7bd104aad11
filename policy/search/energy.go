package search

import (
	"errors"
	"fmt"
	"math"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/stats"
	"gnvcc/profile"
)

// What a launch takes in joules, for who asks: with nvcc's own build and with the one that won,
// behind all that the search does. The GPU's counter moves in steps of 20 to 100 ms, so that runs
// go back to back, and what counts is from one step to a later one; when these were is known to
// within two looks at the counter.
//
// A run is a launch, and memory put back before it, which may take more than the launch. What that
// takes is known from runs before which it is put back twice: beside launches, at the clock rate
// that these leave. So a launch takes twice a run less such a run, in one turn of four
// measurements. Turns differ by all that is no launch's own: when the counter moved, how warm the
// GPU is, who else uses it. The median of some is as sure as they agree, and surer with more.

const (
	idling = 250 * time.Millisecond // the idle GPU is looked at first
	// seconds between the counter's steps from which on a round would take too long
	longestStep = 0.15
	// seconds of a measurement that count: a turn has four
	round = 0.3
	// turns, from as many as an interval of that confidence wants; as many as people wait for
	leastTurns, mostTurns = 6, 16
	sure                  = 0.95
	// so much of a figure may be uncertain; where it is so many times as much behind the least turns,
	// the most won't do
	precise, tooFar = 0.1, 3
	// times as long as by events may a launch take back to back: else the GPU waits for the host
	waiting = 1.25
)

// energy measures it for a configuration's winner, once for a kernel's. What goes wrong is said in
// the place of figures, and what was found stands; but a candidate that crashes here, of all
// places, is refused.
func (s *search) energy() error {
	on, ok := s.s.(profile.Metering)
	w := s.c.winner
	if !s.t.o.Energy || !ok || w == nil || w.Confirmed == nil || s.k.metered == w.Text ||
		s.ctx.Err() != nil {
		return nil
	}
	defer s.meter.in(energetic)()
	begun := s.t.now()
	defer func() { // it is none of the search's time
		took := s.t.now().Sub(begun)
		s.c.used -= took
		s.t.aside += took
	}()
	arm, ok, err := s.arm(w)
	if err != nil || !ok {
		return err
	}
	s.k.metered = w.Text
	s.t.progress.Trying(&s.k.Kernel, s.c.Shape, "measuring energy", 0)
	e, err := joules(on, [2]profile.Candidate{s.baseline, arm}, [2]float64{w.Confirmed.Before.Median,
		w.Confirmed.After.Median})
	var fault *profile.Fault
	switch {
	case errors.As(err, &fault) && fault.Candidate == s.baseline:
		return err
	case dead(err):
		return s.failed(w, err)
	case err != nil:
		e = cache.Energy{Why: policy.FirstLine(err)}
	}
	w.Energy = &e
	s.save()
	return nil
}

// Aside is what was measured beside searches since it was last asked: no budget is for that.
func (t *Tuner) Aside() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	took := t.aside
	t.aside = 0
	return took
}

// joules measures two builds in turn; ns is what a launch of each takes.
func joules(on profile.Metering, arms [2]profile.Candidate, ns [2]float64) (cache.Energy, error) {
	var e cache.Energy
	idle, err := look(on, arms[0], profile.Nothing, idling)
	if err != nil {
		return e, err
	}
	for i := 1; i < len(idle.Steps); i++ {
		e.Step = max(e.Step, idle.Steps[i].After-idle.Steps[i-1].After)
	}
	if e.Idle, _, err = watts(idle, 0, 1); err != nil {
		return e, err
	}
	if e.Step > longestStep {
		return e, fmt.Errorf("not precise enough: the counter moves every %.2g s", e.Step)
	}
	var of [2]launches
	for n := 1; ; n++ {
		for _, i := range [2]int{n % 2, 1 - n%2} { // the next turn is this one's mirror
			if err := of[i].turn(on, arms[i], e.Step, n%2 == i); err != nil {
				return e, err
			}
		}
		if n < leastTurns {
			continue
		}
		off, worst := 0., cache.Joules{} // times as much as may be uncertain
		for i, out := range []*cache.Joules{&e.Before, &e.After} {
			if *out, err = of[i].each(ns[i]); err != nil {
				return e, err
			}
			if so := out.Error / (precise * max(out.Launch, 0)); !(so <= off) {
				off, worst = so, *out
			}
		}
		switch {
		case off <= 1:
			return e, nil
		case !(off <= tooFar) || n == mostTurns:
			return e, fmt.Errorf("not precise enough: %.3g J a launch, give or take %.2g", worst.Launch,
				worst.Error)
		}
	}
}

// launches are what a build's took, each by a turn of its own.
type launches struct {
	joules, seconds []float64
	off, watts      float64 // joules by which the worst turn may be off; power of the last one
}

// turn measures one: runs, and runs with memory put back twice, in this order or the other one.
func (l *launches) turn(on profile.Metering, c profile.Candidate, step float64, twice bool) error {
	what := [2]profile.Metered{profile.Runs, profile.Twice}
	var got [2]runs
	for i := range what {
		if twice {
			i = 1 - i
		}
		var err error
		if got[i], err = metered(on, c, what[i], step); err != nil {
			return err
		}
	}
	once, again := got[0], got[1]
	l.joules = append(l.joules, (2*once.joules-again.joules)/once.each)
	l.seconds = append(l.seconds, (2*once.seconds-again.seconds)/once.each)
	l.off = max(l.off, (2*once.off+again.off)/once.each)
	l.watts = once.joules / once.seconds
	return nil
}

// each is what one took, by all turns; ns is what one takes by events. Of how far the turns are
// apart, and the doubt about when the counter moved in each, the mean of more turns has less. What
// is missing in time, because putting memory back takes less beside a launch than again, is missing
// in joules, too, however many there are.
func (l *launches) each(ns float64) (j cache.Joules, err error) {
	took := 1e9 * stats.Median(l.seconds)
	if took > waiting*ns {
		return j, fmt.Errorf("not precise enough: the GPU waits for the host (back to back a launch "+
			"takes %.3g us, and by itself %.3g)", took/1e3, ns/1e3)
	}
	i := stats.MedianInterval(l.joules, sure)
	j.Launch = i.Estimate
	j.Error = max(i.High-i.Estimate, i.Estimate-i.Low) + l.off/math.Sqrt(float64(i.N)) +
		l.watts*1e-9*max(ns-took, 0)
	return j, nil
}

// look is a meter's reading, which may be an error.
func look(on profile.Metering, c profile.Candidate, what profile.Metered,
	span time.Duration) (profile.Meter, error) {
	m, err := on.Meter(c, what, span, profile.Measurement{})
	if err == nil && m.Why != "" {
		err = fmt.Errorf("not measured: %s", m.Why)
	}
	return m, err
}

// runs are what one of many takes.
type runs struct {
	joules, off float64 // off: by so much they may be wrong
	seconds     float64
	each        float64 // launches in it
}

// metered does something back to back for a round, in which the counter moves twice at least. What
// it says a step after the beginning is of this alone.
func metered(on profile.Metering, c profile.Candidate, what profile.Metered,
	step float64) (runs, error) {
	const least = 2
	span := 2*step + max(round, least*step)
	m, err := look(on, c, what, time.Duration(span*float64(time.Second)))
	if err != nil {
		return runs{}, err
	}
	power, off, err := watts(m, m.Warm+step, least)
	r := runs{seconds: m.Took / float64(max(m.Runs, 1)), each: float64(m.Each)}
	r.joules, r.off = power*r.seconds, power*off*r.seconds
	return r, err
}

// watts is the mean power between the counter's first step after a time and its last one, and which
// part of that it may be off.
func watts(m profile.Meter, from float64, least int) (mean, off float64, err error) {
	list := m.Steps
	for len(list) > 0 && list[0].Before < from {
		list = list[1:]
	}
	if len(list) <= least {
		return 0, 0, fmt.Errorf("not precise enough: the counter moved %d times where more than %d are "+
			"needed", len(list), least)
	}
	for i := 1; i < len(list); i++ {
		if list[i].Millijoules < list[i-1].Millijoules {
			return 0, 0, fmt.Errorf("not measured: the counter went backwards")
		}
	}
	a, b := list[0], list[len(list)-1]
	took := (b.Before + b.After - a.Before - a.After) / 2
	return float64(b.Millijoules-a.Millijoules) * 1e-3 / took,
		(b.After - b.Before + a.After - a.Before) / 2 / took, nil
}
