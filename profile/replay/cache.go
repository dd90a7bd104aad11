package replay

import (
	"slices"
	"time"

	"gnvcc/profile"
)

// How a launch finds the L2 cache in the program is not known: its time is. A replay is timed with what the last copies left in the cache, or
// with an empty one, whichever comes nearer.

const (
	// Below, the events' own microseconds (up to 5 where the device waits for the launch) say more than the cache does.
	shortest = 80 * time.Microsecond
	// near is how far a replay's time may be from the program's.
	near = 0.05
)

// cold is a session that empties the L2 cache before every timed run.
type cold struct{ profile.Session }

func (c cold) Measure(a profile.Candidate, n int, m profile.Measurement) ([]float64, error) {
	m.Cold = true
	return c.Session.Measure(a, n, m)
}

// timed chooses how a session is timed. Where neither comes near, that is noted.
func (w *only) timed(s profile.Session) profile.Session {
	u := w.m.Use
	if u.Sampled == 0 || u.Count == 0 || u.Varied > 0 && u.Sets > 1 {
		return s // launches with other values take other times
	}
	program := u.Seconds / float64(u.Count) * 1e9
	if program < float64(shortest.Nanoseconds()) {
		return s
	}
	warm, err := s.Measure(profile.Original, 3, profile.Measurement{})
	if err != nil {
		return s // the host meets it too
	}
	empty, err := s.Measure(profile.Original, 3, profile.Measurement{Cold: true})
	if err != nil {
		return s
	}
	a, b := median(warm)/program, median(empty)/program
	chosen, ratio := s, a
	if off(b) < off(a) {
		chosen, ratio = cold{s}, b
	}
	if off(ratio) > near {
		w.log("%s: a launch took %.4g us in the program, %.4g us in the replay, %.4g with an empty L2 cache: what is gained in the program may differ",
			w.m.Kernel, program/1e3, median(warm)/1e3, median(empty)/1e3)
	}
	return chosen
}

// off is how far a ratio is from 1, alike in both directions.
func off(ratio float64) float64 { return max(ratio, 1/max(ratio, 1e-9)) - 1 }

// median is that of an odd number of times.
func median(ns []float64) float64 { return slices.Sorted(slices.Values(ns))[len(ns)/2] }
