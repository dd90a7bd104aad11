package policy

import (
	"fmt"
	"strings"
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

// Markdown keeps Markdown from reading more into a text than its letters.
func Markdown(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`, "_", `\_`, "`", "\\`",
		"[", `\[`, "\n", " ", "\r", " ").Replace(s)
}
