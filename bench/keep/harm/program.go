package harm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/shlex"
)

// A Program is one file.
type Program struct {
	Name, Class string
	source      string   // absolute path
	build       []string // further options
	also        [][]string
	other       []string // arguments; nil: none are to be tried
	alone       bool
}

// load reads a folder's programs: all, or those that are named.
func load(folder string, names []string) ([]Program, error) {
	if len(names) == 0 {
		files, err := filepath.Glob(filepath.Join(folder, "*.cu"))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			names = append(names, strings.TrimSuffix(filepath.Base(f), ".cu"))
		}
	}
	var out []Program
	for _, name := range names {
		path, err := filepath.Abs(filepath.Join(folder, name+".cu"))
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		p, err := read(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		p.Name, p.source = name, path
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no programs (*.cu)", folder)
	}
	return out, nil
}

// read reads the comments at the top of a program.
func read(text string) (p Program, err error) {
	for _, line := range strings.Split(text, "\n") {
		line, ok := strings.CutPrefix(line, "// ")
		if !ok {
			break
		}
		key, rest, _ := strings.Cut(line, ": ")
		var words []string
		if key != "class" {
			if words, err = shlex.Split(rest); err != nil {
				return p, err
			}
		}
		switch key {
		case "class":
			p.Class = rest
		case "build":
			p.build = append(p.build, words...)
		case "also":
			p.also = append(p.also, words)
		case "other":
			p.other = words
		case "alone":
			p.alone = true
		default:
			return p, fmt.Errorf("what is the comment %q?", line)
		}
	}
	if p.Class == "" {
		return p, fmt.Errorf(`the first comment must say "// class: which"`)
	}
	return p, nil
}
