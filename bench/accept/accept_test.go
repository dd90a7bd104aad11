package main

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gnvcc/bench/lab"
	"gnvcc/install/kits"
)

// TestReason: reasons that differ in numbers, names and places are of one class, and a place is
// kept.
func TestReason(t *testing.T) {
	for _, c := range []struct{ asked, why, class, line string }{
		{"maxnreg=40", "it takes 2400 bytes (1328 by nvcc)", "it takes N bytes (N by nvcc)", ""},
		{"unroll=4", "unroll=4: a static local variable at src/k.cu:12",
			"a static local variable at FILE", "src/k.cu:12"},
		{"spec{#2=64}", "it calls _Z4workv, which reads %tid.x", "it calls NAME, which reads NAME.x", ""},
	} {
		if r := reason(c.asked, errors.New(c.why)); r.Class != c.class || r.Line != c.line {
			t.Errorf("%s: class %q, line %q", c.why, r.Class, r.Line)
		}
	}
}

// TestTable: a kernel counts once in each column, and what it was not asked for is not missed.
func TestTable(t *testing.T) {
	row := func(kernel, lever, accepted string) Row {
		r := Row{Program: "p", File: "k.cu", Kernel: kernel, Name: kernel, Lever: lever, Accepted: accepted}
		if accepted == "" {
			r.Refused = []Reason{{Class: "because", Why: "because"}}
		}
		return r
	}
	now := []Row{row("a", "maxnreg", "maxnreg=24"), row("a", "hint", "hint@ld=cs"), row("a", "unroll", ""),
		row("a", "spec", "spec{#1=64}"), row("b", "maxnreg", ""), row("b", "shape", "")}
	text := table(now)
	for _, want := range []string{"1/2", "2/2", "    1 maxnreg   because (p b)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestCoverage runs the program on a made-up source: each of its kernels takes caps, hints and
// unrolling, one that prints as well.
func TestCoverage(t *testing.T) {
	kits.Long(t, "TestTable has the figures")
	kit := kits.Any(t)
	dir := t.TempDir()
	gnvcc, out := filepath.Join(dir, "gnvcc"), filepath.Join(dir, "out.jsonl")
	if text, err := exec.Command("go", "-C", "../..", "build", "-o", gnvcc, "./cmd/gnvcc").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if err := start(context.Background(), []string{"-gnvcc", gnvcc, "-nvcc", kit.Nvcc(), "-dir", "testdata",
		"-levers", "maxnreg,hint,unroll,shape", "-program", "made up", "-out", out, "heavy.cu"}); err != nil {
		t.Fatal(err)
	}
	rows, err := lab.ReadLines(out, Row.key)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, r := range rows {
		got[r.Kernel+" "+r.Lever] = r.Accepted != ""
		if r.File != "heavy.cu" {
			t.Errorf("%s stands in %s", r.Kernel, r.File)
		}
		if r.Accepted == "" && (len(r.Refused) == 0 || r.Refused[0].Class == "") {
			t.Errorf("%s: %s is refused without a reason", r.Kernel, r.Lever)
		}
	}
	want := map[string]bool{"directives maxnreg": true, "directives hint": true, "directives unroll": true,
		"directives shape": false, "overlaps maxnreg": true, "overlaps hint": true, "overlaps unroll": true,
		"overlaps shape": false, "prints maxnreg": true, "prints hint": true, "prints unroll": true,
		"prints shape": false}
	for key, accepted := range want {
		if is, asked := got[key]; !asked || is != accepted {
			t.Errorf("%s: asked for %v, accepted %v", key, asked, is)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d answers, want %d: %v", len(got), len(want), got)
	}
}
