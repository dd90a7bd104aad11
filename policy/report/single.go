package report

import (
	"fmt"
	"io"
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
	Refusal string      `json:"refusal,omitempty"`
	Why     string      `json:"why,omitempty"` // nothing was measured: why
	refused cache.Trial // that of Refusal
}

// singles sums up a decision's evidence, the most gaining lever first, those without a figure last.
func singles(d *cache.Decision) []Single {
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
				s.refused, s.Refusal = t, t.Recipe+": "+t.Refused
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
	if lever := lever.Of(r); lever != "" {
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
		return "the code stays the same"
	case s.Tried > 0:
		return "values not measured"
	case untried != "":
		return untried
	}
	return "not tried"
}

// briefly is why a candidate was refused, without the particulars behind the first colon.
func briefly(t cache.Trial) string {
	if t.Because == cache.OtherBits {
		return "other bits"
	}
	why, _, _ := strings.Cut(t.Refused, ":")
	return why
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

// value is a recipe without the lever's name: what a list of levers shows.
func (s *Single) value() string {
	r, err := recipe.Parse(s.Best)
	if err != nil {
		return s.Best
	}
	var words []string
	seen := map[string]bool{}
	for _, t := range r.Terms {
		switch sites := lever.SitesOf(r, t); {
		case t.HostOnly():
		case t.Site != "" && len(sites) > 2:
			if !seen[t.Lever+t.Value] {
				words = append(words, fmt.Sprintf("%s at %d places", t.Value, len(sites)))
			}
			seen[t.Lever+t.Value] = true
		case t.Site != "":
			words = append(words, "@"+t.Site+"="+t.Value)
		default:
			words = append(words, t.Value)
		}
	}
	return strings.Join(words, " ")
}

// lists prints the levers of every kernel, a short paragraph each.
func (p *printer) lists(entries []Entry) {
	first := true
	for _, e := range entries {
		if len(e.Levers) == 0 {
			continue
		}
		if first {
			p.line("")
			p.line("Each lever alone (its best value; the others: gnvcc explain KERNEL):")
			first = false
		}
		var figures, same, refused []string
		none := map[string][]string{} // by reason
		var reasons []string
		for _, s := range e.Levers {
			switch {
			case s.Measured > 0:
				text := fmt.Sprintf("%s %.2fx (%s)", s.Lever, s.SpeedUp, policy.Shorten(s.value(), 40))
				figures = append(figures, text)
			case s.Refused > 0:
				refused = append(refused, s.Lever+" ("+briefly(s.refused)+")")
			case s.Same > 0:
				same = append(same, s.Lever)
			default:
				if none[s.Why] == nil {
					reasons = append(reasons, s.Why)
				}
				none[s.Why] = append(none[s.Why], s.Lever)
			}
		}
		p.line("  %s", policy.Shorten(e.Kernel, columns-2))
		if len(figures)+len(refused) == 0 {
			figures = []string{"no measurable value"}
		}
		p.wrapped("    ", figures, ", ")
		if len(refused) > 0 {
			p.wrapped("    refused: ", refused, ", ")
		}
		if len(same) > 0 {
			p.wrapped("    no other code: ", same, ", ")
		}
		if len(reasons) > 0 {
			var words []string
			for _, why := range reasons {
				words = append(words, strings.Join(none[why], ", ")+" ("+why+")")
			}
			p.wrapped("    not tried: ", words, "; ")
		}
	}
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
	for _, s := range e.Levers {
		switch {
		case s.Refusal != "": // with the first differing allocation and element, where bits differ
			p.wrapped("    refused: ", strings.Fields(s.Refusal), " ")
		case s.Measured == 0:
			p.wrapped("    none: "+s.Lever+": ", strings.Fields(s.Why), " ")
		}
	}
}

// counts says what became of a lever's values.
func (s *Single) counts() string {
	text := fmt.Sprintf("%d of %d measured", s.Measured, s.Tried)
	if s.Refused > 0 {
		text += fmt.Sprintf(", %d refused", s.Refused)
	}
	if s.OtherBits > 0 {
		text += fmt.Sprintf(" (%d: other bits)", s.OtherBits)
	}
	if s.Same > 0 {
		text += fmt.Sprintf(", %d no other code", s.Same)
	}
	return text
}
