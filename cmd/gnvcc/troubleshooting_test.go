package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"gnvcc/install/kits"
)

// elsewhere are the rows of docs/troubleshooting.md, by their first cells, that other tests try than
// testdata/troubles: "folder TestName".
var elsewhere = map[string]string{
	"`lock file: ... line N: a conflict that git has left here`, `it is cut off`": "cmd/gnvcc TestSharing",
	"`the lock file records different code`":                                      "cmd/gnvcc TestSharing",
	"status, apply or revert: `code of KERNEL that this store does not know`":     "cmd/gnvcc TestVerbs",
	"`the shared store ... is left out`":                                          "cmd/gnvcc TestSharing",
	"tune: `no NVIDIA driver here`":                                               "cmd/gnvcc TestVerbs",
	"apply: `no builds known in ...`":                                             "cmd/gnvcc TestVerbs",
	"tune: `no captured launches`":                                                "cmd/gnvcc TestArguments",
	"watch: a kernel waits for the next run":                                      "cmd/gnvcc TestWatchRun",
	"watch: `resting: ...`":                                                       "cmd/gnvcc TestWatchRests",
	"watch: `is running already`, `another gnvcc watch`":                          "cmd/gnvcc TestWatchRests",
	"watch: folders `are looked at every few seconds`":                            "policy/edits TestEdits",
	"ccache gives old objects":                                                    "examples/buildsystems TestCcache",
	"note: `the program asks the driver for the kernel's registers or occupancy`": "policy/search TestAsked",
	"`left alone: nondeterministic`":                                              "policy/search TestLeftAlone",
}

// TestTroubleshooting: the table in docs/troubleshooting.md is true, row by row. A row without a
// test, or a test without its row, fails.
func TestTroubleshooting(t *testing.T) {
	const folder = "testdata/troubles"
	tried := map[string]bool{}
	for row, test := range elsewhere {
		tried[row] = true
		in, name, _ := strings.Cut(test, " ")
		if !hasTest(t, filepath.Join("../..", in), name) {
			t.Errorf("%s: there is no %s in %s", row, name, in)
		}
	}
	text, err := os.ReadFile(folder + "/troubles.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if row, ok := strings.CutPrefix(line, "# row: "); ok {
			tried[strings.TrimSpace(row)] = true
		}
	}
	for line := range strings.Lines(documents(t)["docs/troubleshooting.md"]) {
		row, rest, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if !strings.HasPrefix(line, "| ") || strings.Count(rest, " | ") != 1 || row == "what you see" {
			continue
		}
		if !tried[row] {
			t.Errorf("docs/troubleshooting.md has a row that nothing tries: %s", row)
		}
		delete(tried, row)
	}
	for row := range tried {
		t.Errorf("docs/troubleshooting.md has no row %q any more", row)
	}
	p := params(kits.Any(t))
	p.Dir = folder
	testscript.Run(t, p)
}

// hasTest tells whether a folder's tests have one of a name.
func hasTest(t *testing.T, folder, name string) bool {
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
