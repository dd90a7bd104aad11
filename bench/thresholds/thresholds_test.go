package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const report = `[{"decision": {"Kernel": "_Z5shownPf", "Evidence": {"Launches": [
 {"Grid": [1000,1,1], "Block": [256,1,1], "Before": {"Median": 5000},
  "Sampled": {"Thresholds": [1,2,3,4,5,6,7], "Cycles": [10,9,8,7,6,5,5.5],
              "Ratios": [1.2,1.1,1.0,0.9,0.8,0.82,0]}},
 {"Grid": [2000,1,1], "Block": [64,2,1], "Before": {"Median": 5000},
  "Sampled": {"Thresholds": [1,2,3], "Cycles": [9,8,10], "Ratios": [1,1.2,1.1]}},
 {"Grid": [9,1,1], "Block": [64,1,1], "Sampled": {"Why": "the build was noticed"}},
 {"Grid": [10,1,1], "Block": [64,1,1]}]}}}]`

// The vote is the threshold with the fewest cycles of those measured; what was not sampled is
// named.
func TestThresholds(t *testing.T) {
	dir := t.TempDir()
	file, rows := filepath.Join(dir, "app.json"), filepath.Join(dir, "rows.jsonl")
	if err := os.WriteFile(file, []byte(report), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run([]string{"-rows", rows, file}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"not sampled: app shown: the build was noticed",
		"6      6   0.820      5   0.800   2.5%",
		"3      2   1.200      1   1.000  20.0%",
		// the first: 6 is right at once, today's 1, 2, 3, 4, 6 at the fifth; the second: at the second
		// by votes, at once today
		"configurations: 2; the voted threshold is within 3 % of the best on 1 (50 %), 10.9 % slower in" +
			" the mean; today's first one is on 1; measured until one is: 1.50 by votes, 3.00 in today's order",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if text, err := os.ReadFile(rows); err != nil || strings.Count(string(text), "\n") != 2 {
		t.Errorf("%v\n%s", err, text)
	}
	if err := run([]string{filepath.Join(dir, "none")}, &out); err == nil {
		t.Error("no report is enough")
	}
}
