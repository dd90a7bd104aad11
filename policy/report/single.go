package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"
	"text/tabwriter"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/lever"
	"gnvcc/rewrite/recipe"
)

// What each lever gives a kernel by itself: its best value and what that gains, or why there is
// none. A decision's evidence names every lever of the table, those that had nothing to try too
// (search/untried.go).

// A Single is one lever, alone, on one kernel. Figures are the tuner's, weighted over the launches
// measured: from a comparison on fresh samples where there was one, else from the race, which
// orders candidates and proves nothing.
type Single struct {
	Lever string `json:"lever"`
	// the fastest recipe that may be adopted and is other code than nvcc's
	Best      string      `json:"best,omitempty"`
	SpeedUp   float64     `json:"speedUp,omitempty"` // nvcc's time over its
	Build     cache.Build `json:"build,omitzero"`
	Tried     int         `json:"tried"` // values
	Measured  int         `json:"measured"`
	Same      int         `json:"same"` // gave code that was there already
	Refused   int         `json:"refused"`
	OtherBits int         `json:"otherBits"` // of the refused
	// the first one's recipe and reason, other bits before all else: with allocation and element
	Refusal string `json:"refusal,omitempty"`
	Why     string `json:"why,omitempty"` // nothing was measured: why
}

// singles sums up a decision's evidence, the most gaining lever first, those without a figure last.
func (e Entry) singles() []Single {
	d := e.Decision
	if len(d.Evidence.Launches) == 0 {
		return nil // nothing was measured
	}
	by := map[string]*Single{}
	var names []string
	of := func(lever string) *Single {
		if by[lever] == nil {
			by[lever] = &Single{Lever: lever}
			names = append(names, lever)
		}
		return by[lever]
	}
	for _, t := range d.Evidence.Tried { // sorted by time
		r, err := recipe.Parse(t.Recipe)
		lever := singleOf(r)
		if err != nil || lever == "" {
			continue
		}
		s := of(lever)
		s.Tried++
		switch {
		case t.Because == cache.SameCode:
			s.Same++
		case t.Refused != "":
			s.Refused++
			other := t.Because == cache.OtherBits
			if s.Refusal == "" || other && s.OtherBits == 0 {
				s.Refusal = t.Recipe + ": " + e.Refusal(t)
			}
			if other {
				s.OtherBits++
			}
		case t.Ratio > 0:
			s.Measured++
			if s.Best == "" {
				s.Best, s.SpeedUp, s.Build = t.Recipe, 1/t.Ratio, t.Build
			}
		}
	}
	for lever := range d.Evidence.Untried {
		of(lever)
	}
	sort.Strings(names)
	var out []Single
	for _, name := range names {
		s := by[name]
		if s.Measured == 0 {
			s.Why = s.why(d.Evidence.Untried[name])
		}
		out = append(out, *s)
	}
	sort.SliceStable(out, func(i, j int) bool {
		if a, b := out[i], out[j]; a.SpeedUp != b.SpeedUp {
			return a.SpeedUp > b.SpeedUp
		}
		return out[i].Tried > out[j].Tried
	})
	return out
}

// singleOf returns the lever whose own value a recipe is: its only lever, or the one that the
// others may stand with. "" if there is none.
func singleOf(r recipe.Recipe) string {
	if lever, _, _ := strings.Cut(lever.Of(r), "@"); lever != "" {
		return lever
	}
	for _, t := range r.Terms {
		l := lever.Named(t.Lever)
		if l != nil && !t.HostOnly() && !slices.ContainsFunc(r.Terms, func(o recipe.Term) bool {
			return o.Lever != t.Lever && !o.HostOnly() && !slices.Contains(l.With, o.Lever)
		}) {
			return t.Lever
		}
	}
	return ""
}

// why says why a lever without a figure has none.
func (s *Single) why(untried string) string {
	switch {
	case s.Refused > 0:
		return "refused: " + s.Refusal
	case s.Same > 0:
		return "same machine code as the default"
	case s.Tried > 0:
		return "values not measured"
	case untried != "":
		return untried
	}
	return "not tried"
}

// shown is a recipe as a list shows it: without the terms that only the host looks at.
func shown(text string) string {
	r, err := recipe.Parse(text)
	if err != nil {
		return text
	}
	r.Terms = slices.DeleteFunc(slices.Clone(r.Terms), recipe.Term.HostOnly)
	return r.String()
}

// single prints the levers of one kernel as a table.
func (p *printer) single(w io.Writer, e Entry) {
	if len(e.Levers) == 0 {
		return
	}
	p.line("")
	p.line("  each lever alone:")
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, s := range e.Levers {
		if s.Measured == 0 {
			continue
		}
		fmt.Fprintf(t, "    %.3fx\t%s\t%s%s\t%s\n", s.SpeedUp, policy.Shorten(shown(s.Best), 60),
			registers(s.Build), spills(s.Build), s.counts())
	}
	if err := t.Flush(); err != nil && p.err == nil {
		p.err = err
	}
	without := map[string][]string{} // by reason
	for _, s := range e.Levers {
		switch {
		case s.Refusal != "": // with the first differing allocation and element, where bits differ
			p.paragraph("    refused: ", notMeasured, s.Refusal)
		case s.Measured == 0:
			without[s.Why] = append(without[s.Why], s.Lever)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(without)) {
		p.paragraph("    not measured: ", notMeasured, strings.Join(without[why], ", ")+": "+why)
	}
}

// notMeasured is how far the lines of a reason are set in.
const notMeasured = "            "

// counts says what became of a lever's values.
func (s *Single) counts() string {
	text := fmt.Sprintf("%d of %d measured", s.Measured, s.Tried)
	if s.Refused > 0 {
		text += fmt.Sprintf(", %d refused", s.Refused)
	}
	if s.OtherBits > 0 {
		text += fmt.Sprintf(" (%d: different bits)", s.OtherBits)
	}
	if s.Same > 0 {
		text += fmt.Sprintf(", %d same code", s.Same)
	}
	return text
}
