package tunertest

// The energy counter of the simulated GPU.

import (
	"time"

	"gnvcc/profile"
)

// What it takes, watts, when idle, while memory is put back, and while kernels run.
var watts = map[profile.Metered]float64{profile.Nothing: 100, profile.Restores: 200,
	profile.Runs: 500}

// Meter: the counter moves every 20 ms, and putting memory back takes a microsecond of each run.
func (s *session) Meter(c profile.Candidate, what profile.Metered, span time.Duration,
	o profile.Measurement) (profile.Meter, error) {
	const step, back = 0.02, 1e-6
	ns, err := s.Measure(c, 1, o)
	if err != nil {
		return profile.Meter{}, err
	}
	m := profile.Meter{Each: 1, Took: back, Runs: 1}
	if what == profile.Runs {
		m.Took += ns[0] * 1e-9
	}
	for t := step; t < span.Seconds(); t += step {
		m.Steps = append(m.Steps, profile.Step{Before: t - 1e-4, After: t,
			Millijoules: uint64(1e3 * t * watts[what])})
	}
	return m, nil
}
