package store

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestMain lets the test binary be a builder, as the program is.
func TestMain(m *testing.M) {
	Builder()
	os.Exit(m.Run())
}

func TestRun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "store.json")
	if err := Run(t.Context(), []string{"-builders", "3", "-lookups", "4", "-records", "2,30", "-out",
		out}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var raw Raw
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	if len(raw.Cells) != 4 || raw.Machine.Cores == 0 {
		t.Fatalf("%+v", raw)
	}
	for _, c := range raw.Cells {
		if len(c.Wall) != 12 || len(c.CPU) != 12 || (c.Publications > 0) != c.Publishing {
			t.Errorf("%+v", c)
		}
		for i := range c.Wall {
			if c.Wall[i] <= 0 || c.CPU[i] <= 0 {
				t.Errorf("look-up %d took %d ns, of the processor %d", i, c.Wall[i], c.CPU[i])
			}
		}
	}
	for _, args := range [][]string{{"-builders", "0"}, {"-records", "1,x"}, {"-records", "0"}} {
		if err := Run(t.Context(), args); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}
