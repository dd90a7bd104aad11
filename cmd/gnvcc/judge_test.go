package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gnvcc/install/kits"
)

const judgedFile = `#include "f.h"
__global__ void turn(int *p, const int *q, int n) {
  __shared__ int s[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  s[threadIdx.x] = i < n ? q[i] : 0;
  __syncthreads();
  if (i < n) p[i] = s[63 - threadIdx.x] * 3 + 1;
}
__global__ void slow(volatile int *p, const int *q, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    p[i] = f(q[i]);
    p[i] = f(q[i] + p[i] - p[i]);
  }
}
typedef double real;
template <class T> __global__ void scale(T *p, const T *q, real *r, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { p[i] = q[i] * 3 + 1; r[i] = q[i] + 2; }
}
template __global__ void scale<double>(double *, const double *, real *, int);
`

// A judged is what a line of JSON says.
type judged struct {
	Format        string
	Equal, Faster bool
	Error         string
	Notes         []string
	Kernels       []struct {
		Short, Kernel                 string
		Emulated, Predicted, SameCode bool
		Ratio, Low, High              float64
		Verdict                       struct {
			How, Why   string
			Launches   int
			Difference *struct {
				Argument, Type, Want, Got string
				Index                     int
			}
		}
	}
}

// TestJudgeVerb: edits judged without a GPU, by the recorded command, by exit code, as JSON and in
// one process; nothing of the user's is written. All of it in a folder that a link leads to.
func TestJudgeVerb(t *testing.T) {
	v := newSite(t, kits.Any(t).Nvcc(), kits.Short(judgedFile), "GNVCC_STRICT=1")
	dir := filepath.Join(t.TempDir(), "link")
	v.must(os.Symlink(v.dir, dir))
	v.dir = dir
	v.env = append(v.env, "PWD="+dir)
	write := v.write
	run := func(input string, args ...string) (string, int) {
		t.Helper()
		cmd := v.command(v.exe, args...)
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	write("src/f.h", "__device__ inline int f(int v) {\n#pragma unroll 1\n  for (int r = 0; r < 40; r++) v = v * 5 + r;\n  return v;\n}\n")
	write("src/k.cu", judgedFile)
	if out, code := run("", "-arch=sm_90", "-c", "-o", "k.o", "src/k.cu"); code != 0 {
		t.Fatalf("build: %s", out)
	}
	object, err := os.ReadFile(filepath.Join(dir, "k.o"))
	if err != nil {
		t.Fatal(err)
	}
	edit := func(name, from, to string) string {
		t.Helper()
		if !strings.Contains(judgedFile, from) {
			t.Fatalf("%s: no %q", name, from)
		}
		return write("edits/"+name, strings.Replace(judgedFile, from, to, 1))
	}
	second := "    p[i] = f(q[i] + p[i] - p[i]);\n"
	for _, c := range []struct {
		name, from, to string
		args           []string
		code           int
		want           []string
	}{
		{"barrier.cu", "__syncthreads();", "", nil, 1, []string{"turn: NOT EQUAL: p[", "run in the emulator"}},
		{"comment.cu", "__shared__", "/* tile */ __shared__", nil, 3, []string{"no kernel differs"}},
		{"double.cu", "q[i] * 3 + 1", "q[i] * 4 + 1", nil, 1, []string{"scale<double>: NOT EQUAL: p[0]: 4003a7efbdeecb88 (2.457000"}},
		{"typedef.cu", "q[i] + 2", "q[i] + 4", nil, 1, []string{"scale<double>: NOT EQUAL: r[0]: 4003e2a53f4f992e (2.485666"}},
		{"close.cu", "q[i] + 2", "q[i] + 2.000000001", []string{"--within", "1e-3,1e-3"}, 3, []string{"scale<double>: within what is allowed"}},
		{"faster.cu", second, "", nil, 0, []string{"slow: the same bytes on", "(not measured)"}},
		{"only.cu", "__syncthreads();", "", []string{"--kernel", "slow"}, 3,
			[]string{"slow: the same machine code"}},
		{"shared.cu", "s[64];", "s[64]; if (n == -5) { __shared__ int more[99]; more[n & 63] = 1; p[0] = more[n & 31]; }",
			nil, -1, []string{"bytes of static shared memory"}},
		{"wrong.cu", "int i = b", "int i = = b", nil, 2, []string{"it does not compile", "wrong.cu(4)"}},
		{"name.cu", "void turn", "void turned", nil, 2, []string{"has no turn any more"}},
		{"unknown.cu", second, "", []string{"--of", "src/other.cu"}, 2, []string{"no build of"}},
		{"within.cu", second, "", []string{"--within", "1"}, 2, []string{"ABS,REL"}},
	} {
		edit(c.name, c.from, c.to)
		args := []string{"judge", "--of", "src/k.cu"}
		if slices.Contains(c.args, "--of") {
			args = args[:1]
		}
		out, code := run("", append(append(args, c.args...), "edits/"+c.name)...)
		if code != c.code && c.code >= 0 {
			t.Errorf("%s: exit code %d, want %d: %s", c.name, code, c.code, out)
		}
		for _, w := range c.want {
			if !strings.Contains(out, w) {
				t.Errorf("%s: %s\nhas no %q", c.name, out, w)
			}
		}
	}
	if kits.Every() { // commands of other forms
		// Relocatable code, as kernels need it that launch others.
		write("src/link.cu", strings.Replace(judgedFile, "* 3 + 1", "* 9 + 1", 1))
		if out, code := run("", "-arch=sm_90", "-rdc=true", "-c", "-o", "src/link.o", "src/link.cu"); code != 0 {
			t.Fatalf("build: %s", out)
		}
		write("edits/link.cu", strings.Replace(judgedFile, "* 3 + 1", "* 9 + 2", 1))
		if out, code := run("", "judge", "--of", "src/link.cu", "edits/link.cu"); code != 2 ||
			!strings.Contains(out, "made by a device link") {
			t.Errorf("-rdc=true: exit code %d: %s", code, out)
		}
		// A command that keeps files between its steps: its edits are judged, and none is kept.
		keeping := strings.Replace(judgedFile, "* 3 + 1", "* 3 + 2", 1) // else one PTX would have two sources
		kept := write("kept/k.cu", strings.Replace(keeping, "f.h", "../src/f.h", 1))
		if out, code := run("", "-arch=sm_90", "-c", "--keep", "--keep-dir", "kept", "-o", "kept/k.o", kept); code != 0 {
			t.Fatalf("build: %s", out)
		}
		before, _ := os.ReadDir(filepath.Join(dir, "kept"))
		write("kept.cu", strings.Replace(strings.Replace(keeping, "f.h", "src/f.h", 1), second, "", 1))
		if out, code := run("", "judge", "--of", "kept/k.cu", "kept.cu"); code != 0 ||
			!strings.Contains(out, "slow: the same bytes on") {
			t.Errorf("--keep: exit code %d: %s", code, out)
		}
		if after, _ := os.ReadDir(filepath.Join(dir, "kept")); len(before) < 5 || len(after) != len(before) {
			t.Errorf("--keep: %d files, and %d before", len(after), len(before))
		}
		os.RemoveAll(filepath.Join(dir, "kept"))
		os.Remove(filepath.Join(dir, "kept.cu"))
		// Of two sources of one command the edit has the other one's name. From here on k.cu has a copy,
		// which gives the same PTX.
		if out, code := run("", "-arch=sm_90", "-c", "-o", "src/copy.o", write("src/copy.cu", judgedFile)); code != 0 {
			t.Fatalf("build: %s", out)
		}
		write("src/one.cu", strings.Replace(judgedFile, "* 3 + 1", "* 7 + 1", 1))
		write("src/other.cu", "__global__ void other() {}\n")
		if out, code := run("", "-arch=sm_90", "-lib", "-o", "src/two.a", "src/one.cu", "src/other.cu"); code != 0 {
			t.Fatalf("build: %s", out)
		}
		edit("other.cu", "__syncthreads();", "")
		if out, code := run("", "judge", "--of", "src/one.cu", "edits/other.cu"); code != 1 ||
			!strings.Contains(out, "turn: NOT EQUAL") {
			t.Errorf("of two sources: exit code %d: %s", code, out)
		}
	}
	begun := time.Now()
	out, code := run(`{"file": "edits/barrier.cu", "of": "src/k.cu"}
{"file": "edits/faster.cu", "of": "src/k.cu", "kernel": "slow"}

{"file": "edits/wrong.cu", "of": "src/k.cu"}
{"of": 7}
{"file": "`+strings.Repeat("x", 3<<20)+`"}
{"file": "edits/barrier.cu", "of": "src/k.cu"}
`, "judge", "--serve", "--emulate")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || len(lines) != 6 {
		t.Fatalf("--serve: exit code %d, %d lines: %s", code, len(lines), out)
	}
	t.Logf("six lines in %.1f s", time.Since(begun).Seconds())
	var got [6]judged
	for i, line := range lines {
		if err := json.Unmarshal([]byte(line), &got[i]); err != nil || got[i].Format != "gnvcc-judge" {
			t.Errorf("%v: %s", err, line)
		}
	}
	if len(got[0].Kernels) == 0 || len(got[1].Kernels) == 0 {
		t.Fatalf("--serve: %s", out)
	}
	if d := got[0].Kernels[0].Verdict.Difference; d == nil || d.Argument != "#0" || d.Type != "int" ||
		got[0].Equal {
		t.Errorf("%+v", got[0])
	}
	if k := got[1].Kernels[0]; !got[1].Equal || !got[1].Faster || !k.Predicted || k.Ratio <= 0 ||
		k.Ratio >= 0.9 || k.Verdict.Launches < 5 {
		t.Errorf("%+v", got[1])
	}
	if !strings.Contains(got[2].Error, "does not compile") || got[3].Error == "" ||
		!strings.Contains(got[4].Error, "a line has more than") || lines[5][:40] != lines[0][:40] ||
		got[5].Equal {
		t.Errorf("%s", out)
	}
	// In place: the file itself is edited.
	if err := os.WriteFile(filepath.Join(dir, "src/k.cu"), []byte(strings.Replace(judgedFile,
		"* 3 + 1", "* 3", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := run("", "judge", "src/k.cu"); code != 1 || !strings.Contains(out, "turn: NOT EQUAL") {
		t.Errorf("in place: %d: %s", code, out)
	}
	now, err := os.ReadFile(filepath.Join(dir, "k.o"))
	if err != nil || string(now) != string(object) {
		t.Errorf("the object was written: %v", err)
	}
	files, _ := os.ReadDir(dir)
	if len(files) != 3 {
		t.Errorf("%d files where there were k.o, src and edits", len(files))
	}
}

// TestJudgeReplays: the same on a GPU, on captured launches: equal and timed.
func TestJudgeReplays(t *testing.T) {
	kits.Long(t, "policy/judge replays on a simulated GPU")
	t.Log("the GPU is simulated: it runs nothing, all builds are equal there, and times are made up")
	w := newWatched(t, "hint")
	text, err := os.ReadFile(filepath.Join(w.dir, "many.cu"))
	w.must(err)
	file := filepath.Join(w.tmp, "edit.cu")
	edited := strings.Replace(string(text), "float sum = 3.0f;", "float sum = 3.25f;", 1)
	if edited == string(text) {
		t.Fatal("nothing is edited")
	}
	w.must(os.WriteFile(file, []byte(edited), 0o600))
	out, err := w.gnvcc("judge", "--json", "--of", filepath.Join(w.dir, "many.cu"), file)
	var got judged
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if len(got.Kernels) != 1 || got.Kernels[0].Kernel != watchName(3) || !got.Equal ||
		(err == nil) != got.Faster {
		t.Fatalf("%v: %s", err, out)
	}
	if k := got.Kernels[0]; k.Emulated || k.Predicted || k.Ratio < 0.69 || k.Ratio > 1.01 ||
		k.Low > k.Ratio || k.High < k.Ratio {
		t.Errorf("%s", out)
	}
	// It leaves the right bits where memory has them already, and not where that is overwritten.
	measured, err := os.ReadFile(filepath.Join(w.tmp, "measured"))
	w.must(err)
	words := strings.Fields(string(measured))
	w.must(os.WriteFile(filepath.Join(w.tmp, "measured.other."+words[len(words)-1]+".overwritten"), nil,
		0o600))
	if out, err := w.gnvcc("judge", "--of", filepath.Join(w.dir, "many.cu"), file); err == nil ||
		!strings.Contains(out, "NOT EQUAL: 2 words differ") || !strings.Contains(out, "with data varied") {
		t.Errorf("where ranges are overwritten: %v: %s", err, out)
	}
	w.must(os.RemoveAll(filepath.Join(w.store, "captures", "launches")))
	if out, err := w.gnvcc("judge", "--of", filepath.Join(w.dir, "many.cu"), file); err == nil ||
		!strings.Contains(out, "no launch of the original is captured") {
		t.Errorf("without captures: %v: %s", err, out)
	}
}

// TestJudgeServeEnds: --serve ends when it is told to, also while it waits for a line.
func TestJudgeServeEnds(t *testing.T) {
	v := newSite(t, "")
	cmd := v.command(v.exe, "judge", "--serve", "--emulate")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, "no JSON\n")
	if line, err := bufio.NewReader(out).ReadString('\n'); !strings.Contains(line, "invalid") {
		t.Errorf("%q, %v", line, err)
	}
	kill := time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() })
	time.Sleep(300 * time.Millisecond) // it waits for the next line by then
	cmd.Process.Signal(syscall.SIGTERM)
	if cmd.Wait(); !kill.Stop() {
		t.Error("it waits for a line for ever")
	}
}
