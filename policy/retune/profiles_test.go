package retune

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestProfilesComeAndGo: profiles that are half written, written again (also behind a link), or
// gone, and what is none.
func TestProfilesComeAndGo(t *testing.T) {
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "latest.json")
	w := &World{o: Options{Profiles: dir}}
	profile := func(kernel string) string {
		return `{"device": "A GPU", "shapes": [{"kernel": "` + kernel +
			`", "grid": [1,1,1], "block": [32,1,1], "launches": 3, "seconds": 1}]}`
	}
	put := func(path, text string) {
		t.Helper()
		time.Sleep(20 * time.Millisecond) // file systems' clocks have ticks
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"link.json": elsewhere, "zero.csv": "/dev/zero",
		"loop.csv": "loop.csv", "nowhere.csv": "nothing"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	own := filepath.Join(dir, "own.json")
	for _, step := range []struct {
		do   func()
		a, b bool // whether the kernels are known then
	}{
		{func() {}, false, false},
		{func() { put(own, profile("a")[:50]) }, false, false},
		{func() { put(own, profile("a")) }, true, false},
		{func() { put(elsewhere, profile("b")) }, true, true},
		{func() { put(elsewhere, profile("c")) }, true, false}, // as long as before
		{func() { put(own, profile("a")[:70]) }, false, false},
		{func() { put(elsewhere, profile("b")); os.Remove(own) }, false, true},
		{func() { os.Remove(elsewhere) }, false, false},
	} {
		step.do()
		said := strings.Join(w.Profiles(), "; ")
		_, a := w.Share("a")
		_, b := w.Share("b")
		if a != step.a || b != step.b {
			t.Errorf("a %v, b %v, want %v, %v; %s", a, b, step.a, step.b, said)
		}
	}
}
