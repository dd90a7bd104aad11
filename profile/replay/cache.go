package replay

import (
	"slices"
	"time"

	"gnvcc/profile"
)

// How a launch finds the L2 cache in the program is not known: its time is. A replay is timed with
// what the last copies left in the cache, or with an empty one, whichever comes nearer.

const (
	// Below, the events' own microseconds say more than the cache does.
	shortest = 80 * time.Microsecond
	// slack is what events around a launch that the device waits for take themselves, at the most: the
	// first one is there before the launch.
	slack = 15 * time.Microsecond
	// near is how far a replay's time may be from the program's.
	near = 0.05
)

// cold is a session that empties the L2 cache before every timed run.
type cold struct{ profile.Session }

func (c cold) Measure(a profile.Candidate, n int, m profile.Measurement) ([]float64, error) {
	m.Cold = true
	return c.Session.Measure(a, n, m)
}

// timed chooses how a session is timed, and tells how far the replay then is from the program, 0:
// near. Where neither comes near, that is noted: what is gained there need not be gained in the
// program, and the search asks for more.
func (w *only) timed(s profile.Session) (chosen profile.Session, unlike float64) {
	u := w.m.Use
	if u.Sampled == 0 || u.Count == 0 || u.Varied > 0 && u.Sets > 1 {
		return s, 0 // launches with other values take other times
	}
	program := u.Seconds / float64(u.Count) * 1e9
	if program < float64(shortest.Nanoseconds()) {
		return s, 0
	}
	warm, err := s.Measure(profile.Original, 3, profile.Measurement{})
	if err != nil {
		return s, 0 // the host meets it too
	}
	empty, err := s.Measure(profile.Original, 3, profile.Measurement{Cold: true})
	if err != nil {
		return s, 0
	}
	chosen, unlike = s, off(median(warm), program)
	if d := off(median(empty), program); d < unlike {
		chosen, unlike = cold{s}, d
	}
	if unlike <= near {
		return chosen, 0
	}
	w.log(
		"%s: a launch took %.4g us in the program, %.4g us in the replay, %.4g with an empty L2 cache: what is gained in the program may differ, so more is asked for",
		w.m.Kernel, program/1e3, median(warm)/1e3, median(empty)/1e3)
	return chosen, unlike
}

// off is how far a replay's time is from the program's, of which some may be the events' own: alike
// in both directions.
func off(replay, program float64) float64 {
	if replay <= program && replay >= program-float64(slack.Nanoseconds()) {
		return 0
	}
	if replay < program {
		program -= float64(slack.Nanoseconds())
	}
	return max(replay/max(program, 1), program/max(replay, 1)) - 1
}

// median is that of an odd number of times.
func median(ns []float64) float64 { return slices.Sorted(slices.Values(ns))[len(ns)/2] }
