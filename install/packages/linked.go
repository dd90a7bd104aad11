package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The documents of a package: some, and all that their links lead to, so that no link is dead where
// the project's folder is not.

var link = regexp.MustCompile(`\]\(([^)\s#]+)`)

// linked reads files of the project, and what Markdown among them links to. A folder that is linked
// to stands for its README.md, or for all its files where it has none.
func linked(top string, names []string) ([]file, error) {
	seen := map[string]bool{}
	var out []file
	for todo := slices.Clone(names); len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		info, err := os.Stat(filepath.Join(top, name))
		if err != nil {
			return nil, err
		}
		if info.IsDir() {
			more, err := inFolder(top, name)
			if err != nil {
				return nil, err
			}
			todo = append(todo, more...)
			continue
		}
		body, err := os.ReadFile(filepath.Join(top, name))
		if err != nil {
			return nil, err
		}
		out = append(out, file{name, info.Mode().Perm()&0o111 | 0o644, body})
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(string(body), -1) {
			if !strings.Contains(m[1], "://") {
				todo = append(todo, path.Join(path.Dir(name), m[1]))
			}
		}
	}
	return out, nil
}

func inFolder(top, name string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(top, name, "README.md")); err == nil {
		return []string{path.Join(name, "README.md")}, nil
	}
	var out []string
	err := filepath.WalkDir(filepath.Join(top, name), func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			rel, _ := filepath.Rel(top, p)
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	})
	return out, err
}
