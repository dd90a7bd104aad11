package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"gnvcc/policy/report"
)

// stdout is where verbs write text for people: within a terminal's width, and in ASCII where the
// locale is not UTF-8.
func stdout() io.Writer {
	if !utf8Locale() {
		report.PlusMinus = "+-"
	}
	return fitted(os.Stdout)
}

// utf8Locale reads the locale as setlocale does: the first of these variables that is set counts.
func utf8Locale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(os.Getenv(name)); value != "" {
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return false
}

// fitted is a writer that wraps lines to a terminal's width; what is no terminal gets lines as they
// are.
func fitted(f *os.File) io.Writer {
	if width := terminalWidth(f); width > 0 {
		return &wrapper{w: f, width: width}
	}
	return f
}

// terminalWidth is in columns, 0 where there is no terminal.
func terminalWidth(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 20 {
		return 0
	}
	return width
}

// A wrapper breaks long lines at blanks; what follows is indented by four more than the line
// itself.
type wrapper struct {
	w     io.Writer
	width int
	rest  []byte
}

func (p *wrapper) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	for {
		i := bytes.IndexByte(p.rest, '\n')
		if i < 0 {
			return len(b), nil
		}
		if _, err := io.WriteString(p.w, wrap(string(p.rest[:i]), p.width)+"\n"); err != nil {
			return 0, err
		}
		p.rest = p.rest[i+1:]
	}
}

func wrap(line string, width int) string {
	indent := strings.Repeat(" ", min(len(line)-len(strings.TrimLeft(line, " "))+4, width/2))
	var out []string
	for utf8.RuneCountInString(line) > width {
		r := []rune(line)
		at := width
		for at > width/2 && r[at] != ' ' {
			at--
		}
		if r[at] != ' ' {
			at = width // one long word
		}
		out = append(out, strings.TrimRight(string(r[:at]), " "))
		line = indent + strings.TrimLeft(string(r[at:]), " ")
	}
	return strings.Join(append(out, line), "\n")
}
