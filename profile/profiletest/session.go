package profiletest

import (
	"fmt"

	"gnvcc/profile"
	"gnvcc/rewrite/manner"
)

// A Session repeats a launch that a test describes. What is not described is the least that can be:
// a candidate loads, takes 1 ms, and leaves the same bits.
type Session struct {
	Wrote  profile.Written // by the original
	Loads  func(path, entry string, m manner.Manner) (profile.Attributes, error)
	Time   func(c profile.Candidate, m profile.Measurement) float64 // ns of a run
	Runs   func(c profile.Candidate, n int, m profile.Measurement)  // called before n timed runs
	Leaves func(c profile.Candidate, o profile.Schedule) (profile.Difference, error)
	Reads  func(c profile.Candidate, variable string, size int) ([]byte, error)
	Lost   error // what every call gives, once the process is lost

	loaded int
}

var _ profile.Session = (*Session)(nil)

func (s *Session) Golden() (profile.Written, error) { return s.Wrote, s.Lost }

func (s *Session) Load(path, entry string) (profile.Candidate, profile.Attributes, error) {
	return s.LoadAs(path, entry, manner.Manner{})
}

func (s *Session) LoadAs(path, entry string,
	m manner.Manner) (profile.Candidate, profile.Attributes, error) {
	at, err := profile.Attributes{MaxThreads: 1024}, s.Lost
	if s.Loads != nil && err == nil {
		at, err = s.Loads(path, entry, m)
	}
	if err != nil {
		return 0, at, err
	}
	s.loaded++
	return profile.Candidate(s.loaded), at, nil
}

func (s *Session) Unload(profile.Candidate) error { return nil }

func (s *Session) Measure(c profile.Candidate, n int,
	m profile.Measurement) ([]float64, error) {
	if s.Lost != nil {
		return nil, s.Lost
	}
	if s.Runs != nil {
		s.Runs(c, n, m)
	}
	out := make([]float64, n)
	for i := range out {
		if out[i] = 1e6; s.Time != nil {
			out[i] = s.Time(c, m)
		}
	}
	return out, s.Lost
}

func (s *Session) Check(c profile.Candidate) (profile.Difference, error) {
	return s.CheckUnder(c, profile.Schedule{})
}

func (s *Session) CheckUnder(c profile.Candidate,
	o profile.Schedule) (profile.Difference, error) {
	if s.Lost != nil || s.Leaves == nil {
		return profile.Difference{Same: s.Lost == nil}, s.Lost
	}
	return s.Leaves(c, o)
}

func (s *Session) Read(c profile.Candidate, variable string,
	size int) ([]byte, error) {
	if s.Reads == nil || s.Lost != nil {
		return nil, fmt.Errorf("it has no variable %s", variable)
	}
	return s.Reads(c, variable, size)
}
