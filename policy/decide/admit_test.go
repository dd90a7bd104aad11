package decide

import (
	"testing"

	"gnvcc/policy"
	"gnvcc/policy/stats"
	"gnvcc/rewrite/recipe"
)

// trialOf is one that the race saw at a ratio.
func trialOf(t *testing.T, text string, ratio float64) *policy.Trial {
	t.Helper()
	r, err := recipe.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return &policy.Trial{Recipe: r, Text: text, Ratio: ratio,
		Confirmed: &policy.Compared{Ratio: stats.Interval{Estimate: ratio, N: 9}}}
}

// TestSimple: the two simplest that are near enough, and in a winner's place only one that loses
// little.
func TestSimple(t *testing.T) {
	winner := trialOf(t, "maxnreg=40 hint@ld=cs unroll=4", 0.80)
	near, nearer := trialOf(t, "maxnreg=40 hint@ld=cs", 0.82), trialOf(t, "maxnreg=40", 0.807)
	far, longer := trialOf(t, "hint@ld=cs", 0.83), trialOf(t, "maxnreg=40 hint@ld=cs unroll=4 hint@st=cs", 0.80)
	got := Simple([]*policy.Trial{winner, near, nearer, far, longer}, winner)
	if len(got) != 2 || got[0] != nearer || got[1] != near {
		t.Errorf("%d simpler ones: %v", len(got), got)
	}
	if !Instead(nearer, winner) || Instead(near, winner) {
		t.Error("1 % is the limit")
	}
}

// TestCopies: code that was had before is not measured again.
func TestCopies(t *testing.T) {
	other := trialOf(t, "maxnreg=40", 0.9)
	for name, c := range map[string]struct {
		code  string
		other *policy.Trial
		same  string
	}{
		"not known":     {"", other, ""},
		"the default's": {"original", nil, "-"},
		"another's":     {"code", other, "maxnreg=40"},
		"new":           {"code", nil, ""},
	} {
		tr := trialOf(t, "hint@ld=cs", 0)
		tr.Code = c.code
		if copies := Copies(tr, "original", c.other); copies != (c.same != "") || tr.Same != c.same {
			t.Errorf("%s: %v, the same as %q", name, copies, tr.Same)
		}
	}
	other.Refused = "other bits"
	tr := trialOf(t, "hint@ld=cs", 0)
	tr.Code = "code"
	if !Copies(tr, "original", other) || tr.Refused != "other bits" {
		t.Error("what refuses one refuses its copies")
	}
}
