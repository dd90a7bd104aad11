package lock

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gnvcc/cache"
)

func digits(c string, n int) string { return strings.Repeat(c, n) }

// sample are lines as export writes them: a measured recipe, one for the source, one pinned for any
// GPU, and nvcc's own.
func sample() []Line {
	when := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	return []Line{
		{Kernel: "_Z3fooPf", Device: "NVIDIA H200", Target: "sm_90", Ptxas: "13.0.88",
			Recipe: "maxnreg=40", Exact: "construction",
			Checks: 5, Varied: 2, Gain: 1.25, Time: when, Gnvcc: "v1", Identity: digits("a", 64),
			Code: digits("1", 32)},
		{Kernel: "_Z3barPf", Device: "NVIDIA H200", Target: "sm_90a", Ptxas: "13.0.88",
			Recipe: "unroll=2", Exact: "checked",
			Checks: 1, Gain: 3.132, Time: when, Gnvcc: "v1 (dirty)", Identity: digits("b", 64),
			Code:    digits("2", 32),
			Normals: []Normal{{"unroll=2", digits("3", 32)}}},
		{Kernel: "_Z3barPf", Target: "sm_90", Ptxas: "13.0.88", Recipe: "maxnreg=64",
			Exact: "construction", Time: when,
			Identity: digits("c", 64), Code: digits("4", 32)},
		{Kernel: "_Z3fooPf", Device: "NVIDIA H100 PCIe", Target: "sm_90", Ptxas: "13.0.88",
			Exact: "construction", Gain: 1,
			Checks: 3, Time: when, Gnvcc: "v1", Identity: digits("a", 64), Code: NoCode},
	}
}

func written(t *testing.T) string {
	t.Helper()
	text, err := Write(sample())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRoundTrip writes, reads, and writes again; git may have merged the lines in another order.
func TestRoundTrip(t *testing.T) {
	text := written(t)
	rows := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(rows) != 6 || rows[0] != "gnvcc lock 1" || rows[5] != "end" || !strings.HasPrefix(rows[1],
		`kernel="_Z3barPf" device="" `) {
		t.Fatalf("not as expected:\n%s", text)
	}
	rows[1], rows[4] = rows[4], rows[1]
	for _, in := range []string{text, strings.Join(rows, "\n") + "\n"} {
		lines, err := Parse([]byte(in), nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Write(lines)
		if err != nil || string(again) != text {
			t.Errorf("%v\n%s\nwant\n%s", err, again, text)
		}
	}
	if lines, err := Parse([]byte("gnvcc lock 1\nend\n"), nil); err != nil || len(lines) != 0 {
		t.Errorf("a file without kernels: %d lines, %v", len(lines), err)
	}
}

// TestDecision: what a build is told of a line.
func TestDecision(t *testing.T) {
	lines := sample()
	d := lines[1].Decision()
	if d.Evidence.Normals["unroll=2"] != digits("3", 32) ||
		d.Evidence.Normals[cache.CodeKey] != digits("2", 32) || d.Pinned {
		t.Errorf("%+v", d)
	}
	if d := lines[2].Decision(); !d.Pinned || d.Key() != digits("c", 64) {
		t.Errorf("a pinned one: %+v", d)
	}
	if lines[0].Key() == lines[3].Key() {
		t.Error("two GPUs have one key")
	}
}

// TestRefused: each of these is refused as a whole, with the line that is wrong.
func TestRefused(t *testing.T) {
	text := written(t)
	rows := strings.SplitAfter(text, "\n")
	change := func(old, new string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("the sample has no %q", old)
		}
		return strings.Replace(text, old, new, 1)
	}
	for name, c := range map[string]struct{ in, want string }{
		"empty":        {"", "empty"},
		"no lock file": {"#include <cuda.h>\n", "line 1: no lock file"},
		"another version": {change("lock 1", "lock 2"),
			"line 1: a lock file of another version, 2; this gnvcc knows 1"},
		"a version of words": {change("lock 1", "lock x"), "line 1: no lock file"},
		"a conflict": {change("end\n", "<<<<<<< HEAD\n"),
			"line 6: a conflict that git has left here"},
		"a conflict at first": {"<<<<<<< HEAD\n" + text, "line 1: a conflict"},
		"a conflict's end":    {rows[0] + rows[1] + ">>>>>>> theirs\n" + rows[2], "line 3: a conflict"},
		"cut within a line":   {text[:len(rows[0])+40], "line 2: it is cut off"},
		"cut between lines":   {rows[0] + rows[1], "line 2: it is cut off: the last line"},
		"cut behind its end":  {strings.TrimSuffix(text, "\n"), "line 6: it is cut off"},
		"more behind the end": {text + rows[1], `line 7: there is something behind the last line`},
		"a line twice": {rows[0] + rows[1] + rows[1] + "end\n",
			"line 3: the kernel of line 2 on the same GPU once more"},
		"one kernel, two": {strings.Join(rows[:5], "") + strings.Replace(rows[3], "PCIe", "PCIe",
			1) + "end\n", "once more"},
		"an empty line": {change("end\n", "\nend\n"), "line 6: expected kernel="},
		"another field": {change("recipe=", "prescription="), "expected recipe= at"},
		"fields exchanged": {change(`target=sm_90 ptxas=13.0.88`, `ptxas=13.0.88 target=sm_90`),
			"expected target= at"},
		"two spaces":         {change(" target=", "  target="), "expected target= at"},
		"a space at the end": {change("\nend", " \nend"), "expected one space after code"},
		"no quotes":          {change(`"NVIDIA H200"`, `NVIDIA`), "device is a text in quotes"},
		"an open quote":      {change(`recipe="maxnreg=40"`, `recipe="maxnreg=40`), "recipe"},
		"a line end within":  {change(`"v1"`, `"v\n1"`), "no readable text"},
		"a terminal's word":  {change(`"v1"`, `"\u009b31m"`), "no readable text"},
		"another spelling": {change(`"v1"`, `"\x761"`),
			"not as gnvcc export writes it|it is not written as gnvcc export writes it"},
		"a gain of nothing": {change("gain=1.250", "gain=NaN"), "gain=NaN is no number"},
		"a gain below zero": {change("gain=1.250", "gain=-1.250"), "gain=-1.250 is no number"},
		"a longer gain":     {change("gain=1.250", "gain=1.25"), "it is not written as"},
		"checks of one":     {change("checks=5+2", "checks=5"), "no two numbers"},
		"checks below zero": {change("checks=5+2", "checks=-5+2"), "no two numbers"},
		"a time of its own": {change("time=2026-11-21T10:00:00Z", "time=yesterday"), "time=yesterday"},
		"approximate": {change("exact=checked", "exact=approximate"),
			"approximate recipes are per user"},
		"exact as never":       {change("exact=checked", "exact=perhaps"), "exact=perhaps is none of"},
		"identity in capitals": {change(digits("a", 64), digits("A", 64)), "identity= is no hash"},
		"no code":              {change("code="+digits("1", 32), "code=-"), "code= is no hash"},
		"code for nothing":     {change("code=-", "code="+digits("5", 32)), "code without a recipe"},
		"code as a normal":     {change(`normal="unroll=2"`, `normal="code"`), "normal= is no"},
		"a normal twice": {change("\nkernel=\"_Z3fooPf\" device=\"NVIDIA H100",
			" normal=\"unroll=2\" "+digits("3", 32)+"\nkernel=\"_Z3fooPf\" device=\"NVIDIA H100"),
			"not in order, or there twice"},
		"a path as target": {change("target=sm_90a", "target=../../etc"),
			"target=../../etc is none like"},
		"no name":             {change(`kernel="_Z3fooPf"`, `kernel=""`), "kernel= has no name"},
		"a line of megabytes": {change("maxnreg=40", digits("m", maxLine)), "a line has"},
	} {
		t.Run(name, func(t *testing.T) {
			lines, err := Parse([]byte(c.in), nil)
			if err == nil || lines != nil {
				t.Fatalf("%d lines, %v", len(lines), err)
			}
			said := false
			for _, want := range strings.Split(c.want, "|") {
				said = said || strings.Contains(err.Error(), want)
			}
			if !said {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	if _, err := Parse([]byte("gnvcc lock 7\nwhatever\n"), nil); !errors.Is(err, errVersion) {
		t.Errorf("of a later version: %v", err)
	}
}

// FuzzParse: whatever is read is what would be written, line by line; nothing else is taken.
func FuzzParse(f *testing.F) {
	text, err := Write(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:len(text)/2])
	f.Add([]byte("gnvcc lock 1\nend\n"))
	f.Add([]byte("gnvcc lock 2\nend\n"))
	f.Add([]byte("gnvcc lock 1\n<<<<<<< HEAD\n=======\n>>>>>>> theirs\nend\n"))
	f.Add([]byte(`gnvcc lock 1` + "\n" + `kernel="\x00" device="` + "\n"))
	seeds, _ := filepath.Glob("testdata/seeds/*")
	for _, path := range seeds {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		lines, err := Parse(text, nil)
		if err != nil {
			if lines != nil {
				t.Fatal("lines beside an error")
			}
			return
		}
		again, err := Write(lines)
		if err != nil {
			t.Fatalf("what was read can't be written: %v", err)
		}
		if len(again) != len(text) {
			t.Fatalf("%d bytes became %d", len(text), len(again))
		}
		for _, l := range lines {
			if d := l.Decision(); d.Key() == "" || l.Recipe != "" &&
				len(d.Evidence.Normals[cache.CodeKey]) != 32 {
				t.Fatalf("%+v", d)
			}
		}
	})
}
