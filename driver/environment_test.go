package driver

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEnvironmentIsReadOnce: what a process is told by variables is read in one place. Elsewhere
// the environment is passed on whole, to what takes this process's place.
func TestEnvironmentIsReadOnce(t *testing.T) {
	known := map[string]int{
		"environment/environment.go": 1,
		"child/child.go":             1, // a shell that ends this process by a signal
		"toolkit/find.go":            1, // PATH, of a toolkit that is looked into later
		"config/find.go":             7, // what files of settings say becomes variables, before they are read
		"config/file.go":             1, // the home that ~/ stands for in such a file
	}
	files, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	own, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	reads := regexp.MustCompile(`\bos\.(Getenv|LookupEnv|Environ|ExpandEnv)\(`)
	for _, file := range append(files, own...) {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "drivertest/") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(reads.FindAll(text, -1)); n != known[filepath.ToSlash(file)] {
			t.Errorf("%s reads the environment %d times; known are %d", file, n, known[file])
		}
	}
}
