package tunertest

// The energy counter of the simulated GPU.

import (
	"time"

	"gnvcc/profile"
)

// Meter: the counter moves every 20 ms. Idle the GPU takes 100 W, while it runs 500; putting memory
// back takes a microsecond of each run, and 200 W.
func (s *session) Meter(c profile.Candidate, what profile.Metered, span time.Duration,
	o profile.Measurement) (profile.Meter, error) {
	const step, back, idle, puts, runs = 0.02, 1e-6, 100, 200, 500
	ns, err := s.Measure(c, 1, o)
	if err != nil {
		return profile.Meter{}, err
	}
	m := profile.Meter{Each: 1, Took: ns[0]*1e-9 + back*float64(what), Runs: 1}
	watts := (runs*ns[0]*1e-9 + puts*back*float64(what)) / m.Took
	if what == profile.Nothing {
		watts = idle
	}
	for t := step; t < span.Seconds(); t += step {
		m.Steps = append(m.Steps, profile.Step{Before: t - 1e-4, After: t,
			Millijoules: uint64(1e3 * t * watts)})
	}
	return m, nil
}
