package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// A captured launch under NVIDIA's compute-sanitizer. No other tool may be in its process, so that
// the agent is not: the launch is done once, and what it leaves is compared with nothing.

// sanitizing is how long one run may take: racecheck slows kernels down by a thousand at times.
const sanitizing = 5 * time.Minute

// Sanitize does a launch under one of its tools (memcheck, initcheck, racecheck, synccheck), and
// gives what that wrote. An error: the launch was not done, or not to its end; what was written by
// then is given, too, since a launch that faults does not come to its end.
func Sanitize(ctx context.Context, o Options, u *Unpacked, program, tool string) (string, error) {
	dir, err := os.MkdirTemp(o.Scratch, "gnvcc-replay-")
	if err != nil {
		return "", fmt.Errorf("making a folder for a replay: %w", err)
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, sanitizing)
	defer cancel()
	run := func(env []string, argv ...string) []byte {
		cmd := exec.CommandContext(ctx, program, argv...)
		cmd.Env = append(os.Environ(), env...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the launch is a process below it
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		cmd.WaitDelay = time.Second
		said, _ := cmd.CombinedOutput() // what it wrote says how it ended
		return said
	}
	log, status := filepath.Join(dir, "log"), filepath.Join(dir, "status")
	words := []string{"--tool", tool, "--log-file", log, "--print-level", "error",
		"--print-limit", "8", "--show-backtrace", "no"}
	switch tool {
	case "memcheck":
		words = append(words, "--report-api-errors", "no") // they are the replayer's
	case "initcheck": // shared memory, too, where it can be asked for
		if bytes.Contains(run(nil, "--help"), []byte("--initcheck-address-space")) {
			words = append(words, "--initcheck-address-space", "all")
		}
	}
	begun := time.Now()
	said := run([]string{"GNVCC_REPLAY_SANITIZED=1"},
		append(words, o.Program, u.file(), status)...)
	text, err := os.ReadFile(log)
	if err != nil {
		text = said
	}
	out := read(status, begun)
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("it did not end within %s", time.Since(begun).Round(time.Second))
	case out.Whole:
		err = nil
	case out.Reason != "":
		err = errors.New(out.Reason)
	default:
		err = errors.New("the launch was not done")
	}
	return string(text), err
}
