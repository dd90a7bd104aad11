package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestMain lets the test binary be a builder, as the program is.
func TestMain(m *testing.M) {
	if os.Getenv(jobEnv) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestRun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "store.json")
	if err := run(t.Context(), []string{"-builders", "3", "-lookups", "4", "-records", "2,30", "-out",
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
	if len(raw.Cells) != 6 || raw.Machine.Cores == 0 {
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
		if err := run(t.Context(), args); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}

func TestQuantile(t *testing.T) {
	var hundred []int64
	for i := range 100 {
		hundred = append(hundred, int64(100-i))
	}
	for q, want := range map[float64]int64{0.5: 50, 0.99: 99, 1: 100, 0.001: 1} {
		if got := quantile(hundred, q); got != want {
			t.Errorf("%v: %d, want %d", q, got, want)
		}
	}
	if quantile(nil, 0.5) != 0 || quantile([]int64{7}, 0.99) != 7 {
		t.Error("of none, of one")
	}
}
