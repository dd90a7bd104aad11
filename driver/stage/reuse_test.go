package stage

import (
	"errors"
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

// TestVerify: a tool that writes something else from the same things is found out, and damaged
// objects are not taken.
func TestVerify(t *testing.T) {
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
	s.env.Verify = true
	if s.take(r) {
		t.Error("taken where it is to be verified")
	}
	if err := s.keepStep(r); err != nil {
		t.Errorf("the same differs: %v", err)
	}
	drivertest.Write(t, out, "second")
	if err := s.keepStep(r); !errors.Is(err, errDiffers) {
		t.Errorf("another output: %v", err)
	}
	s.env.Verify = false
	drivertest.Write(t, store.ObjectPath(cache.Hash([]byte("second"))), "damaged")
	if s.take(r) {
		t.Error("a damaged object taken")
	}
}

// TestProcessInNames: a file that exports nothing has names with cudafe++'s process in them.
func TestProcessInNames(t *testing.T) {
	outputs := []string{"k.cpp", "k.module_id"}
	for _, c := range []struct{ was, is, before, written, want string }{
		{"_a_5_s3_cu_ef5c5f41_15069", "_a_5_s3_cu_ef5c5f41_15274", "x_a_5_s3_cu_ef5c5f41_15069y",
			"x_a_5_s3_cu_ef5c5f41_15274y", "x_a_5_s3_cu_ef5c5f41_15069y"},
		{"_a_5_s3_cu_ef5c5f41_15069", "_a_5_s3_cu_bd79dfe1_15274", "x_a_5_s3_cu_ef5c5f41_15069y",
			"x_a_5_s3_cu_bd79dfe1_15274y", "x_a_5_s3_cu_ef5c5f41_15069y"},
		{"_a_5_s3_cu_ef5c5f41_15069", "_a_5_s3_cu_ef5c5f41_15274", "x_a_5_s3_cu_ef5c5f41_15069y", "other",
			"other"},
		{"_a_5_s3_cu_ef5c5f41_15069", "_a_5_s3_cu_ef5c5f41_999", "x", "other", "x"}, // not compared
		{"_a_5_s3_cu_ef5c5f41", "_a_5_s3_cu_ef5c5f42", "x", "other", "other"},
		{"_a_5_s3_cu_12345678", "_a_5_s3_cu_12345679", "x_a_5_s3_cu_12345678", "x_a_5_s3_cu_12345679",
			"x_a_5_s3_cu_12345679"},
		{"_a_5_s3_cu_ef5c5f41_15069", "_b_5_s3_cu_ef5c5f41_15274", "x", "other", "other"},
		{"_4_a_cu__Z1kPf", "_4_a_cu__Z1kPd", "x", "other", "other"},
		{"_1", "_2", "x", "other", "other"},
		{"_a;b_5_s3_cu_ef5c5f41_15069", "_a;b_5_s3_cu_ef5c5f41_15274", "x", "other", "other"},
	} {
		got := asBefore(outputs, [][]byte{[]byte(c.before), []byte(c.was)}, [][]byte{[]byte(c.written),
			[]byte(c.is)})
		if string(got[0]) != c.want {
			t.Errorf("%s, %s: %q, want %q", c.was, c.is, got[0], c.want)
		}
	}
	if got := asBefore(outputs, [][]byte{nil, nil}, [][]byte{nil, []byte("_a_1")}); got[0] != nil {
		t.Errorf("%q", got)
	}
}
