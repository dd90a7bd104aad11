package search

import (
	"errors"
	"fmt"
	"math"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/profile"
)

// What a launch takes in joules, for who asks: with nvcc's own build and with the one that won,
// behind all that the search does. The GPU's counter moves in steps, so that launches run back to
// back, and what counts is from one step to a later one; when these were is known to within two
// looks at the counter. What puts memory back before each launch runs by itself, too, and is taken
// off.

const (
	idling = 250 * time.Millisecond // the idle GPU is looked at first
	// seconds between the counter's steps from which on a round would take too long
	longestStep = 0.15
	// seconds of a round that count: each build has two
	round = 0.3
	// so much more or less than by itself may putting memory back take beside launches
	beside = 0.5
	// so much of a figure may be uncertain
	precise = 0.1
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
	restores := func() (runs, error) { return metered(on, arms[0], profile.Restores, e.Step, 1) }
	back, err := restores()
	if err != nil {
		return e, err
	}
	var rounds [2][]runs
	for _, i := range []int{0, 1, 1, 0} {
		r, err := metered(on, arms[i], profile.Runs, e.Step, 2)
		if err != nil {
			return e, err
		}
		rounds[i] = append(rounds[i], r)
	}
	late, err := restores()
	if err != nil {
		return e, err
	}
	back.off = max(back.off, late.off) + math.Abs(back.joules-late.joules)/2
	back.joules, back.seconds = (back.joules+late.joules)/2, (back.seconds+late.seconds)/2
	for i, out := range []*cache.Joules{&e.Before, &e.After} {
		a, b := rounds[i][0], rounds[i][1]
		each := float64(a.each)
		out.Launch = ((a.joules+b.joules)/2 - back.joules) / each
		out.Error = (math.Abs(a.joules-b.joules)/2 + max(a.off, b.off) + back.off +
			beside*back.joules) / each
		if !(out.Error <= precise*out.Launch) {
			return e, fmt.Errorf("not precise enough: %.3g J a launch, give or take %.2g", out.Launch,
				out.Error)
		}
		if took := 1e9 * ((a.seconds+b.seconds)/2 - back.seconds) / each; took > waiting*ns[i] {
			return e, fmt.Errorf("not precise enough: the GPU waits for the host (back to back a launch "+
				"takes %.3g us, and by itself %.3g)", took/1e3, ns[i]/1e3)
		}
	}
	return e, nil
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
	each        int // launches in it
}

// metered does something back to back for a round, in which the counter moves so many times at
// least. What it says a step after the beginning is of this alone.
func metered(on profile.Metering, c profile.Candidate, what profile.Metered, step float64,
	least int) (runs, error) {
	span := 2*step + max(round, float64(least)*step)
	m, err := look(on, c, what, time.Duration(span*float64(time.Second)))
	if err != nil {
		return runs{}, err
	}
	power, off, err := watts(m, m.Warm+step, least)
	r := runs{seconds: m.Took / float64(max(m.Runs, 1)), each: m.Each}
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
