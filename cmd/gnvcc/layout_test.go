package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// rooms are what each room of driver and of policy may import of the others, tests aside. A new
// room stands here, or the test names it.
var rooms = map[string]map[string][]string{
	"driver": {
		"toolcmd":     {},
		"environment": {},
		"config":      {"environment"},
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
		"witness": {"record"},
		"apply": {"toolcmd", "config", "environment", "scratch", "splice", "toolkit", "again", "record", "standing",
			"stage", "witness"},
		"driver": {"toolcmd", "environment", "scratch", "toolkit", "record", "standing", "stage"},
		// For tests alone.
		"drivertest": {},
	},
	"policy": {
		"stats":     {},
		"policy":    {"stats"},
		"lever":     {"policy"},
		"decide":    {"policy", "stats", "lever"},
		"predicted": {"policy", "lever"},
		"report":    {"policy", "lever"},
		"search":    {"policy", "stats", "lever", "decide"},
		"page":      {"policy", "report", "predicted"},
		"edits":     {},
		"watch":     {"policy"},
		"selection": {},
		"tuner":     {"policy", "search", "decide", "predicted"},
		"judge":     {"policy", "stats"},
		"retune": {"policy", "search", "decide", "predicted", "edits", "watch", "tuner", "judge", "selection",
			"stats", "compare"},
		"compare": {"policy", "stats", "search", "page", "tuner"},
		// For tests alone.
		"tunertest": {"policy"},
	},
}

// TestLayout holds the project to its own architecture: every package says in doc.go what its room
// is for, ARCHITECTURE.md's table names it, and imports go one way.
func TestLayout(t *testing.T) {
	out, err := exec.Command("go", "list", "-f",
		`{{.ImportPath}}|{{join .GoFiles " "}} {{join .TestGoFiles " "}} {{join .XTestGoFiles " "}}|{{join .Imports " "}}`, "gnvcc/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	architecture, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	// What a room may import, of ours.
	may := map[string][]string{
		"cache":   {"cache"},
		"graph":   {},
		"rewrite": {"rewrite", "graph"},
		"sim":     {"sim", "graph"},
		"profile": {"profile", "sim", "rewrite"},
		"policy":  {"policy", "profile", "sim", "rewrite", "cache"},
		"driver":  {"driver", "profile", "sim", "rewrite", "cache"},
	}
	// Where policy meets driver: a tuning run compiles and builds. driver knows nobody of policy.
	meet := []string{"policy/tuner", "policy/retune", "policy/compare"}
	// Packages that are there for tests; of what is no test only they may import each other.
	tests := []string{"install/kits", "rewrite/ptx/ptxtest", "cache/player", "driver/drivertest",
		"policy/tuner/tunertest"}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		parts := strings.Split(line, "|")
		path, files, imports := strings.TrimPrefix(parts[0], "gnvcc/"), strings.Fields(parts[1]),
			strings.Fields(parts[2])
		if !slices.Contains(files, "doc.go") {
			t.Errorf("%s has no doc.go", path)
		}
		room, _, _ := strings.Cut(path, "/")
		named := strings.Contains(string(architecture), "`"+path+"/`")
		if !named && !slices.Contains(tests, path) {
			t.Errorf("ARCHITECTURE.md's table of rooms does not name `%s/`", path)
		}
		inner, name := rooms[room], path[strings.LastIndexByte(path, '/')+1:]
		within, known := inner[name]
		if path == "driver/accidents" { // tests alone
			inner = nil
		}
		if inner != nil && !known {
			t.Fatalf("%s: what may the room import? Say so here, and in doc.go", path)
		}
		allowed, ruled := may[room]
		if slices.Contains(meet, path) {
			allowed = append(slices.Clone(allowed), "driver")
		}
		for _, i := range imports {
			of := i[strings.LastIndexByte(i, '/')+1:]
			if inner != nil && strings.HasPrefix(i+"/", "gnvcc/"+room+"/") && !slices.Contains(within, of) {
				t.Errorf("%s imports %s: it may import %v", path, i, within)
			}
			if other := strings.TrimPrefix(i, "gnvcc/"); slices.Contains(tests, other) {
				if !slices.Contains(tests, path) {
					t.Errorf("%s imports %s, which is for tests", path, other)
				}
				continue
			}
			if other, ours := strings.CutPrefix(i, "gnvcc/"); ours && ruled {
				if to, _, _ := strings.Cut(other, "/"); !slices.Contains(allowed, to) {
					t.Errorf("%s imports %s: %s may import %v", path, other, room, allowed)
				}
			}
		}
	}
}
