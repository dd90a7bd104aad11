package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"gnvcc/policy"
	"gnvcc/policy/report"
)

// console is standard output as verbs write to it. Whether all of it could be written is asked
// once, at the end (execute). stderr is standard error, likewise.
var console, stderr = &output{file: os.Stdout}, &output{file: os.Stderr}

// An output is the one door to a terminal for text that others have a hand in. It lets nothing
// through that steers one (policy.Shown), and remembers the first error of a file: what follows on
// it would be a text with a hole.
type output struct {
	file *os.File
	mu   sync.Mutex
	part []byte // the beginning of a character that the next call ends
	err  error
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := append(o.part, b...)
	whole := len(text)
	for n := 1; n <= min(utf8.UTFMax, len(text)); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				whole -= n
			}
			break
		}
	}
	o.part = text[whole:]
	if o.err == nil {
		_, o.err = o.file.WriteString(policy.Shown(string(text[:whole])))
	}
	return len(b), o.err
}

// stdout is where verbs write text for people: within a terminal's width, and in ASCII where the
// locale is not UTF-8. What is no terminal gets lines as they are.
func stdout() io.Writer {
	if !utf8Locale() {
		report.PlusMinus = "+-"
	}
	if width := terminalWidth(os.Stdout); width > 0 {
		return &wrapper{w: console, width: width}
	}
	return console
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

// quiet is how long people watch a terminal that says nothing.
const quiet = 2 * time.Second

// during says on a terminal what a verb is at, where that takes long. Who calls it calls what it
// gives when that is over. Lines in a pipe or a log are read later.
func during(what string) (over func()) {
	if terminalWidth(os.Stderr) == 0 {
		return func() {}
	}
	t := time.AfterFunc(quiet, func() { fmt.Fprintf(stderr, "gnvcc: %s ...\n", what) })
	return func() { t.Stop() }
}
