package driver

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rooms are what each room of driver may import of the others, tests aside. A new room stands here, or the test names it.
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
	"stage": {"toolcmd", "environment", "splice", "toolkit", "child", "again", "record", "job", "compile",
		"standing"},
	"apply":  {"toolcmd", "environment", "scratch", "splice", "again", "record", "standing", "stage"},
	"driver": {"toolcmd", "environment", "toolkit", "record", "stage"},
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
