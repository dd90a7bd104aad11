package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A captured launch under NVIDIA's compute-sanitizer. No other tool may be in its process, so that
// the agent is not: the launch is done once, and what it leaves is compared with nothing.

// sanitizing is how long one run may take: racecheck slows kernels down by a thousand at times.
const sanitizing = 5 * time.Minute

// longestReport is what is read of a report, in bytes: it ends by itself after 100 errors.
const longestReport = 4 << 20

// A beginning keeps the first 64 KiB of what is written.
type beginning struct{ text []byte }

func (b *beginning) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(len(p), 1<<16-len(b.text))]...)
	return len(p), nil
}

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
		cmd, said := exec.CommandContext(ctx, program, argv...), &beginning{}
		cmd.Stdout, cmd.Stderr = said, said
		// Where it is killed it leaves a folder there.
		cmd.Env = append(append(os.Environ(), "TMPDIR="+dir), env...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the launch is a process below it
		kill := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		cmd.Cancel, cmd.WaitDelay = kill, time.Second
		if cmd.Run(); cmd.Process != nil { // what it wrote says how it ended
			kill() // it may have died before the launch did
		}
		return said.text
	}
	log, status := filepath.Join(dir, "log"), filepath.Join(dir, "status")
	words := []string{"--tool", tool, "--log-file", strings.ReplaceAll(log, "%", "%%"),
		"--show-backtrace", "no"}
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
	var text []byte
	f, err := os.Open(log)
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(f, longestReport))
		f.Close()
	}
	out := read(status, begun)
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("it did not end within %s", time.Since(begun).Round(time.Second))
	case out.Whole:
		err = nil
	case out.Reason != "":
		err = errors.New(out.Reason)
	case err != nil && len(bytes.TrimSpace(said)) > 0: // it did not like the command line, say
		line, _, _ := bytes.Cut(bytes.TrimSpace(said), []byte("\n"))
		err = fmt.Errorf("it wrote no report: %s", line)
	default:
		err = errors.New("the launch was not done")
	}
	return string(text), err
}
