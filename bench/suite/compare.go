// Do two builds of a program print the same? Times and rates differ from run to run; results must
// not.

package main

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	// A number as programs print it; the sign belongs to it.
	number = regexp.MustCompile(
		`[-+]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\bnan\b|\binf\b)`)
	// Lines whose numbers are measurements.
	timing = regexp.MustCompile(
		`(?i)\b(time|timing|times|elapsed|duration|second|seconds|secs?|msecs?|usecs?|ms|us|ns|throughput|bandwidth|performance|speed|speedup|rate|fps|iterations?/s|[kmgt]?i?b(yte)?s?/s(ec)?|[kmgt]?flop/?s|[mg]flops|\w+/s(ec(ond)?)?)\b|\d(ms|us|ns|s)\b`)
)

type line struct {
	skeleton string // numbers stand as '#'
	numbers  []string
	timing   bool
}

func parse(text string) []line {
	var out []line
	for _, l := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		// A shorter number in a column has more spaces before it: they say nothing.
		skeleton := strings.Join(strings.Fields(number.ReplaceAllString(l, "#")), " ")
		out = append(out, line{skeleton, number.FindAllString(l, -1), timing.MatchString(l)})
	}
	return out
}

// compare says "same", or how the later outputs differ from the earlier. What varies among the
// earlier runs themselves, and numbers on lines that speak of time, are not looked at.
func compare(before, after []string) string {
	first := parse(before[0])
	// loose[i] is the set of line i's numbers that vary; nil for the line as it stands.
	loose := make([]map[int]bool, len(first))
	free := make([]bool, len(first))
	for i := range loose {
		loose[i] = map[int]bool{}
	}
	for _, text := range before[1:] {
		other := parse(text)
		if len(other) != len(first) {
			return fmt.Sprintf("not comparable: nvcc's build prints %d lines in one run, %d in another",
				len(first), len(other))
		}
		for i, l := range other {
			if l.skeleton != first[i].skeleton {
				free[i] = true
				continue
			}
			for n := range l.numbers {
				if l.numbers[n] != first[i].numbers[n] {
					loose[i][n] = true
				}
			}
		}
	}
	checked := 0
	for _, text := range after {
		other := parse(text)
		if len(other) != len(first) {
			return fmt.Sprintf("differs: %d lines, %d before", len(other), len(first))
		}
		for i, l := range other {
			if free[i] {
				continue
			}
			if l.skeleton != first[i].skeleton {
				return fmt.Sprintf("differs: line %d: %q, before %q", i+1, clipTo(l.skeleton, 60),
					clipTo(first[i].skeleton, 60))
			}
			checked++
			for n := range l.numbers {
				if l.numbers[n] != first[i].numbers[n] && !loose[i][n] && !l.timing {
					return fmt.Sprintf("differs: line %d: %s, before %s, in %q", i+1, l.numbers[n],
						first[i].numbers[n], clipTo(l.skeleton, 60))
				}
			}
		}
	}
	if checked == 0 {
		return "not comparable: every line varies from run to run"
	}
	return "same"
}
