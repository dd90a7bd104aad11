package toolcmd

import "strings"

// SourcesOf lists the files that preprocessed code names in its line markers (# 12 "file" 1).
func SourcesOf(text string) []string {
	seen := map[string]bool{}
	var out []string
	for {
		at := strings.Index(text, "\n# ")
		if at < 0 {
			return out
		}
		text = text[at+3:]
		line, _, _ := strings.Cut(text, "\n")
		_, rest, ok := strings.Cut(line, `"`)
		end := strings.LastIndexByte(rest, '"')
		if !ok || end < 0 {
			continue
		}
		name := rest[:end]
		if strings.Contains(name, `\`) {
			name = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(name)
		}
		if !seen[name] && !strings.HasPrefix(name, "<") && !strings.Contains(name, Temporary) {
			seen[name] = true
			out = append(out, name)
		}
	}
}
