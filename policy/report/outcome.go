package report

import (
	"fmt"
	"slices"
	"strings"

	"gnvcc/policy"
)

// What a run gave, in one paragraph: which part of the GPU's time was looked at, what becomes of
// it, and what was left alone and why, in order of time.

const (
	// reasons that are listed one by one; the rest is summed up
	mostReasons = 6
	// kernels named for one reason
	mostNamed = 3
	// columns of a reason
	longestReason = 160
)

// Outcome is the paragraph, "" where no time was seen.
func Outcome(parts []policy.Piece) string {
	var all, looked, cut, after float64
	for _, p := range parts {
		all, after = all+p.Seconds, after+p.After
		if p.Why == "" {
			looked += p.Seconds
		}
		if p.Cut {
			cut += p.Seconds
		}
	}
	if !(all > 0) {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "GPU time: %s, of which %s was searched", Duration(all*1e9), part(looked, all))
	if cut > 0.0005*all {
		fmt.Fprintf(&b, " (%s not completely: a longer --budget or another run continues)", part(cut, all))
	}
	switch gained := all - after; {
	case gained < 0.0005*all:
		b.WriteString("; no faster recipe was found")
	default:
		fmt.Fprintf(&b, "; recipes reduce it to %s, %.1f %% less", Duration(after*1e9),
			100*gained/all)
	}
	if text := leftAlone(parts, all); text != "" {
		fmt.Fprintf(&b, ". Left alone: %s", text)
	}
	return b.String()
}

// part is a share with a digit where it tells something: 99.96 % is not all.
func part(some, all float64) string {
	switch share := 100 * some / all; {
	case some <= 0:
		return "nothing"
	case share > 99.95 && some < all*(1-1e-9):
		return "nearly all"
	case share < 0.05:
		return "< 0.1 %"
	default:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", share), ".0") + " %"
	}
}

// leftAlone tells of each reason how much time it is of, and of which kernels.
func leftAlone(parts []policy.Piece, all float64) string {
	type reason struct {
		why     string
		seconds float64
		kernels []string
	}
	var list []reason
	for _, p := range policy.ByTime(parts) {
		if p.Why == "" || p.Seconds <= 0 {
			continue
		}
		i := slices.IndexFunc(list, func(r reason) bool { return r.why == p.Why })
		if i < 0 {
			i = len(list)
			list = append(list, reason{why: p.Why})
		}
		list[i].seconds += p.Seconds
		list[i].kernels = append(list[i].kernels, policy.Shorten(p.Kernel, 60))
	}
	slices.SortStableFunc(list, func(a, b reason) int {
		if a.seconds > b.seconds {
			return -1
		}
		return 1
	})
	var said []string
	var rest reason
	for i, r := range list {
		if i >= mostReasons {
			rest.seconds += r.seconds
			rest.kernels = append(rest.kernels, r.kernels...)
			continue
		}
		named := strings.Join(r.kernels[:min(len(r.kernels), mostNamed)], ", ")
		if more := len(r.kernels) - mostNamed; more > 0 {
			named += fmt.Sprintf(" and %d more", more)
		}
		said = append(said, fmt.Sprintf("%s, %s (%s)", part(r.seconds, all), named,
			policy.Shorten(r.why, longestReason)))
	}
	if n := len(rest.kernels); n > 0 {
		said = append(said, fmt.Sprintf("%s, %d more for other reasons", part(rest.seconds, all), n))
	}
	return strings.Join(said, "; ")
}
