package page

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"

	"gnvcc/policy/report"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
)

// A picture is an SVG with a caption.
type picture struct {
	Caption string
	SVG     template.HTML
}

// An svg is built from numbers and escaped text only.
type svg struct{ strings.Builder }

const (
	width, height = 520.0, 220.0
	left, right   = 52.0, 12.0
	top, bottom   = 14.0, 38.0
)

func (s *svg) add(format string, args ...any) { fmt.Fprintf(&s.Builder, format, args...) }

func (s *svg) text(x, y float64, class, text string) {
	s.add(`<text x="%.1f" y="%.1f" class="%s">%s</text>`, x, y, class, html.EscapeString(text))
}

func (s *svg) picture(caption, label string) picture {
	return picture{caption, template.HTML(
		fmt.Sprintf(`<svg viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">%s</svg>`,
			width, height, html.EscapeString(label), s.String()))}
}

// A scale maps values to places of the picture.
type scale struct{ low, high, from, to float64 }

func (c scale) at(v float64) float64 {
	return c.from + (v-c.low)/math.Max(c.high-c.low, 1e-9)*(c.to-c.from)
}

// bar is the share of the default's time that is left, for the table.
func bar(ratio float64) template.HTML {
	w := 80 * math.Max(0, math.Min(1, ratio))
	return template.HTML(fmt.Sprintf(
		`<svg class="bar" viewBox="0 0 80 10" aria-hidden="true"><rect class="was" width="80" height="10"/><rect class="now" width="%.1f" height="10"/></svg>`, w))
}

func pictures(e report.Entry) []picture {
	var out []picture
	if p, ok := residencyPicture(e); ok {
		out = append(out, p)
	}
	if p, ok := searchPicture(e); ok {
		out = append(out, p)
	}
	return out
}

// residencyPicture draws the resident warps over the register count, with the grid that was
// launched and, where that differs, as if there were blocks without end.
func residencyPicture(e report.Entry) (picture, bool) {
	d := e.Decision
	dev, shape, ok := at(d)
	if !ok || d.Evidence.Default.Registers == 0 {
		return picture{}, false
	}
	low, high := sim.Floor, max(64, d.Evidence.Default.Registers, d.Evidence.Chosen.Registers)
	for _, t := range d.Evidence.Tried {
		high = max(high, min(t.Build.Registers, dev.ThreadRegisters))
	}
	low = max(1, min(low, d.Evidence.Default.Registers, d.Evidence.Chosen.Registers))
	x := scale{float64(low), float64(high), left, width - right}
	y := scale{0, float64(dev.Warps), height - bottom, top}
	s := &svg{}
	axes(s, "registers a thread", "resident warps", x, y)
	endless := shape
	endless.Blocks = 0
	line := func(class string, shape sim.Shape) {
		s.add(`<path class="%s" d="`, class)
		for n := low; n <= high; n++ {
			command := "L"
			if n == low {
				command = "M"
			}
			v := y.at(float64(dev.Occupancy(n, shape).Warps))
			s.add("%s%.1f %.1f L%.1f %.1f", command, x.at(float64(n)), v,
				x.at(math.Min(float64(n)+1, float64(high))), v)
		}
		s.add(`"/>`)
	}
	line("endless", endless)
	caption := fmt.Sprintf("Warps resident on an SM, of %d, for blocks of %d threads", dev.Warps,
		shape.Threads)
	if dev.SMs > 0 && shape.Blocks > 0 {
		line("curve", shape)
		caption += fmt.Sprintf(": with %d blocks on %d SMs (solid), and with blocks enough (dashed).",
			shape.Blocks, dev.SMs)
	} else {
		caption += ", with blocks enough; the number of SMs of this GPU is not known."
		shape = endless
	}
	mark := func(class, label string, registers int, up float64) {
		v := y.at(float64(dev.Occupancy(registers, shape).Warps))
		px := x.at(float64(registers))
		s.add(`<circle class="%s" cx="%.1f" cy="%.1f" r="5"/>`, class, px, v)
		anchor := "mid"
		if px < left+70 {
			anchor = "start"
		} else if px > width-right-70 {
			anchor = "end"
		}
		s.text(px, math.Min(math.Max(v-up, top+8), height-bottom-4), anchor, fmt.Sprintf("%s %d", label,
			registers))
	}
	mark("nvcc", "nvcc", d.Evidence.Default.Registers, -18)
	if e.Recipe != "" {
		mark("won", "chosen", d.Evidence.Chosen.Registers, 12)
	}
	return s.picture(caption, caption), true
}

// searchPicture draws the candidates' times by how many levers they join: alone, then in pairs, and
// so on.
func searchPicture(e report.Entry) (picture, bool) {
	const most = 2.0 // times above this part of the default's are drawn at the edge
	type point struct {
		step   int
		ratio  float64
		recipe string
		class  string
	}
	var points []point
	steps, least := 1, 1.0
	for _, t := range e.Decision.Evidence.Tried {
		r, err := recipe.Parse(t.Recipe)
		if err != nil || t.Ratio <= 0 {
			continue
		}
		p := point{max(1, len(r.Terms)), math.Min(t.Ratio, most), t.Recipe, "try"}
		switch {
		case t.Recipe == e.Recipe:
			p.class = "won"
		case t.Refused != "":
			p.class = "refused"
		}
		steps, least = max(steps, p.step), math.Min(least, p.ratio)
		points = append(points, p)
	}
	if len(points) == 0 {
		return picture{}, false
	}
	x := scale{0.5, float64(steps) + 0.5, left, width - right}
	y := scale{math.Max(0, math.Floor(least*5-0.2)/5), most, height - bottom, top}
	s := &svg{}
	axes(s, "levers combined", "time / nvcc's time", scale{}, y)
	for n := 1; n <= steps; n++ {
		s.text(x.at(float64(n)), height-bottom+14, "mid", fmt.Sprint(n))
	}
	s.add(`<path class="endless" d="M%.1f %.1fH%.1f"/>`, left, y.at(1), width-right)
	for i, p := range points {
		spread := (float64(i%9)/8 - 0.5) * 0.5 // so that equal ones are not on top of each other
		radius := 3.0
		if p.class == "won" {
			radius, spread = 6, 0
		}
		s.add(`<circle class="%s" cx="%.1f" cy="%.1f" r="%.0f"><title>%s: %.3f</title></circle>`, p.class,
			x.at(float64(p.step)+spread),
			y.at(p.ratio), radius, html.EscapeString(p.recipe), p.ratio)
	}
	caption := fmt.Sprintf(
		"%d candidates, by the number of levers that they combine. Large: adopted; hollow: refused; dashed line: nvcc's own.", len(points))
	return s.picture(caption, caption), true
}

// axes draws the frame; x's numbers only where it has a range.
func axes(s *svg, xs, ys string, x, y scale) {
	s.add(`<path class="axis" d="M%.1f %.1fV%.1fH%.1f"/>`, left, top, height-bottom, width-right)
	s.text((left+width)/2, height-6, "mid", xs)
	s.add(`<text transform="translate(12 %.1f) rotate(-90)" class="mid">%s</text>`,
		(top+height-bottom)/2, html.EscapeString(ys))
	for i := 0; i <= 4; i++ {
		v := y.low + (y.high-y.low)*float64(i)/4
		text := fmt.Sprintf("%.0f", v)
		if y.high <= 4 {
			text = fmt.Sprintf("%.2f", v)
		}
		s.text(left-6, y.at(v)+4, "end", text)
		if x.high > x.low {
			n := x.low + (x.high-x.low)*float64(i)/4
			s.text(x.at(n), height-bottom+14, "mid", fmt.Sprintf("%.0f", n))
		}
	}
}
