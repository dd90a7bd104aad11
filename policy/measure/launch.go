package measure

import (
	"time"

	"gnvcc/policy"
	"gnvcc/policy/stats"
	"gnvcc/profile"
)

// A Launch is one that stands still, and the build that others are compared with.
type Launch struct {
	Session profile.Session
	Seen    *profile.Launch   // as the program did it
	Base    profile.Candidate // profile.Original, or nvcc's own build as it was loaded
	// Begin notes what a launch costs next to its kernel, and raises the least effect for a replay that
	// is not as the program
	Rule  stats.Rule
	First []float64  // the base's times, ns, as far as they are known
	Plan  stats.Plan // of a comparison, after Warm
}

// Begin takes the base's first three times. fits is asked after one whether there is time for more;
// its error comes back.
func (l *Launch) Begin(fits func(took time.Duration) error) error {
	begun := time.Now()
	one, err := l.times(l.Base, 1)
	if err != nil {
		return err
	}
	l.First = one
	if err := fits(time.Duration(stats.Median(one))); err != nil {
		return err
	}
	more, err := l.times(l.Base, 2)
	if err != nil {
		return err
	}
	l.First = append(l.First, more...)
	around := time.Since(begun)
	for _, ns := range l.First {
		around -= time.Duration(ns)
	}
	// the replay is not as the program: a gain has to outlast half of the difference
	if unlike := l.Seen.Unlike; unlike > 0 {
		l.Rule.MinEffect = max(l.Rule.MinEffect, min(2*l.Rule.MinEffect, l.Rule.MinEffect+unlike/2))
	}
	l.Rule.Launch = max(0, around/time.Duration(max(len(l.First), 1)))
	return nil
}

// Warm warms the device up, takes the times by which comparisons are planned, and plans them.
func (l *Launch) Warm() error {
	n := int(50e6 / (max(stats.Median(l.First), 1) + float64(l.Rule.Launch))) // 50 ms, mostly
	if n > 0 {                                                                // a launch of 50 ms and more was looked at often enough
		err := l.warmUp()
		if err == nil {
			l.First, err = l.times(l.Base, min(max(n, 5), 30))
		}
		if err != nil {
			return err
		}
	}
	l.Plan = l.Rule.Plan(l.First)
	return nil
}

// What a warming-up takes on the device at least, and at most, nanoseconds.
const (
	warmLeast = 60e6
	warmMost  = 250e6
	warmBatch = 10e6
)

// warmUp launches the base until its times no longer fall. A GPU that was idle has low clocks: for
// some ten milliseconds a kernel takes up to a sixth more (measured on an H200).
func (l *Launch) warmUp() error {
	last, busy := stats.Median(l.First), 0.0
	for _, ns := range l.First {
		busy += ns + float64(l.Rule.Launch)
	}
	for falling := true; busy < warmLeast || falling && busy < warmMost; {
		n := int(warmBatch / (last + float64(l.Rule.Launch) + 1))
		times, err := l.times(l.Base, min(max(n, 1), 200))
		if err != nil {
			return err
		}
		if len(times) == 0 {
			return nil
		}
		for _, ns := range times {
			busy += ns + float64(l.Rule.Launch)
		}
		now := stats.Median(times)
		falling = now < 0.99*last
		last = min(last, now)
	}
	return nil
}

func (l *Launch) times(c profile.Candidate, n int) ([]float64, error) {
	return l.Session.Measure(c, n, profile.Measurement{})
}

// Steady is how two runs of the base differ.
func (l *Launch) Steady() (profile.Difference, error) { return l.Session.Check(l.Base) }

// Sampler makes an arm 0 of a loaded build.
func (l *Launch) Sampler(arm profile.Candidate, how profile.Measurement) stats.Sampler {
	return func(a, n int) ([]float64, error) {
		if a == stats.Baseline {
			return l.Session.Measure(l.Base, n, how)
		}
		return l.Session.Measure(arm, n, how)
	}
}

// Fresh compares a loaded build with the base on fresh samples. Where it seems slower it is asked with
// certainty: a build may be the best elsewhere.
func (l *Launch) Fresh(arm profile.Candidate) (stats.Comparison, error) {
	sample := l.Sampler(arm, profile.Measurement{})
	c, err := l.Rule.Compare(sample, 0, l.Plan)
	if err == nil && l.Rule.Harmful(c.Ratio) {
		c, err = l.Rule.CompareHarm(sample, 0, l.Plan)
	}
	return c, err
}

// Careful compares in the other state of the L2 cache as well, where the program's is not known:
// the smaller gain is claimed, and what is slower there is not believed (false). A kernel that is
// launched in a row finds what a launch of its own has left: what gains there must not be slower where
// the cache was filled by others, which says nothing of what is claimed.
func (l *Launch) Careful(arm profile.Candidate, found *policy.Compared) (ok bool, err error) {
	if !l.Seen.Either && !l.Seen.Repeats {
		return true, nil
	}
	c, err := l.Rule.Compare(l.Sampler(arm, profile.Measurement{Other: true}), 0, l.Plan)
	if err != nil {
		return false, err
	}
	if l.Seen.Either {
		found.Other = c.Bound()
	}
	if l.Rule.Harmful(c.Ratio) {
		found.Ratio = c.Ratio
		return false, nil
	}
	return true, nil
}

// Harm is a comparison that answers with certainty whether a build is slower, in one state of the L2
// cache or (other) in the other one.
func (l *Launch) Harm(arm profile.Candidate, other bool) (stats.Comparison, error) {
	return l.Rule.CompareHarm(l.Sampler(arm, profile.Measurement{Other: other}), 0, l.Plan)
}
