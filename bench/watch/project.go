package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// kernels is how many kernels the project has.
const kernels = 12

// mangled is the name of kernel n, from 1, in the object file.
func mangled(n int) string {
	name := fmt.Sprintf("k%d", n)
	return fmt.Sprintf("_Z%d%sPfPKfi", len(name), name)
}

// source is many.cu: kernels that do the same work with other constants, and a program that
// launches each of them and prints a hash of what it left.
func source() string {
	var b strings.Builder
	b.WriteString(`#include "scale.h"
#include <cstdio>
#include <cstdlib>

`)
	for n := 1; n <= kernels; n++ {
		fmt.Fprintf(&b, `// Kernel %[1]d.
__global__ void k%[1]d(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = %[1]d.0f;
  for (int round = 0; round < 64; round++) sum = sum * 0.5f + SCALE * in[(i + round * %[2]d) %% n];
  out[i] = sum;
}

`, n, 1021+2*n)
	}
	b.WriteString(`static void check(cudaError_t e) {
  if (e != cudaSuccess) {
    fprintf(stderr, "%s\n", cudaGetErrorString(e));
    exit(1);
  }
}

const int N = 1 << 22;
static float *in, *out;
static unsigned *host;

// Prints a hash of what a kernel left, in the first round.
static void left(int round) {
  check(cudaGetLastError());
  if (round > 0) return;
  check(cudaMemcpy(host, out, N * sizeof(float), cudaMemcpyDeviceToHost));
  unsigned hash = 2166136261u;
  for (int i = 0; i < N; i++) hash = (hash ^ host[i]) * 16777619u;
  printf("%08x\n", hash);
}

int main() {
  host = (unsigned *)malloc(N * sizeof(float));
  for (int i = 0; i < N; i++) ((float *)host)[i] = (float)(i % 1000) / 999;
  check(cudaMalloc(&in, N * sizeof(float)));
  check(cudaMalloc(&out, N * sizeof(float)));
  check(cudaMemcpy(in, host, N * sizeof(float), cudaMemcpyHostToDevice));
  for (int round = 0; round < 10; round++) {
`)
	for n := 1; n <= kernels; n++ {
		fmt.Fprintf(&b, "    k%d<<<N / 256, 256>>>(out, in, N);\n    left(round);\n", n)
	}
	b.WriteString("  }\n  check(cudaDeviceSynchronize());\n  return 0;\n}\n")
	return b.String()
}

// A project is a folder with many.cu, its own store, and gnvcc watch running on it.
type project struct {
	gnvcc, dir, store string
	env               []string

	process *exec.Cmd
	ended   chan error
	output  bytes.Buffer
}

// A status is the part of gnvcc watch's status.json that is looked at.
type status struct {
	PID        int
	Idle       bool
	Batches    int
	Done       []done
	Candidates map[string]int
	Files      int
}

// A done is a kernel that was tuned.
type done struct {
	Kernel, Recipe, Why string
	Ratio               float64
	Launch              float64 // seconds
	When                time.Time
}

func newProject(gnvcc, nvcc string) (*project, error) {
	dir, err := os.MkdirTemp("", "gnvcc-bench-watch-")
	if err != nil {
		return nil, err
	}
	store := filepath.Join(dir, "store")
	p := &project{gnvcc: gnvcc, dir: filepath.Join(dir, "project"), store: store,
		env: append(os.Environ(), "GNVCC_STORE="+store, "GNVCC_NVCC="+nvcc, "TMPDIR="+dir)}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return nil, err
	}
	if err := p.write("scale.h", "#define SCALE 1.25f\n"); err != nil {
		return nil, err
	}
	return p, p.write("many.cu", source())
}

func (p *project) write(name, text string) error {
	return os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644)
}

func (p *project) remove() { os.RemoveAll(filepath.Dir(p.dir)) }

func (p *project) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	return cmd
}

func (p *project) run(name string, args ...string) error {
	if out, err := p.command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %q: %w\n%s", name, args, err, out)
	}
	return nil
}

// build is the user's own build.
func (p *project) build() error {
	return p.run(p.gnvcc, "-O3", "-arch=sm_90", "-o", "many", "many.cu")
}

// start starts gnvcc watch, and waits until it has nothing to do.
func (p *project) start() error {
	p.process = p.command(p.gnvcc, "watch")
	p.output.Reset()
	p.process.Stdout, p.process.Stderr = &p.output, &p.output
	if err := p.process.Start(); err != nil {
		return err
	}
	p.ended = make(chan error, 1)
	go func() { p.ended <- p.process.Wait() }()
	_, err := p.until(func(s status) bool { return s.PID == p.process.Process.Pid && s.Idle })
	return err
}

func (p *project) stop() error {
	if err := p.run(p.gnvcc, "watch", "--stop"); err != nil {
		return err
	}
	return <-p.ended
}

// limit is how long one edit may take.
const limit = 2 * time.Minute

// until waits for a status.
func (p *project) until(is func(status) bool) (s status, err error) {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		select {
		case err := <-p.ended:
			p.ended <- err
			return s, fmt.Errorf("gnvcc watch has ended: %v\n%s", err, p.output.String())
		default:
		}
		text, err := os.ReadFile(filepath.Join(p.store, "watch", "status.json"))
		var now status
		if err != nil || json.Unmarshal(text, &now) != nil {
			continue
		}
		if s = now; is(s) {
			return s, nil
		}
	}
	return s, fmt.Errorf("it took longer than %v: %+v", limit, s)
}

func (p *project) now() (status, error) { return p.until(func(status) bool { return true }) }

// An outcome is what came of an edit.
type outcome struct {
	first      time.Duration // until the first decision
	done       []done
	candidates map[string]int // measured, by kernel
}

// edit does an edit and waits until everything that it asks for is done.
func (p *project) edit(do func() error) (out outcome, err error) {
	before, err := p.now()
	if err != nil {
		return out, err
	}
	begun := time.Now()
	if err := do(); err != nil {
		return out, err
	}
	after, err := p.until(func(s status) bool {
		if out.first == 0 && len(newDone(before, s)) > 0 {
			out.first = time.Since(begun)
		}
		return s.Batches > before.Batches && s.Idle
	})
	out.done, out.candidates = newDone(before, after), map[string]int{}
	for kernel, n := range after.Candidates {
		if n -= before.Candidates[kernel]; n > 0 {
			out.candidates[kernel] = n
		}
	}
	return out, err
}

func newDone(before, after status) []done {
	for i, d := range after.Done { // newest first
		if len(before.Done) > 0 && !d.When.After(before.Done[0].When) {
			return after.Done[:i]
		}
	}
	return after.Done
}

// change rewrites many.cu.
func (p *project) change(change func(string) string) error {
	text, err := os.ReadFile(filepath.Join(p.dir, "many.cu"))
	if err != nil {
		return err
	}
	now := change(string(text))
	if now == string(text) {
		return fmt.Errorf("nothing to change in many.cu")
	}
	return p.write("many.cu", now)
}

func (p *project) replace(from, to string) error {
	return p.change(func(text string) string { return strings.Replace(text, from, to, 1) })
}

// constant edits a constant in one kernel, another one for each number.
func (p *project) constant(n, number int) error {
	return p.change(func(text string) string {
		at := regexp.MustCompile(fmt.Sprintf(`(void k%d\([^)]*\) \{[^}]*?float sum = )[0-9.]+f;`, n))
		return at.ReplaceAllString(text, fmt.Sprintf("${1}%d.5f;", number))
	})
}
