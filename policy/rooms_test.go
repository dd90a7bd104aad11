package policy

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rooms are what each room of policy may import of the others, tests aside. A new room stands here,
// or the test names it.
var rooms = map[string][]string{
	"stats":    {},
	"policy":   {"stats"},
	"lever":    {"policy"},
	"decide":   {"policy", "stats", "lever"},
	"foretell": {"policy"},
	"report":   {"policy", "lever"},
	"search":   {"policy", "stats", "lever", "decide"},
	"page":     {"policy", "report", "foretell"},
	"edits":    {},
	"watch":    {},
}

// TestRooms: imports go one way.
func TestRooms(t *testing.T) {
	files, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	own, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, own...) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		room := filepath.Dir(file)
		if room == "." {
			room = "policy"
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
			if !strings.HasPrefix(path+"/", "gnvcc/policy/") {
				continue
			}
			if of := path[strings.LastIndexByte(path, '/')+1:]; !slices.Contains(may, of) {
				t.Errorf("%s imports %s: it may import %v", file, path, may)
			}
		}
	}
}
