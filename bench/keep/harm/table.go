package harm

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

// table prints a line for each program, and the sums. It gives how many were harmed or failed.
func table(w io.Writer, results []Result) (bad int) {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "program\tverdict\tby itself\tunder tune\trebuilt\treplayed\trecipes\tclass")
	count := map[Verdict]int{}
	recipes := 0
	for _, r := range results {
		count[r.Verdict]++
		if len(r.Recipes) > 0 {
			recipes++
		}
		fmt.Fprintf(tab, "%s\t%s\t%.2f s\t%.2f s\t%.2f s\t%d of %d\t%d\t%s\n", r.Name, r.Verdict,
			r.Plain.Seconds, r.Under, r.Rebuilt.Seconds, r.Replayed, r.Launched, len(r.Recipes), r.Class)
	}
	tab.Flush()
	for _, r := range results {
		if r.Why != "" {
			fmt.Fprintf(w, "%s %s: %s\n", r.Verdict, r.Name, r.Why)
		}
	}
	var sums []string
	for _, v := range []Verdict{Same, Harmed, Varies, Skipped, Failed} {
		if n := count[v]; n > 0 {
			sums = append(sums, fmt.Sprintf("%d %s", n, strings.ToLower(string(v))))
		}
	}
	tried := count[Same] + count[Harmed]
	fmt.Fprintf(w, "harmed: %d of %d programs (%s); %d were rebuilt with recipes\n", count[Harmed],
		tried, strings.Join(sums, ", "), recipes)
	for _, why := range reasons(results) {
		fmt.Fprintln(w, why)
	}
	return count[Harmed] + count[Failed]
}

// number is what differs between two launches that were left alone for one reason.
var number = regexp.MustCompile(`\b(0x[0-9a-f]+|[0-9]+) `)

// reasons lists why launches were not replayed, the most frequent first, by programs.
func reasons(results []Result) (out []string) {
	n := map[string]int{}
	for _, r := range results {
		said := map[string]bool{}
		for _, why := range r.Reasons {
			if why = number.ReplaceAllString(why, "n "); !said[why] {
				said[why] = true
				n[why]++
			}
		}
	}
	for why, k := range n {
		out = append(out, fmt.Sprintf("left alone in %2d programs: %s", k, why))
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(b, a) })
	return out
}
