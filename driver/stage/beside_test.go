package stage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"gnvcc/driver/child"
	"gnvcc/driver/drivertest"
	"gnvcc/driver/environment"
)

// TestBeside: a panic beside the tool is an error, which is there as often as it is asked for.
func TestBeside(t *testing.T) {
	s := &stage{}
	wait := s.beside(func() error { panic("of ours") })
	for range 2 {
		if err := wait(); err == nil || !strings.Contains(err.Error(), "of ours") {
			t.Errorf("%v", err)
		}
	}
}

// TestPanicAtWork: whatever happens to us while the user's own step is at work, its end is waited
// for and passed on, and no second one is started.
func TestPanicAtWork(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	tool := drivertest.Program(t, filepath.Join(dir, "tool"),
		"#!/bin/sh\nsleep 0.2\necho done >>'"+out+"'\nexit 3\n")
	s := &stage{tool: tool, words: []string{"tool"}, env: environment.Of(nil), log: zerolog.Nop(),
		watch: child.NewWatch()}
	err := s.guarded(func() error {
		own := s.begin()
		defer own.wait()
		panic("of ours")
	})
	if err == nil || s.result == nil || s.result.Code != 3 {
		t.Errorf("%v, result %+v", err, s.result)
	}
	if text, _ := os.ReadFile(out); string(text) != "done\n" {
		t.Errorf("the tool wrote %q", text)
	}
}
