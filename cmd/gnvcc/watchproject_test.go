package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"gnvcc/policy/watch"
)

// The project that gnvcc watch is tested on: kernels in one file, two headers, and a program that
// launches each of them; and gnvcc watch running on it.

// watchKernels is how many there are.
const watchKernels = 12

// watchName is the mangled name of kernel n, from 1.
func watchName(n int) string {
	name := fmt.Sprintf("k%d", n)
	return fmt.Sprintf("_Z%d%sPfPKfi", len(name), name)
}

// watchKernel is the source of kernel n: a polynomial in values from memory, the same work with other constants.
func watchKernel(n int) string {
	value := "x"
	switch n {
	case 4, 6:
		value = "x * SCALE"
	case 2, 11:
		value = "shared_step(x)"
	}
	return fmt.Sprintf(`__global__ void k%[1]d(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = %[1]d.0f;
  for (int round = 0; round < ROUNDS; round++) {
    int at = (i + round * %[2]d) %% n;
    float x = in[at];
    sum = sum * 0.5f + %[3]s;
  }
  out[i] = sum;
}
`, n, 1021+2*n, value)
}

// source is many.cu.
func watchSource() string {
	var b strings.Builder
	b.WriteString(`#include "scale.h"
#include "step.h"
#define ROUNDS 64

`)
	for n := 1; n <= watchKernels; n++ {
		fmt.Fprintf(&b, "// Kernel %d.\n%s\n", n, watchKernel(n))
	}
	b.WriteString("const int N = 1 << 22;\nint main() {\n  float *in = 0, *out = 0;\n")
	for n := 1; n <= watchKernels; n++ {
		fmt.Fprintf(&b, "  k%d<<<N / 256, 256>>>(out, in, N);\n", n)
	}
	b.WriteString("}\n")
	return b.String()
}

// files are the project's, by name.
func watchFiles() map[string]string {
	return map[string]string{
		"many.cu": watchSource(),
		"scale.h": "// A header that two kernels use.\n#define SCALE 1.25f\n",
		"step.h":  "__device__ inline float shared_step(float x) { return x * 0.75f + 0.25f; }\n",
	}
}

// A watchProject is the project in a folder, with gnvcc watch beside it.
type watchProject struct {
	*site
	Watch []string // further arguments of gnvcc watch

	process *exec.Cmd
	ended   chan error
	output  bytes.Buffer
	removed map[string]string
}

// Build is the user's own build.
func (p *watchProject) Build() error {
	return p.run("-O3", "-arch=sm_90", "-o", "many", "many.cu")
}

func (p *watchProject) run(args ...string) error {
	out, err := p.gnvcc(args...)
	if err != nil {
		err = fmt.Errorf("gnvcc %q: %w\n%s", args, err, out)
	}
	return err
}

// Start starts gnvcc watch, and waits until there is nothing to do for it.
func (p *watchProject) Start() error {
	p.process = p.command(p.exe, append([]string{"watch"}, p.Watch...)...)
	p.output.Reset()
	p.process.Stdout, p.process.Stderr = &p.output, &p.output
	if err := p.process.Start(); err != nil {
		return err
	}
	p.ended = make(chan error, 1)
	go func() { p.ended <- p.process.Wait() }()
	_, err := p.Until(func(s watch.Status) bool { return s.PID == p.process.Process.Pid && s.Idle })
	return err
}

// Stop ends it as a user does.
func (p *watchProject) Stop() error {
	if err := p.run("watch", "--stop"); err != nil {
		return err
	}
	return <-p.ended
}

// Kill ends it by kill -9.
func (p *watchProject) Kill() error {
	err := syscall.Kill(p.process.Process.Pid, syscall.SIGKILL)
	<-p.ended
	return err
}

// Output is what it has printed; for messages, when it has ended.
func (p *watchProject) Output() string { return p.output.String() }

// watchLimit is how long one edit may take.
const watchLimit = 10 * time.Minute

// Until waits for a status.
func (p *watchProject) Until(is func(watch.Status) bool) (watch.Status, error) {
	var s watch.Status
	for end := time.Now().Add(watchLimit); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		select {
		case err := <-p.ended:
			p.ended <- err
			return s, fmt.Errorf("gnvcc watch has ended: %v\n%s", err, p.Output())
		default:
		}
		text, err := os.ReadFile(filepath.Join(p.store, "watch", "status.json"))
		if err != nil {
			continue
		}
		var now watch.Status
		if json.Unmarshal(text, &now) != nil {
			continue
		}
		if s = now; is(s) {
			return s, nil
		}
	}
	return s, fmt.Errorf("it took longer than %v: %+v", watchLimit, s)
}

// Do does an edit, waits, and says what is wrong: "", the right kernels were tuned, and only they.
func (p *watchProject) Do(e watchEdit) (wrong string, err error) {
	before, err := p.Until(func(watch.Status) bool { return true })
	if err == nil {
		err = e.Do(p)
	}
	var after watch.Status
	if err == nil {
		after, err = p.Until(func(s watch.Status) bool { return s.Batches > before.Batches && s.Idle })
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", e.Name, err)
	}
	return e.compare(before, after, newDone(before, after)), nil
}

func newDone(before, after watch.Status) []watch.Done {
	var out []watch.Done
	for _, d := range after.Done {
		if len(before.Done) > 0 && !d.When.After(before.Done[0].When) {
			break
		}
		out = append(out, d)
	}
	return out
}

// compare says what is wrong with what came of an edit.
func (e watchEdit) compare(before, after watch.Status, done []watch.Done) string {
	var wrong []string
	var got, want []string
	for _, d := range done {
		got = append(got, d.Kernel)
		if d.Why != "" {
			wrong = append(wrong, fmt.Sprintf("%s was left alone: %s", d.Kernel, d.Why))
		}
	}
	for _, n := range e.Tuned {
		want = append(want, watchName(n))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		wrong = append(wrong, fmt.Sprintf("tuned were %q, want %q", got, want))
	}
	for kernel, n := range after.Candidates {
		if n != before.Candidates[kernel] && !slices.Contains(want, kernel) {
			wrong = append(wrong, fmt.Sprintf("%d candidates were measured for %s",
				n-before.Candidates[kernel], kernel))
		}
	}
	said := ""
	for _, x := range after.Waiting {
		said += x.Why + "\n"
	}
	for _, x := range after.Failing {
		said += x.Why + "\n"
	}
	if e.Waits == "" && said != "" || !strings.Contains(said, e.Waits) {
		wrong = append(wrong, fmt.Sprintf("what waits: %q, want %q", said, e.Waits))
	}
	return strings.Join(wrong, "; ")
}

// ---- What edits do.

func (p *watchProject) path(name string) string { return filepath.Join(p.dir, name) }

// Change rewrites a file.
func (p *watchProject) Change(name string, change func(string) string) error {
	text, err := os.ReadFile(p.path(name))
	if err != nil {
		return err
	}
	now := change(string(text))
	if now == string(text) {
		return fmt.Errorf("nothing to change in %s", name)
	}
	return os.WriteFile(p.path(name), []byte(now), 0o644)
}

// Replace replaces a text that is there once or more.
func (p *watchProject) Replace(name, from, to string) error {
	return p.Change(name, func(text string) string { return strings.Replace(text, from, to, 1) })
}

// replaceByRename does so as many editors save: beside, then renamed.
func (p *watchProject) replaceByRename(name, from, to string) error {
	text, err := os.ReadFile(p.path(name))
	if err != nil {
		return err
	}
	now := strings.Replace(string(text), from, to, 1)
	if err := os.WriteFile(p.path("."+name+".swp"), []byte(now), 0o644); err != nil {
		return err
	}
	return os.Rename(p.path("."+name+".swp"), p.path(name))
}

// Remove takes a file away; restore puts it back.
func (p *watchProject) Remove(name string) error {
	text, err := os.ReadFile(p.path(name))
	if err != nil {
		return err
	}
	if p.removed == nil {
		p.removed = map[string]string{}
	}
	p.removed[name] = string(text)
	return os.Remove(p.path(name))
}

func (p *watchProject) restore(name string) error {
	return os.WriteFile(p.path(name), []byte(p.removed[name]), 0o644)
}

// switchTo does what git does where branches differ: it writes the files that differ anew.
func (p *watchProject) switchTo(branch string) error {
	return p.Change("many.cu", func(text string) string {
		list := []string{"float sum = 10.0f;", "float sum = 10.5f;", "sum =\n      1.0f;",
			"sum =\n      1.5f;"}
		if branch == "main" {
			list = []string{list[1], list[0], list[3], list[2]}
		}
		return strings.NewReplacer(list...).Replace(text)
	})
}
