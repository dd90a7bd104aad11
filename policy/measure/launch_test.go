package measure

import (
	"errors"
	"testing"
	"time"

	"gnvcc/policy"
	"gnvcc/policy/stats"
	"gnvcc/profile"
	"gnvcc/profile/profiletest"
)

// TestLaunch: what is too long is left after one launch, a replay that is not as the program raises the
// least effect, the device is warmed up until times no longer fall, and a gain that is a loss in the
// other state of the L2 cache is not believed, nor is the larger gain claimed.
func TestLaunch(t *testing.T) {
	runs, warm := 0, 1.2 // the first launches take longer
	session := &profiletest.Session{Time: func(c profile.Candidate, m profile.Measurement) float64 {
		runs++
		warm = max(1, warm-0.002)
		switch {
		case c == profile.Original:
			return 1e6 * warm
		case m.Other:
			return 1.1e6 * warm
		}
		return 0.8e6 * warm
	}}
	on := Launch{Session: session, Seen: &profile.Launch{Unlike: 0.04, Either: true}, Rule: stats.Standard}
	long := errors.New("too long")
	if err := on.Begin(func(took time.Duration) error { return long }); err != long || runs != 1 {
		t.Fatalf("%v after %d launches", err, runs)
	}
	if err := on.Begin(func(time.Duration) error { return nil }); err != nil || len(on.First) != 3 {
		t.Fatal(err, on.First)
	}
	if want := stats.Standard.MinEffect + 0.02; on.Rule.MinEffect != want {
		t.Errorf("the least effect is %g, not %g", on.Rule.MinEffect, want)
	}
	runs = 0
	if err := on.Warm(); err != nil || runs < 60 || on.Plan.Blocks == 0 || stats.Median(on.First) > 1.001e6 {
		t.Errorf("%v: %d launches, plan %+v, times %v", err, runs, on.Plan, on.First)
	}
	found, err := on.Fresh(1)
	if err != nil || found.Ratio.Estimate < 0.75 || found.Ratio.Estimate > 0.85 {
		t.Fatal(err, found.Ratio)
	}
	c := policy.Compare(found, on.Rule.Confidence)
	if ok, err := on.Careful(1, c); ok || err != nil || c.Other < 1.05 || c.Ratio.Estimate < 1.05 {
		t.Errorf("%v, %v: %+v", ok, err, c)
	}
	on.Seen = &profile.Launch{} // the program's own state is known
	c = policy.Compare(found, on.Rule.Confidence)
	if ok, err := on.Careful(1, c); !ok || err != nil || c.Other != 0 {
		t.Errorf("in a known state: %v, %v: %+v", ok, err, c)
	}
	if h, err := on.Harm(1, true); err != nil || h.Ratio.Estimate < 1.05 {
		t.Errorf("in the other state: %+v, %v", h.Ratio, err)
	}
}
