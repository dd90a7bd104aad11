package harm

import (
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

// How long a program may take compared with nvcc's build: so many times as long, and so much
// more. What is added is for the agent's loading of CUPTI, and for the other programs that run on
// the same GPU meanwhile; the harm that is looked for were half minutes in place of milliseconds.
const (
	tunedFactor, tunedMore     = 2.0, 3 * time.Second
	rebuiltFactor, rebuiltMore = 1.5, 2 * time.Second
)

// An Ended is how a program ended.
type Ended struct {
	// "exit 3", or why it has no exit status: the number as a shell gives it, 128 and the signal's
	// where one ended it
	End            string
	Stdout, Stderr string
	Seconds        float64
}

// run runs a command in its folder, in a process group of its own, with some lines of input.
// Outputs are files, not pipes: a process that it leaves behind holds nothing up.
func run(ctx context.Context, dir string, limit time.Duration, env []string, argv ...string) Ended {
	out, err1 := os.CreateTemp(dir, "stdout")
	text, err2 := os.CreateTemp(dir, "stderr")
	in := filepath.Join(dir, "input")
	if err := errors.Join(err1, err2, os.WriteFile(in, []byte(input()), 0o600)); err != nil {
		return Ended{End: err.Error()}
	}
	defer out.Close()
	defer text.Close()
	stdin, err := os.Open(in)
	if err != nil {
		return Ended{End: err.Error()}
	}
	defer stdin.Close()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, out, text
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	begun := time.Now()
	err = cmd.Run()
	r := Ended{End: "exit 0", Seconds: time.Since(begun).Seconds()}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		r.End = fmt.Sprintf("not done after %v", limit)
	case errors.As(err, &exit):
		r.End = fmt.Sprintf("exit %d", status(exit))
	case err != nil:
		r.End = err.Error()
	}
	a, err1 := os.ReadFile(out.Name())
	b, err2 := os.ReadFile(text.Name())
	if err := errors.Join(err1, err2); err != nil {
		r.End = err.Error()
	}
	r.Stdout, r.Stderr = string(a), own(string(b))
	return r
}

// status is an exit status as a shell gives it.
func status(e *exec.ExitError) int {
	if w, ok := e.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return e.ExitCode()
}

// input is what programs are given to read.
func input() string {
	var b strings.Builder
	for i := range 20 {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}

// own is what of a standard error is not gnvcc's: gnvcc tune, which writes there too, begins its
// lines with its name.
func own(text string) string {
	var b strings.Builder
	for _, line := range strings.SplitAfter(text, "\n") {
		if !strings.HasPrefix(line, "gnvcc: ") && !strings.HasPrefix(line, "gnvcc tune: ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// differs says how a run is another one than it should be, "" if it is not.
func (r Ended) differs(want Ended) string {
	switch {
	case r.End != want.End:
		return fmt.Sprintf("ends with %s, not %s", r.End, want.End)
	case r.Stdout != want.Stdout:
		return "prints other lines: " + firstOther(r.Stdout, want.Stdout)
	case r.Stderr != want.Stderr:
		return "prints other errors: " + firstOther(r.Stderr, want.Stderr)
	}
	return ""
}

// slow says that a run took too long, "" if it did not.
func slow(took, alone, factor float64, more time.Duration) string {
	if most := factor*alone + more.Seconds(); took > most {
		return fmt.Sprintf("takes %.1f s, more than %.1f s (%.1f s by itself)", took, most, alone)
	}
	return ""
}

// firstOther is the first line in which two outputs differ.
func firstOther(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := 0; i < max(len(a), len(b)); i++ {
		x, y := "(nothing)", "(nothing)"
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			return fmt.Sprintf("%.80q, not %.80q", x, y)
		}
	}
	return ""
}
