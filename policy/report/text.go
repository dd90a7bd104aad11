package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"gnvcc/cache"
)

func spills(b cache.Build) string {
	if b.Spill == 0 {
		return ""
	}
	return fmt.Sprintf(", %d bytes spilled", b.Spill)
}

// A printer remembers the first error. An empty line parts two texts: in front of the first one
// there is none.
type printer struct {
	w     io.Writer
	err   error
	begun bool
}

func (p *printer) line(format string, args ...any) {
	if format == "" && !p.begun {
		return
	}
	p.begun = true
	if _, err := fmt.Fprintf(p.w, format+"\n", args...); err != nil && p.err == nil {
		p.err = err
	}
}

func arrow(a, b string) string {
	if a == b {
		return a
	}
	return a + " -> " + b
}

func percent(f float64) string {
	if f == 0 {
		return "?"
	}
	return fmt.Sprintf("%.0f%%", 100*f)
}

func registers(b cache.Build) string {
	if b.Registers == 0 {
		return ""
	}
	return fmt.Sprintf("%d registers", b.Registers)
}

// filled prints a text in lines of 80 columns, each set in.
func (p *printer) filled(indent, text string) { p.paragraph(indent, indent, text) }

// paragraph prints a text in lines of 80 columns behind a start; lines after the first are set in. A
// word that is longer than a line goes on in the next one.
func (p *printer) paragraph(start, indent, text string) {
	line, empty := start, true
	const joined = "\x00" // "n = 12" stays in one line
	for _, word := range strings.Fields(strings.ReplaceAll(text, " = ", joined+"="+joined)) {
		word = strings.ReplaceAll(word, joined, " ")
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns {
			p.line("%s", line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
		for utf8.RuneCountInString(line) > columns {
			r := []rune(line)
			p.line("%s", string(r[:columns]))
			line = indent + string(r[columns:])
		}
	}
	if !empty {
		p.line("%s", line)
	}
}

// Numbers as people read them.

// Duration prints nanoseconds with three digits and a unit.
func Duration(ns float64) string {
	switch {
	case ns <= 0 || math.IsNaN(ns):
		return "-"
	case ns < 1e3:
		return fmt.Sprintf("%.0f ns", ns)
	case ns < 1e6:
		return digits(ns/1e3) + " us"
	case ns < 1e9:
		return digits(ns/1e6) + " ms"
	}
	return digits(ns/1e9) + " s"
}

func digits(x float64) string {
	switch {
	case x >= 99.95:
		return fmt.Sprintf("%.0f", x)
	case x >= 9.995:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// geomean is the n-th root of a product.
func geomean(product float64, n int) float64 {
	if n == 0 {
		return 1
	}
	return math.Pow(product, 1/float64(n))
}
