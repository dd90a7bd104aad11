package policy

import (
	"strings"
)

// FirstLine returns an error's first line: tools' messages are long.
func FirstLine(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return line
}
