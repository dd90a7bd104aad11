package capture

import (
	"strings"
	"testing"

	"gnvcc/profile"
)

// TestRanks: launches of one rank are captured, those of all are counted; what only others launch has
// a reason.
func TestRanks(t *testing.T) {
	c, cubin := collector(t)
	of := func(kernel string, rank int) *profile.Launch {
		l := launchOf(t, cubin, 1, 5)
		l.Kernel, l.Process = kernel, &profile.Process{PID: 7 + rank, Program: "/bin/app", Rank: rank}
		return l
	}
	for rank := 3; rank >= 0; rank-- {
		if v := c.Launch(of("k", rank)); (v.Capture != "") != (rank == 0) || v.Capture == "" && v.Again == 0 {
			t.Errorf("rank %d: %+v", rank, v)
		}
	}
	c.Launch(of("theirs", 2))
	for rank := range 4 {
		c.End(&profile.Process{PID: 7 + rank, Rank: rank}, profile.Summary{Whole: true,
			Kernels: []profile.Seen{{Launch: of("k", rank), Seconds: 1, Sampled: 1}}})
	}
	for _, s := range c.Finish().Seen {
		switch s.Launch.Kernel {
		case "k":
			if s.Use.Count != 4 || s.Use.Seconds != 4 {
				t.Errorf("%+v", s)
			}
		case "theirs":
			if len(s.Captures) != 0 || !strings.Contains(s.Why, "rank 2 launches it, and rank 0") {
				t.Errorf("%+v", s)
			}
		}
	}
	for _, which := range []int{2, profile.AllRanks} {
		c, cubin = collector(t)
		c.Rank = which
		if c.Launch(of("theirs", 2)).Capture == "" {
			t.Errorf("with --rank %d, rank 2 is not captured", which)
		}
		c.Finish()
	}
}
