package page

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"

	"gnvcc/policy"
	"gnvcc/policy/report"
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
	width, height = 520.0, 236.0
	left, right   = 52.0, 12.0
	top, bottom   = 30.0, 38.0
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

// mostPieces is how many kernels a program's time is divided among: more are too thin to see.
const mostPieces = 40

// timeBar is a program's time by kernel, the longest first: of each, what its recipe takes away,
// and what stays; what was left alone looks different.
func timeBar(pieces []policy.Piece) template.HTML {
	const wide, high = 1000.0, 26.0
	all := 0.0
	for _, p := range pieces {
		all += p.Seconds
	}
	if !(all > 0) {
		return ""
	}
	s := &svg{}
	at := 0.0
	piece := func(class, title string, seconds float64) {
		if w := wide * seconds / all; w > 0 {
			s.add(`<rect class="%s" x="%.2f" width="%.2f" height="%.0f"><title>%s</title></rect>`, class, at, w,
				high, html.EscapeString(title))
			at += w
		}
	}
	for i, p := range pieces {
		share := report.Share(p.Seconds, all)
		switch {
		case i == mostPieces:
			rest := 0.0
			for _, p := range pieces[i:] {
				rest += p.Seconds
			}
			piece("alone", fmt.Sprintf("%d more: %s", len(pieces)-i, report.Share(rest, all)), rest)
		case i > mostPieces:
		case p.Why != "":
			piece("alone", fmt.Sprintf("%s: %s, left alone: %s", p.Kernel, share, p.Why), p.Seconds)
		default:
			gained := math.Max(0, p.Seconds-p.After)
			piece("looked", fmt.Sprintf("%s: %s", p.Kernel, share), p.Seconds-gained)
			piece("gained", fmt.Sprintf("%s: %s less", p.Kernel, report.Share(gained, p.Seconds)), gained)
		}
	}
	return template.HTML(fmt.Sprintf(
		`<svg viewBox="0 0 %.0f %.0f" preserveAspectRatio="none" role="img" aria-label="time by kernel">%s</svg>`,
		wide, high, s.String()))
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
	mark := func(class, text string, registers int, raised float64) {
		px, py := x.at(float64(registers)), y.at(float64(dev.Occupancy(registers, shape).Warps))
		s.add(`<circle class="%s" cx="%.1f" cy="%.1f" r="5"/>`, class, px, py)
		s.label(px, py, raised, fmt.Sprintf("%s %d", text, registers))
	}
	own, chosen := d.Evidence.Default.Registers, d.Evidence.Chosen.Registers
	switch {
	case e.Recipe == "":
		mark("nvcc", "nvcc", own, 0)
	case own == chosen:
		mark("won", "nvcc and chosen", own, 0)
	default:
		// The curve falls to the right, so that there is room above a point. Of two that are close the
		// left one's label is above the other's.
		raised := map[bool]float64{}
		if math.Abs(x.at(float64(own))-x.at(float64(chosen))) < labelWidth {
			raised[true] = 14
		}
		mark("nvcc", "nvcc", own, raised[own < chosen])
		mark("won", "chosen", chosen, raised[chosen < own])
	}
	return s.picture(caption, caption), true
}

// labelWidth is how far apart two labels stand at least that may be at one height.
const labelWidth = 90.0

// label writes a text above and to the right of a place, or where the picture ends below and to its
// left, since a falling curve is above there.
func (s *svg) label(x, y, raised float64, text string) {
	if x > width-right-labelWidth {
		s.text(x-8, y+14+raised, "end", text)
	} else {
		s.text(x+8, math.Max(y-6-raised, top+8), "start", text)
	}
}

// axes draws the frame; x's numbers only where it has a range.
func axes(s *svg, xs, ys string, x, y scale) {
	s.add(`<path class="axis" d="M%.1f %.1fV%.1fH%.1f"/>`, left, top, height-bottom, width-right)
	s.text((left+width)/2, height-6, "mid", xs)
	s.add(`<text transform="translate(12 %.1f) rotate(-90)" class="mid">%s</text>`,
		(top+height-bottom)/2, html.EscapeString(ys))
	for _, v := range ticks(y.low, y.high) {
		s.text(left-6, y.at(v)+4, "end", tickText(v))
	}
	if x.high > x.low {
		for _, v := range ticks(x.low, x.high) {
			s.text(x.at(v), height-bottom+14, "mid", tickText(v))
		}
	}
}

// ticks are round numbers of a range, three to nine of them: for counts of registers and warps,
// which have powers of two as their steps, such.
func ticks(low, high float64) []float64 {
	span := high - low
	if !(span > 0) || math.IsInf(span, 0) {
		return nil
	}
	steps := []float64{1, 2, 5}
	step := math.Pow(10, math.Floor(math.Log10(span))-1)
	if high == math.Trunc(high) && high >= 16 && high <= 512 {
		steps, step = []float64{1, 2, 4, 8}, 1
	}
	for i := 0; ; i++ {
		width := step * steps[i%len(steps)]
		if span/width <= 8 {
			step = width
			break
		}
		if i%len(steps) == len(steps)-1 {
			step *= map[int]float64{3: 10, 4: 16}[len(steps)]
		}
	}
	var out []float64
	for n := math.Ceil(low/step - 1e-9); n*step <= high+step*1e-9; n++ {
		out = append(out, n*step+0) // no -0
	}
	return out
}

func tickText(v float64) string { return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64) }
