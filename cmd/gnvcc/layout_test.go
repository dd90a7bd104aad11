package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

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
		"rewrite": {"rewrite"},
		"sim":     {"sim"},
		"profile": {"profile", "sim", "rewrite"},
		"policy":  {"policy", "profile", "sim", "rewrite", "cache"},
		"driver":  {"driver", "profile", "sim", "rewrite", "cache"},
	}
	// Packages that are there for tests; of what is no test only they may import each other.
	tests := []string{"install/kits", "rewrite/ptx/ptxtest", "cache/player", "driver/drivertest"}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		parts := strings.Split(line, "|")
		path, files, imports := strings.TrimPrefix(parts[0], "gnvcc/"), strings.Fields(parts[1]),
			strings.Fields(parts[2])
		if !slices.Contains(files, "doc.go") {
			t.Errorf("%s has no doc.go", path)
		}
		room, _, _ := strings.Cut(path, "/")
		named := strings.Contains(string(architecture), "`"+path+"/`")
		if !named && room != "bench" && !slices.Contains(tests, path) { // bench's doc.go names its own
			t.Errorf("ARCHITECTURE.md's table of rooms does not name `%s/`", path)
		}
		allowed, ruled := may[room]
		for _, i := range imports {
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
