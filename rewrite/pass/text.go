package pass

import "strings"

// PTX that passes write: as a text with words to be filled in, so that it reads as what it becomes.

// Fill gives the lines of a text, each word of pairs replaced by what stands behind it.
func Fill(text string, pairs ...string) []string {
	var out []string
	for line := range strings.Lines(strings.NewReplacer(pairs...).Replace(text)) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}
