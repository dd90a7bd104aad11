// One command: started in a process group of its own, ended as a whole.

package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A Step is a command to run.
type Step struct {
	Argv  []string
	Dir   string
	Env   []string      // added to our own environment
	Limit time.Duration // of wall time; 0: none
}

// A Ran is how it went.
type Ran struct {
	Wall, User, System time.Duration // User and System with all children that were waited for
	Stdout, Stderr     string        // at most Most bytes each; of what is longer the end is kept
	Err                error         // nil: it ran and gave exit status 0
}

// most is how many bytes of a command's output are kept.
const most = 8 << 20

// Run runs a step. When the time is up, or ctx ends, the process group gets SIGTERM, and SIGKILL
// two seconds later.
func (s Step) Run(ctx context.Context) Ran {
	if s.Limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.Limit)
		defer cancel()
	}
	if err := ctx.Err(); err != nil {
		return Ran{Err: fmt.Errorf("%s: not started: %w", s, err)}
	}
	cmd := exec.CommandContext(ctx, s.Argv[0], s.Argv[1:]...)
	cmd.Dir = s.Dir
	cmd.Env = append(os.Environ(), s.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second // for a grandchild that holds our pipe
	var stdout, stderr tail
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	r := Ran{Wall: time.Since(start), Stdout: stdout.String(), Stderr: stderr.String()}
	if cmd.Process != nil {
		if ctx.Err() != nil || err != nil {
			// What is left of the group: a grandchild that ignored SIGTERM would go on using the GPU.
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
		if cmd.ProcessState != nil {
			r.User, r.System = cmd.ProcessState.UserTime(), cmd.ProcessState.SystemTime()
		}
	}
	switch {
	case err == nil:
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && s.Limit > 0:
		r.Err = fmt.Errorf("%s: not done after %v", s, s.Limit)
	default:
		r.Err = fmt.Errorf("%s: %w%s", s, err, lastLines(r.Stderr))
	}
	return r
}

func (s Step) String() string {
	line := strings.Join(s.Argv, " ")
	if len(line) > 200 {
		line = line[:200] + "..."
	}
	return line
}

// lastLines is the end of what a failed command said, for its error. make's own last line says
// little, hence three.
func lastLines(text string) string {
	var last []string
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			last = append(last, line[max(0, len(line)-300):])
		}
	}
	if len(last) == 0 {
		return ""
	}
	return ": " + strings.Join(last[max(0, len(last)-3):], " | ")
}

// A tail keeps the last Most bytes written to it.
type tail struct{ buf bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	t.buf.Write(p)
	if t.buf.Len() > 2*most {
		t.buf.Next(t.buf.Len() - most)
	}
	return len(p), nil
}

func (t *tail) String() string {
	b := t.buf.Bytes()
	return string(b[max(0, len(b)-most):])
}

// Logged runs the step under a limit and keeps what it printed in a file of the folder, called
// after the program and what was done. The error says what that was.
func (s Step) Logged(ctx context.Context, folder, program, what string,
	limit time.Duration) (Ran, error) {
	s.Limit = limit
	r := s.Run(ctx)
	log := filepath.Join(folder, program+"."+strings.ReplaceAll(what, " ", "-"))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return r, err
	}
	text := fmt.Sprintf("%s\n%v\n--- stdout\n%s--- stderr\n%s", s, r.Err, r.Stdout, r.Stderr)
	if err := os.WriteFile(log, []byte(text), 0o644); err != nil {
		return r, err
	}
	if r.Err != nil {
		return r, fmt.Errorf("%s: %w", what, r.Err)
	}
	return r, nil
}
