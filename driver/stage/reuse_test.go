package stage

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"

	"gnvcc/cache"
	"gnvcc/driver/drivertest"
	"gnvcc/driver/environment"
)

// TestReuseKey: whatever the result depends on is in the key, the temporary names are not.
func TestReuseKey(t *testing.T) {
	dir := t.TempDir()
	tool := filepath.Join(dir, "tool")
	drivertest.Write(t, tool, "\x7fELF")
	key := func(change func(s *stage, inputs []string)) string {
		s := &stage{name: "cicc", env: environment.Read(), tool: tool, dir: dir, words: []string{"cicc",
			"-O3", "/tmp/tmpxft_0000abcd_00000000-3_a.ii", "-o", "/tmp/tmpxft_0000abcd_00000000-4_a.ptx"}}
		inputs := []string{"text", "module"}
		if change != nil {
			change(s, inputs)
		}
		r, err := s.newReuse(inputs, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r.key
	}
	plain := key(nil)
	if key(func(s *stage, _ []string) {
		s.words[2], s.words[4] = "/tmp/tmpxft_00000001_00000000-5_a.ii",
			"/tmp/tmpxft_00000001_00000000-6_a.ptx"
	}) != plain {
		t.Error("other temporary names give another key")
	}
	for what, change := range map[string]func(s *stage, inputs []string){
		"option": func(s *stage, _ []string) { s.words[1] = "-O2" },
		"same name": func(s *stage, _ []string) {
			s.words[4] = "/tmp/tmpxft_0000abcd_00000000-3_a.ptx"
		},
		"input":     func(_ *stage, inputs []string) { inputs[0] = "Text" },
		"module id": func(_ *stage, inputs []string) { inputs[1] = "" },
		"stage":     func(s *stage, _ []string) { s.name = "cudafe" },
		"folder":    func(s *stage, _ []string) { s.dir = "/" },
		"environment": func(s *stage, _ []string) {
			s.env = environment.Of(append(s.env.All(), "NVVM_SOMETHING=1"))
		},
		"tool": func(*stage, []string) { drivertest.Write(t, tool, "\x7fELF another") },
	} {
		before := key(nil)
		if key(change) == before {
			t.Errorf("%s: the key is the same", what)
		}
	}
	drivertest.Write(t, tool, "#!/bin/sh\n")
	if _, err := (&stage{name: "cicc", env: environment.Read(), tool: tool, dir: dir,
		words: []string{"cicc"}}).newReuse(nil, nil); err == nil {
		t.Error("a script is reused")
	}
}

// TestReuse: what was kept is taken by apply alone, and damaged objects are not taken.
func TestReuse(t *testing.T) {
	dir := t.TempDir()
	store, err := cache.Open(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	s := &stage{store: store, env: environment.Of(nil), log: zerolog.Nop()}
	r := &reuse{key: cache.Hash([]byte("k")), outputs: []string{out}}
	drivertest.Write(t, out, "first")
	if err := s.keepStep(r); err != nil {
		t.Fatal(err)
	}
	if s.take(r) {
		t.Error("taken in an ordinary build")
	}
	s.env.Reuse = true
	drivertest.Write(t, out, "")
	if text, _ := os.ReadFile(out); !s.take(r) || s.result == nil {
		t.Errorf("not taken: %q", text)
	}
	if text, _ := os.ReadFile(out); string(text) != "first" {
		t.Errorf("taken: %q", text)
	}
	drivertest.Write(t, store.ObjectPath(cache.Hash([]byte("first"))), "damaged")
	if s.take(r) {
		t.Error("a damaged object taken")
	}
}
