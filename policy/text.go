package policy

import (
	"fmt"
	"strings"
	"unicode"
)

// Words for people.

// FirstLine returns an error's first line: tools' messages are long.
func FirstLine(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return line
}

// Count is "1 kernel", "2 kernels", "2 launches".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "ch") {
		what += "e"
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Shorten cuts a text to n characters.
func Shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-3]) + "..."
	}
	return s
}

// Shown is a text as it may go to a terminal or into a page: recipes, notes and names of others'
// decisions may hold what steers a terminal, or turns around what people read.
func Shown(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\r': // of a text with lines as Windows has them
			return -1
		case c != '\n' && c != '\t' && (unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c)):
			return '?'
		}
		return c
	}, s)
}
