package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documents are all Markdown files of the project, by path from the top.
func documents(t *testing.T) map[string]string {
	t.Helper()
	const top = "../.."
	texts := map[string]string{}
	err := filepath.WalkDir(top, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := e.Name()
		if e.IsDir() && (name == ".git" || name == "bin" || name == "dist" || name == "build" ||
			name == "shared") {
			return filepath.SkipDir
		}
		if !e.IsDir() && strings.HasSuffix(name, ".md") {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(top, path)
			if err != nil {
				return err
			}
			texts[rel] = string(text)
		}
		return nil
	})
	if err != nil || len(texts) < 12 {
		t.Fatalf("%d documents, %v", len(texts), err)
	}
	return texts
}

// TestLinks: every link in the documents leads to a file that is here, and to a heading that it
// has.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	all := documents(t)
	n := 0
	for name, text := range all {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				t.Errorf("%s links to %s, which is elsewhere", name, m[1])
				continue
			}
			n++
			file, heading, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = filepath.Join(filepath.Dir(name), file)
			}
			if _, err := os.Stat(filepath.Join("../..", target)); err != nil {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			} else if heading != "" && !hasHeading(all[target], heading) {
				t.Errorf("%s links to %s: no such heading", name, m[1])
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d links were found", n)
	}
}

// TestPaths: every source file that the documents name is here.
func TestPaths(t *testing.T) {
	all := documents(t)
	var files []string
	err := filepath.WalkDir("../..", func(path string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() == ".git" {
			return filepath.SkipDir
		}
		files = append(files, filepath.ToSlash(path))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z_0-9/-]+\\.(?:go|c|h|sh|py))`")
	n := 0
	for name, text := range all {
		if name != "README.md" && name != "ARCHITECTURE.md" && name != "CONTRIBUTING.md" &&
			!strings.HasPrefix(name, "docs/") {
			continue // what raw results tell of was so then
		}
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			n++
			if !slices.ContainsFunc(files, func(f string) bool { return strings.HasSuffix(f, "/"+m[1]) }) {
				t.Errorf("%s names %s, which is not there", name, m[1])
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d files were named", n)
	}
}

// hasHeading tells whether a text has a heading that is linked to by a name: small letters, dashes
// for blanks.
func hasHeading(text, name string) bool {
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "#") {
			line = strings.ToLower(strings.Trim(line, "# "))
			line = regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(line, "")
			if strings.ReplaceAll(line, " ", "-") == name {
				return true
			}
		}
	}
	return false
}

// TestDocumented: docs/use.md has every verb and every variable, and README is as short as it says
// that it is.
func TestDocumented(t *testing.T) {
	all := documents(t)
	use := all["docs/use.md"]
	for _, v := range verbs() {
		if !strings.Contains(use, "`gnvcc "+v.name) && !strings.Contains(use, "`"+v.name+"`") &&
			!strings.Contains(use, "`"+v.name+" ") {
			t.Errorf("docs/use.md does not have the verb %s", v.name)
		}
	}
	for _, name := range regexp.MustCompile(`GNVCC_[A-Z]+`).FindAllString(variablesText(), -1) {
		if !strings.Contains(use, "`"+name) {
			t.Errorf("docs/use.md does not have the variable %s", name)
		}
	}
	for name, most := range map[string]int{"README.md": 125, "ARCHITECTURE.md": 130} {
		if n := strings.Count(all[name], "\n"); n > most {
			t.Errorf("%s has %d lines; three screens, and two pages, are %d", name, n, most)
		}
	}
	for name, text := range all {
		if (name == "README.md" || strings.HasPrefix(name, "docs/")) &&
			!strings.Contains(text, "SPDX-License-Identifier: Apache-2.0") {
			t.Errorf("%s has no SPDX line", name)
		}
	}
}
