// The counter: a small program (counter/counter.c) that is built on the machine where it runs, and
// asked before and behind each run.

package energy

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"gnvcc/profile/agent"
)

//go:embed counter/counter.c
var source []byte

// A Run is what one took. Of runs of which nothing is known Why says why, and both are 0.
type Run struct {
	Joules float64
	Error  float64 // by so many that may be wrong: what the GPU took until the counter was read
	Why    string  `json:",omitempty"`
}

// precise is which part of a run's joules may be uncertain.
const precise = 0.05

// A Counter is the program, running.
type Counter struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// Open builds the program in a folder, and starts it. That there is no GPU, or that it has no
// counter, is no error: each run says so.
func Open(ctx context.Context, folder string) (*Counter, error) {
	dir, err := os.MkdirTemp(folder, "energy-")
	if err != nil {
		return nil, fmt.Errorf("build the energy counter: %w", err)
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string][]byte{"nvml.h": agent.NVML, "counter.c": source} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return nil, fmt.Errorf("build the energy counter: %w", err)
		}
	}
	program := filepath.Join(dir, "counter")
	args := []string{"-O2", "-Wall", "-o", program, program + ".c", "-ldl"}
	if msg, err := exec.CommandContext(ctx, cmp.Or(os.Getenv("CC"), "cc"),
		args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the energy counter: %w\n%s", err, msg)
	}
	c := &Counter{cmd: exec.CommandContext(ctx, program)}
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		c.out = bufio.NewReader(out)
		c.in, err = c.cmd.StdinPipe()
	}
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the energy counter: %w", err)
	}
	return c, nil
}

// Close ends it.
func (c *Counter) Close() {
	_ = c.in.Close()
	_ = c.cmd.Wait()
}

// read gives the counter at one of its steps: seconds of some clock, joules.
func (c *Counter) read() (at, joules float64, why string) {
	line, err := "", error(nil)
	if _, err = io.WriteString(c.in, "\n"); err == nil {
		line, err = c.out.ReadString('\n')
	}
	if err != nil {
		return 0, 0, "the energy counter has ended: " + err.Error()
	}
	if why, ok := strings.CutPrefix(strings.TrimSpace(line), "why "); ok {
		return 0, 0, why
	}
	var mj float64
	if _, err := fmt.Sscanf(line, "at %g %g", &at, &mj); err != nil {
		return 0, 0, fmt.Sprintf("the energy counter said %q", line)
	}
	return at, mj * 1e-3, ""
}

// Around does a run, and tells what it took. The error is the run's own.
func (c *Counter) Around(run func() error) (Run, error) {
	from, before, why := c.read()
	begun := time.Now()
	err := run()
	took := time.Since(begun).Seconds()
	if err != nil || why != "" {
		return Run{Why: why}, err
	}
	to, after, why := c.read()
	if why == "" && after < before {
		why = "the energy counter went backwards"
	}
	if why != "" {
		return Run{Why: why}, nil
	}
	r := Run{Joules: after - before}
	r.Error = r.Joules * max(0, 1-took/(to-from))
	if !(r.Error <= precise*r.Joules) {
		return Run{Why: fmt.Sprintf("not precise enough: %.3g J, give or take %.2g", r.Joules,
			r.Error)}, nil
	}
	return r, nil
}
