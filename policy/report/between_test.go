package report

import (
	"testing"

	"gnvcc/profile"
)

// TestGaps: what takes a hundredth of the kernels' time has a line, with how often, how long and from
// where; the rest has none.
func TestGaps(t *testing.T) {
	calls := []profile.Call{
		{What: "waited", Count: 10, Seconds: 0.001},
		{What: "read back", Count: 4050, Seconds: 0.1, Bytes: 4050 * 4700,
			Sites: []profile.Site{{Where: "conj_grad (cg.cu:512)", Count: 4000, Seconds: 0.09}}},
		{What: "allocated", Count: 2, Seconds: 0.02},
	}
	follows := []profile.Follow{{First: "blts", Then: "blts", Count: 241000, Timed: 100, Close: 99, Gap: 110e-6},
		{First: "blts", Then: "buts", Count: 3, Timed: 1, Gap: 1e-6}, {First: "buts", Then: "blts", Count: 2}}
	want := `in no kernel (the program's last run; time in calls, with kernels that they wait for):
  between two launches of blts  241000 times  up to 1.10 us  up to 265 ms  99 % within 5 us
  read back, 4.7 KB each        4050 times    24.7 us        100 ms        conj_grad (cg.cu:512)
  allocated                     2 times       10.0 ms        20.0 ms       
`
	if got := GapsText(Gaps(calls, follows, 1)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := GapsText(Gaps(calls[:1], nil, 1)); got != "" {
		t.Errorf("%q", got)
	}
}
