package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"gnvcc/policy"
	"gnvcc/profile"
)

// A Gap is a line of the table of what is in no kernel.
type Gap struct {
	What  string // "read back: 4.7 KB each"
	Count int
	Each  string // "25 us"
	All   string // "0.1 s"
	Where string // where it comes from, ""
}

// mostGaps of pairs of kernels get a line.
const mostGaps = 3

// Gaps are what a program did between its kernels: calls, and launches that follow each other. seconds
// is its kernels' time; what has less than a hundredth of that is left out.
func Gaps(calls []profile.Call, follows []profile.Follow, seconds float64) (out []Gap) {
	follows = slices.Clone(follows)
	slices.SortStableFunc(follows, func(a, b profile.Follow) int { return b.Count - a.Count })
	for _, f := range follows[:min(len(follows), mostGaps)] {
		g := Gap{What: "between two launches of " + policy.ShortName(f.First), Count: f.Count}
		if f.Then != f.First {
			g.What = fmt.Sprintf("between a launch of %s and one of %s", policy.ShortName(f.First), policy.ShortName(f.Then))
		}
		if f.Timed > 0 {
			g.Each, g.All = "up to "+Duration(1e9*f.Each()), "up to "+Duration(1e9*f.Each()*float64(f.Count))
			g.Where = fmt.Sprintf("%.0f %% within 5 us", 100*float64(f.Close)/float64(f.Timed))
		}
		if f.Each()*float64(f.Count) >= seconds/100 {
			out = append(out, g)
		}
	}
	calls = slices.Clone(calls)
	slices.SortStableFunc(calls, func(a, b profile.Call) int { return cmp.Compare(b.Seconds, a.Seconds) })
	for _, c := range calls {
		if c.Seconds < seconds/100 || c.Count == 0 {
			continue
		}
		g := Gap{What: c.What, Count: c.Count, Each: Duration(1e9 * c.Seconds / float64(c.Count)), All: Duration(1e9 * c.Seconds)}
		if c.Bytes > 0 {
			g.What += fmt.Sprintf(", %.3g KB each", float64(c.Bytes)/float64(c.Count)/1e3)
		}
		var where []string
		for _, s := range c.Sites {
			where = append(where, policy.ShortName(s.Where))
		}
		g.Where = strings.Join(where, ", ")
		out = append(out, g)
	}
	return out
}

// GapsText is the same as a text, "" where there is nothing to say.
func GapsText(list []Gap) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("in no kernel (the program's last run; time in calls, with kernels that they wait for):\n")
	t := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, g := range list {
		fmt.Fprintf(t, "  %s\t%d times\t%s\t%s\t%s\n", g.What, g.Count, g.Each, g.All, g.Where)
	}
	t.Flush()
	return b.String()
}
