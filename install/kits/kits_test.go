package kits

import (
	"os"
	"testing"
)

// TestKits: what is said to be here is here, and one that nobody has is not.
func TestKits(t *testing.T) {
	for _, k := range All(t) {
		for _, tool := range []string{k.Nvcc(), k.Ptxas()} {
			if _, err := os.Stat(tool); err != nil {
				t.Errorf("toolkit %s: %v", k.Version, err)
			}
		}
	}
	if k, ok := Find("0.1"); ok {
		t.Errorf("toolkit 0.1 is in %s", k.Dir)
	}
	skipped := t.Run("none", func(t *testing.T) { Need(t, "0.1"); t.Error("went on without a toolkit") })
	if !skipped {
		t.Error("a test without its toolkit fails, and should be skipped")
	}
}
