// The picture: a bar a program.

package main

import (
	"fmt"
	"html"
	"math"
	"os"
	"slices"
	"strings"
)

// Sizes of the chart, in pixels.
const (
	chartLeft, chartBars, chartRight = 150, 480, 60 // names, bars, figures
	chartRow, chartTop               = 15, 34
)

// chart draws how many times as fast each program is, the fastest first, as an SVG. Bars begin at 1
// and are as long as the logarithm: twice as fast and half as fast are as far from it.
func chart(counted []Result) string {
	list := slices.Clone(counted)
	slices.SortStableFunc(list, func(a, b Result) int {
		switch {
		case a.Ratio() > b.Ratio():
			return -1
		case a.Ratio() < b.Ratio():
			return 1
		}
		return strings.Compare(a.Program, b.Program)
	})
	low, high, logs := 0.0, math.Log(2), 0.0
	for _, r := range list {
		log := math.Log(r.Ratio())
		low, high, logs = min(low, log), max(high, log), logs+log
	}
	at := func(log float64) float64 { return chartLeft + (log-low)/(high-low)*chartBars }
	var b strings.Builder
	wide, tall := chartLeft+chartBars+chartRight, chartTop+chartRow*len(list)+8
	mean := fmt.Sprintf("%d programs, %.3f times as fast in geometric mean", len(list),
		math.Exp(logs/float64(max(1, len(list)))))
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" `+
		`font-family="sans-serif" font-size="11" role="img" aria-label="%s">`+"\n", wide, tall, wide,
		html.EscapeString(mean))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", wide, tall) // on dark pages, too
	fmt.Fprintf(&b, `<text x="%d" y="12">%s</text>`+"\n", chartLeft, html.EscapeString(mean))
	for _, mark := range []float64{1, 1.25, 1.5, 2, 2.5, 3, 4} {
		if x := at(math.Log(mark)); math.Log(mark) <= high {
			fmt.Fprintf(&b, `<path d="M%.1f %dV%d" stroke="#ccc"/><text x="%.1f" y="26" `+
				`text-anchor="middle" fill="#555">%gx</text>`+"\n", x, chartTop-4, tall-6, x, mark)
		}
	}
	for i, r := range list {
		y := chartTop + chartRow*i
		from, to := at(0), at(math.Log(r.Ratio()))
		colour := "#2a7"
		if r.Ratio() < 1 {
			from, to, colour = to, from, "#c55"
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text><rect x="%.1f" y="%d" `+
			`width="%.1f" height="10" fill="%s"/><text x="%.1f" y="%d">%.3f</text>`+"\n",
			chartLeft-6, y+9, html.EscapeString(r.Program), from, y, to-from, colour, to+4, y+9, r.Ratio())
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// draw writes the chart to a file.
func draw(path string, counted []Result) error {
	if err := os.WriteFile(path, []byte(chart(counted)), 0o644); err != nil {
		return fmt.Errorf("write the chart: %w", err)
	}
	return nil
}
