package driver

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rooms are what each room of driver may import of the others, tests aside. A new room stands here,
// or the test names it.
var rooms = map[string][]string{
	"toolcmd":     {},
	"environment": {},
	"scratch":     {},
	"splice":      {},
	"toolkit":     {"environment"},
	"child":       {"scratch"},
	"again":       {"environment", "toolcmd"},
	"record":      {"environment", "toolcmd"},
	"job":         {"toolcmd", "toolkit", "child"},
	"compile":     {"toolcmd", "environment", "scratch", "toolkit", "child", "record", "job"},
	"standing":    {"environment", "record", "compile"},
	"stage": {"toolcmd", "environment", "splice", "toolkit", "child", "again", "record", "job",
		"compile",
		"standing"},
	"apply": {"toolcmd", "environment", "scratch", "splice", "toolkit", "again", "record", "standing",
		"stage"},
	"driver": {"toolcmd", "environment", "toolkit", "record", "standing", "stage"},
	// For tests alone.
	"drivertest": {},
}

// TestRooms: imports go one way.
func TestRooms(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.go", "*/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		room := filepath.Dir(file)
		if room == "." {
			room = "driver"
		}
		if strings.HasSuffix(file, "_test.go") || room == "accidents" {
			continue
		}
		may, known := rooms[room]
		if !known {
			t.Fatalf("%s: what may the room import? Say so here, and in doc.go", file)
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			if !strings.HasPrefix(path+"/", "gnvcc/driver/") {
				continue
			}
			if of := path[strings.LastIndexByte(path, '/')+1:]; !slices.Contains(may, of) {
				t.Errorf("%s imports %s: it may import %v", file, path, may)
			}
		}
	}
}

// TestEnvironmentIsReadOnce: what a process is told by variables is read in one place. Elsewhere
// the environment is passed on whole, to what takes this process's place.
func TestEnvironmentIsReadOnce(t *testing.T) {
	known := map[string]int{
		"environment/environment.go": 1,
		"child/child.go":             1, // a shell that ends this process by a signal
		"toolkit/find.go":            1, // PATH, of a toolkit that is looked into later
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
