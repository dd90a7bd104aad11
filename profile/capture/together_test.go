package capture

import (
	"fmt"
	"testing"

	"gnvcc/profile"
)

// TestTogether: where some launches of a configuration are cooperative, the others are no reason to
// forget that: in whatever order they come, whichever was captured, and where they became nodes of
// graphs.
func TestTogether(t *testing.T) {
	for _, turn := range []bool{false, true} {
		for _, count := range []int{0, 3} {
			t.Run(fmt.Sprint(turn, count), func(t *testing.T) {
				c, cubin := collector(t)
				plain, together := launchOf(t, cubin, 1, 5), launchOf(t, cubin, count, 5)
				together.LaunchAttributes = []string{"cooperative"}
				list := []*profile.Launch{plain, together}
				if turn {
					list = []*profile.Launch{together, plain}
				}
				c.play(t, plain, raw())
				summary := profile.Summary{Whole: true}
				for _, l := range list {
					c.asks(l)
					summary.Kernels = append(summary.Kernels, profile.Seen{Launch: l, Sampled: l.Count,
						Seconds: float64(l.Count)})
				}
				c.end(plain.Process, summary)
				seen := c.Finish().Seen
				if len(seen) != 1 || !seen[0].Profile().Launch.Together() {
					t.Errorf("%+v", seen)
				}
				for _, m := range seen[0].Captures {
					again := launchOf(t, cubin, 1, 5)
					if m.Use.Apply(again); !again.Together() {
						t.Error("a replay knows nothing of it")
					}
				}
				if len(seen[0].Captures) == 0 {
					t.Error("nothing was captured")
				}
			})
		}
	}
}

// TestPastRanks: whether a kernel comes past its stub goes by all processes' launches, in whatever
// order they end.
func TestPastRanks(t *testing.T) {
	use := func(count int, past bool) Use {
		return useOf(profile.Seen{Launch: &profile.Launch{Count: count, Past: past}})
	}
	stub := use(1000, false)
	for range 63 {
		stub = stub.join(use(40, true))
	}
	if few := use(10, true).join(use(100, false)).join(use(1000, false)); !stub.Past || few.Past {
		t.Errorf("of most: %v, of few: %v", stub.Past, few.Past)
	}
}
