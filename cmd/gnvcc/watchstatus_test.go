package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/policy/watch"
)

// TestPrintStatus: what waits for a run is said to: kernels with new names, and files of which no
// run was observed.
func TestPrintStatus(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	before := told
	told = &output{file: f}
	printStatus(watch.Status{PID: 1, Idle: true, Commands: 2,
		Unobserved: []watch.Unobserved{{Source: "/p/new.cu", Kernels: 1}, {Source: "/p/b.cu", Kernels: 7}},
		Waiting: []watch.Wait{{Kernel: "_Z1kPf", Source: "/p/a.cu", Run: true,
			Why: "no launch of a kernel of this name is captured"}}})
	told = before
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"/p/new.cu: of its 1 kernel no launch is captured: it waits for a first run (gnvcc tune -- ./app)\n",
		"b.cu: of its 7 kernels no launch is captured: it waits for a first run",
		"k (/p/a.cu): no launch of a kernel of this name is captured; it waits for the next run",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s\nhas no %q", text, want)
		}
	}
}
