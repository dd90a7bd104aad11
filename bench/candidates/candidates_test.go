package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/install/kits"
	"gnvcc/rewrite"
)

func TestRecipes(t *testing.T) {
	for _, kind := range []string{byPTX, bySource, byWhole} {
		seen := map[string]bool{}
		for _, r := range recipes(kind) {
			if err := rewrite.Check(r); err != nil {
				t.Error(err)
			}
			seen[r.String()] = true
			if (kind != byPTX) == rewrite.At(r, rewrite.Source).IsDefault() {
				t.Errorf("%s: %s", kind, r)
			}
		}
		if len(seen) != 60 {
			t.Errorf("%s: %d different recipes", kind, len(seen))
		}
	}
}

func TestTable(t *testing.T) {
	raw := Raw{Jobs: 2, Series: []Series{{Program: "x", Kind: "PTX", Runs: []Run{
		{N: 1, Wall: 0.5, CPU: 0.4, Ptxas: 1}, {N: 10, Wall: 2, CPU: 3, Ptxas: 10},
		{N: 1, Wall: 0.3, CPU: 0.2, Ptxas: 1}, {N: 10, Wall: 4, CPU: 3, Ptxas: 10},
	}}}}
	text := table(raw)
	for _, want := range []string{"x PTX 1 0 1 0.00 0.40 0.30 0.400 0.300 1.0 1.0",
		"x PTX 10 0 10 0.00 3.00 3.00 0.300 0.300 7.5 10.0"} {
		found := false
		for _, line := range strings.Split(text, "\n") {
			found = found || strings.Join(strings.Fields(line), " ") == want
		}
		if !found {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
}

// TestReal compiles two candidates of each kind with real tools.
func TestReal(t *testing.T) {
	kit := kits.Need(t, "13.0")
	dir := t.TempDir()
	gnvcc := filepath.Join(dir, "gnvcc")
	if msg, err := exec.Command("go", "build", "-o", gnvcc,
		"gnvcc/cmd/gnvcc").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	file := filepath.Join(dir, "raw.json")
	args := []string{"-gnvcc", gnvcc, "-nvcc", kit.Nvcc(), "-n", "1,2", "-runs", "1", "-out", file,
		"../../examples/tripcount"}
	if err := run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	var raw Raw
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	if len(raw.Series) != 3 {
		t.Fatalf("%d series", len(raw.Series))
	}
	for _, s := range raw.Series {
		for _, r := range s.Runs {
			cicc, ptxas := 0, r.N
			switch s.Kind {
			case byWhole:
				cicc = 1 // both recipes share the variant
			case bySource: // its draft, the slice of the untouched text, and the winner's own
				cicc = 3 // of which ptxas is given what it was given for the draft
			}
			if r.Failed != 0 || r.Ptxas != ptxas || r.Cicc != cicc || r.CPU <= 0 ||
				(r.CiccCPU > 0) != (cicc > 0) {
				t.Errorf("%s: %+v", s.Kind, r)
			}
		}
	}
}
