package main

import (
	"os"
	"path/filepath"
	"regexp"
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

// TestDocumented: docs/use.md has every verb, its exit codes and every variable, and README is as short as it says
// that it is.
func TestDocumented(t *testing.T) {
	all := documents(t)
	use := all["docs/use.md"]
	_, codes, _ := strings.Cut(use, "\n## Exit codes\n")
	codes, _, _ = strings.Cut(codes, "\n## ")
	for _, v := range root().Commands() {
		if !strings.Contains(use, "`gnvcc "+v.Name()) && !strings.Contains(use, "`"+v.Name()+"`") &&
			!strings.Contains(use, "`"+v.Name()+" ") {
			t.Errorf("docs/use.md does not have the verb %s", v.Name())
		}
		if !regexp.MustCompile("(?m)^\\|.*`" + v.Name() + "[ `].*\\|.*\\|.*\\|$").MatchString(codes) {
			t.Errorf("docs/use.md does not have the exit codes of %s", v.Name())
		}
	}
	for _, name := range regexp.MustCompile(`GNVCC_[A-Z]+`).FindAllString(variablesText(), -1) {
		if !strings.Contains(use, "`"+name) {
			t.Errorf("docs/use.md does not have the variable %s", name)
		}
	}
	for name, most := range map[string]int{"README.md": 135, "ARCHITECTURE.md": 165} {
		if n := strings.Count(all[name], "\n"); n > most {
			t.Errorf("%s has %d lines; three screens, and a picture with two pages, are %d", name, n, most)
		}
	}
	for name, text := range all {
		if (name == "README.md" || strings.HasPrefix(name, "docs/")) &&
			!strings.Contains(text, "SPDX-License-Identifier: Apache-2.0") {
			t.Errorf("%s has no SPDX line", name)
		}
	}
}
