package page

import (
	"fmt"
	"html"
	"math"
	"strings"

	"gnvcc/policy/predicted"
	"gnvcc/sim/predict"
)

// What can be said of a kernel from its machine code alone: limits, times by register count, the
// X-graph, the hottest loop.

// A Predicted is what is predicted of one kernel, or why nothing is.
type Predicted struct {
	Kernel *predicted.Kernel
	Err    error
}

// A prediction is it, ready for the page.
type prediction struct {
	Err      string
	Source   string
	Assumed  string
	Limits   []predict.Limit
	Pictures []picture
	Ranked   []rankedRow
	Warps    int
	Spills   string
}

// A rankedRow is one register cap.
type rankedRow struct {
	Recipe, Time, Paper, Spills, Note string
	Warps                             int
}

func newPredicted(f *Predicted) *prediction {
	if f == nil {
		return nil
	}
	if f.Err != nil {
		return &prediction{Err: f.Err.Error()}
	}
	p := &f.Kernel.Picture
	out := &prediction{Source: p.Units.Source, Assumed: strings.Join(p.Assumed, ", "), Limits: p.Limits,
		Warps: p.Default.Occupancy.Warps, Spills: fmt.Sprintf("%.0f", p.Default.Spills)}
	for _, draw := range []func(*predict.Picture) (picture, bool){timesPicture, xPicture,
		loopPicture} {
		if x, ok := draw(p); ok {
			out.Pictures = append(out.Pictures, x)
		}
	}
	out.Pictures = append(out.Pictures, whatPictures(p)...)
	for _, r := range f.Kernel.Ranked {
		row := rankedRow{Recipe: r.Recipe, Time: "-", Paper: "-", Spills: "-"}
		if r.Err != nil {
			row.Note = r.Err.Error()
		} else {
			row.Time, row.Paper = fmt.Sprintf("%.2f", r.By()), fmt.Sprintf("%.2f", r.Paper)
			row.Warps, row.Spills = r.Estimate.Occupancy.Warps, fmt.Sprintf("%.0f", r.Estimate.Spills)
			row.Note = f.Kernel.Note(r)
		}
		out.Ranked = append(out.Ranked, row)
	}
	return out
}

// timesPicture draws times over the register count (Li et al., DATE 2016, Fig. 6): ours, RegDem's,
// and what was measured.
func timesPicture(p *predict.Picture) (picture, bool) {
	const most = 2.0 // times above this part of the default's are drawn at the edge
	if len(p.Times) < 2 {
		return picture{}, false
	}
	first, last, least := p.Times[0].Registers, p.Times[len(p.Times)-1].Registers, 1.0
	for _, t := range p.Times {
		for _, v := range []float64{t.Predicted, t.Paper, t.Measured} {
			if v > 0 {
				least = math.Min(least, v)
			}
		}
	}
	x := scale{float64(first), float64(last), left + 8, width - right - 8}
	y := scale{math.Max(0, math.Floor(least*5-0.2)/5), most, height - bottom, top}
	s := &svg{}
	axes(s, "registers a thread", "time / nvcc's time", x, y)
	s.add(`<path class="endless" d="M%.1f %.1fH%.1f"/>`, left, y.at(1), width-right)
	for _, l := range p.Levels {
		if l.Max >= first && l.Max <= last {
			s.add(
				`<path class="critical" d="M%.1f %.1fV%.1f"><title>critical point %d: %d warps</title></path>`,
				x.at(float64(l.Max)), top, height-bottom, l.Max, l.Occupancy.Warps)
		}
	}
	dots := func(class, name string, radius float64, of func(predict.TimePoint) float64) {
		var path strings.Builder
		for _, t := range p.Times {
			v := of(t)
			if !(v > 0) || math.IsInf(v, 0) {
				continue
			}
			px, py := x.at(float64(t.Registers)), y.at(math.Min(v, most))
			command := "L"
			if path.Len() == 0 {
				command = "M"
			}
			fmt.Fprintf(&path, "%s%.1f %.1f", command, px, py)
			s.add(
				`<circle class="%s" cx="%.1f" cy="%.1f" r="%.0f"><title>%s, %d registers: %.3f</title></circle>`, class, px, py, radius, name, t.Registers, v)
		}
		if path.Len() > 0 {
			s.add(`<path class="%s line" d="%s"/>`, class, path.String())
		}
	}
	dots("paper", "RegDem's predictor", 3, func(t predict.TimePoint) float64 { return t.Paper })
	dots("try", "predicted", 4, func(t predict.TimePoint) float64 { return t.Predicted })
	dots("won", "measured", 5, func(t predict.TimePoint) float64 { return t.Measured })
	caption :=
		"Time by registers a thread, of builds under a cap: predicted by our model (blue) and by RegDem's predictor (hollow)" +
			", dashed upright lines: critical points. Measurements are green; where there is none, nothing was measured."
	return s.picture(caption, caption), true
}

// xPicture draws the X-graph (Li's thesis, chapter 3): where supply and demand meet, the kernel
// settles.
func xPicture(p *predict.Picture) (picture, bool) {
	g := &p.Graph
	if len(g.K) == 0 {
		return picture{}, false
	}
	s := &svg{}
	x, y, ok := xAxes(s, g)
	if !ok {
		return picture{}, false
	}
	xCurves(s, g, x, y, "")
	for _, e := range g.Points {
		class, name := "won", "stable"
		if !e.Stable {
			class, name = "refused", "unstable"
		}
		s.add(
			`<circle class="%s" cx="%.1f" cy="%.1f" r="5"><title>%s: %.1f warps wait, %.2f instructions a cycle, limited by %s</title></circle>`,
			class, x.at(e.Waiting), y.at(math.Min(e.Sectors, y.high)), name, e.Waiting, e.Rate,
			html.EscapeString(fmt.Sprint(e.Bound)))
	}
	caption :=
		"X-graph: sectors that memory delivers by the number of waiting warps (blue), and that the others request (yellow); the balance " +
			"is where they meet; " + predicted.Basis(p) + "."
	if b := p.Default.Balance; b.Rate > 0 {
		caption += fmt.Sprintf(" Here: %.1f of %.0f warps wait, %.2f instructions a cycle, limited by %s.",
			b.Waiting, g.Model.Warps, b.Rate, b.Bound)
	}
	return s.picture(caption, caption), true
}

// xAxes are the axes on which graphs can be drawn. Demand may stand far above what memory can
// deliver: then that is what matters, and demand is cut off.
func xAxes(s *svg, graphs ...*predict.Graph) (x, y scale, ok bool) {
	most, highest, warps := 0.0, 0.0, 0.0
	for _, g := range graphs {
		for i := range g.K {
			most = math.Max(most, math.Max(g.Supply[i], g.Demand[i]))
			highest = math.Max(highest, g.Supply[i])
			warps = math.Max(warps, g.K[i])
		}
	}
	if !(most > 0) || math.IsInf(most, 0) {
		return x, y, false
	}
	x = scale{0, warps, left, width - right}
	y = scale{0, math.Min(most, 2.5*highest), height - bottom, top}
	axes(s, "warps of an SM that wait for memory", "sectors a cycle", x, y)
	return x, y, true
}

// xCurves draws a graph's curves; class is for both.
func xCurves(s *svg, g *predict.Graph, x, y scale, class string) {
	curve := func(name string, values []float64) {
		s.add(`<path class="%s" d="`, strings.TrimSpace(name+" "+class))
		for i, v := range values {
			command := "L"
			if i == 0 {
				command = "M"
			}
			s.add("%s%.1f %.1f", command, x.at(g.K[i]), y.at(math.Min(v, y.high)))
		}
		s.add(`"/>`)
	}
	curve("curve", g.Supply)
	curve("demand", g.Demand)
}

// whatPictures draw what would be if the kernel or the machine were different (thesis, section
// 3.6): the X-graph as it is, dashed, and as it would be, with the point before and after.
func whatPictures(p *predict.Picture) []picture {
	var out []picture
	for _, c := range predicted.Changes(p) {
		f, ok := c.From.What(c.To)
		if !ok {
			continue
		}
		before, after, s := predict.NewGraph(c.From), predict.NewGraph(c.To), &svg{}
		x, y, ok := xAxes(s, &before, &after)
		if !ok {
			continue
		}
		xCurves(s, &before, x, y, "old")
		xCurves(s, &after, x, y, "")
		dot := func(class, name string, waiting, sectors, rate float64) {
			s.add(
				`<circle class="%s" cx="%.1f" cy="%.1f" r="5"><title>%s: %.1f warps wait, %.2f instructions a cycle</title></circle>`,
				class, x.at(waiting), y.at(math.Min(sectors, y.high)), name, waiting, rate)
		}
		dot("refused", "before", f.Before.Waiting, f.Before.Sectors, f.Before.Rate)
		dot("won", "after", f.After.Waiting, f.After.Sectors, f.After.Rate)
		caption := fmt.Sprintf("With %s: %.2f of the time. %.1f of %.0f warps wait in place of %.1f of %.0f.",
			c.Name, f.Time, f.After.Waiting, c.To.Warps, f.Before.Waiting, c.From.Warps)
		out = append(out, s.picture(caption, caption))
	}
	return out
}

// loopPicture draws the cycles of one round of the hottest loop.
func loopPicture(p *predict.Picture) (picture, bool) {
	l := p.Hottest
	if l.Offset < 0 || !(l.Cycles > 0) || math.IsInf(l.Cycles, 0) {
		return picture{}, false
	}
	const y, thick = 80.0, 36.0
	x := scale{0, l.Cycles, left, width - right}
	s := &svg{}
	part := func(class, text string, from, to float64) {
		if to <= from {
			return
		}
		s.add(
			`<rect class="%s" x="%.1f" y="%.0f" width="%.1f" height="%.0f"><title>%s: %.0f cycles</title></rect>`, class, x.at(from), y,
			x.at(to)-x.at(from), thick, text, to-from)
		if x.at(to)-x.at(from) > 70 {
			s.text((x.at(from)+x.at(to))/2, y-6, "mid", fmt.Sprintf("%s %.0f", text, to-from))
		}
	}
	part("try", "issues", 0, l.Issue)
	part("was", "waits", l.Issue, l.Cycles)
	how := "if all loops run equally often"
	if p.Default.Counted {
		how = "by how often it was counted to run"
	}
	caption := fmt.Sprintf(
		"One round of the hottest loop (at %#x, %d instructions), one warp alone: %.0f cycles, in %.0f of which it waits for loads and other slow results. The loop has %.0f %% of the warp's time, %s.",
		l.Offset, l.Insts, l.Cycles, l.Wait, 100*l.Share, how)
	return s.picture(caption, caption), true
}
