package compile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"gnvcc/cache"
	"gnvcc/driver/job"
)

// Runs of cicc, ptxas and the other tools: quietly, bounded in time, and kept where that pays.

// Limit bounds one compile by recipe in a build. The slowest that we know (CUTLASS) take ptxas some
// minutes; a recipe that takes longer is not worth the wait.
const Limit = 15 * time.Minute

var errLimit = errors.New("it took too long")

// limitOutput is how much of a quiet tool's output is kept, bytes: its first words say what is
// wrong.
const limitOutput = 1 << 20

// tool runs a program in dir and gives what it printed. An error is the program's own failure, with
// the first lines of that.
func (b *Workbench) tool(ctx context.Context, dir string, env []string,
	argv ...string) (string, error) {
	name := filepath.Base(argv[0])
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	if b.Folder != "" {
		// cicc keeps bitcode there, and leaves it where it is killed as the time is over.
		cmd.Env = append(slices.Clip(env), "TMPDIR="+b.Folder)
	}
	out := &head{limit: limitOutput}
	cmd.Stdout, cmd.Stderr = out, out
	// A tool may be a script with children of its own: all of them end when the time is over.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second // for output that a grandchild holds open
	begun := time.Now()
	end, err := b.Start(cmd)
	took := time.Since(begun)
	b.Log.Debug().Strs("argv", argv).Int("code", end.Code).Dur("took",
		took).Err(err).Msg("compile by recipe")
	if b.after != nil {
		var cpu time.Duration
		if cmd.ProcessState != nil {
			cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		}
		b.after(name, took, cpu)
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		if errors.Is(ctxErr, context.DeadlineExceeded) {
			return "", fmt.Errorf("%s: %w", name, errLimit)
		}
		return "", ctxErr
	}
	if err != nil {
		return "", fmt.Errorf("run %s: %w", argv[0], err)
	}
	text := out.String()
	if !end.OK() {
		how := fmt.Sprintf("exit code %d", end.Code)
		if end.Signal != 0 {
			how = "signal " + end.Signal.String()
		}
		return text, &toolError{name, how, strings.TrimSpace(text), end.Signal}
	}
	return text, nil
}

// A toolError is a tool that refused what it was given.
type toolError struct {
	tool, how, text string
	signal          syscall.Signal
}

// ended reports whether somebody else has ended the tool: the user, or a system without memory.
func (e *toolError) ended() bool {
	switch e.signal {
	case syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP:
		return true
	}
	return false
}

func (e *toolError) Error() string {
	line, _, _ := strings.Cut(e.text, "\n")
	if line == "" {
		return e.tool + ": " + e.how
	}
	return e.tool + ": " + line
}

// head keeps the first bytes of what is written to it.
type head struct {
	text  strings.Builder
	limit int
}

func (h *head) Write(p []byte) (int, error) {
	if room := h.limit - h.text.Len(); room > 0 {
		h.text.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (h *head) String() string { return h.text.String() }

// transient reports whether an error is about this machine at this moment (a full disk, a store that
// was trimmed, no time, a tool that somebody killed), not about the recipe: then it is not
// remembered.
func transient(err error) bool {
	var path *os.PathError
	var errno syscall.Errno
	var store *cache.Error
	var tool *toolError
	if errors.As(err, &tool) && tool.ended() || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	return errors.As(err, &path) || errors.As(err, &errno) || errors.As(err, &store) ||
		errors.Is(err, cache.ErrNone) || errors.Is(err, errLimit) || errors.Is(err, errNoSource)
}

// keptCode is the memo of what ptxas made of a text.
type keptCode struct{ Cubin, Messages string }

const memoCode cache.Memos[keptOf[keptCode]] = "code"

// assemble runs ptxas on a text, with a job's options and some more. For the tuner it is kept.
func (b *Workbench) assemble(ctx context.Context, j *job.Job, text []byte,
	more []string) (content []byte, messages string, err error) {
	if b.mode != forOne {
		return b.ptxas(ctx, j, text, more)
	}
	id, err := b.Store.FileKey(j.Tool)
	if err != nil {
		return nil, "", fmt.Errorf("look at ptxas: %w", err)
	}
	key := cache.HashOf("code 2", string(text), id, strings.Join(j.Call.Template(), "\x00"),
		strings.Join(more, "\x00"))
	kept, err := recall(ctx, b.Store, b.flights, memoCode, key, func(k keptCode) bool {
		content, err = b.Store.Object(k.Cubin)
		return err == nil
	}, func() (k keptCode, err error) {
		if content, k.Messages, err = b.ptxas(ctx, j, text, more); err == nil {
			k.Cubin, _ = b.Store.PutObject(content) // made again if it can't be kept
		}
		return k, err
	})
	return content, kept.Messages, err
}

// ptxas runs it on a text, with a job's options and some more.
func (b *Workbench) ptxas(ctx context.Context, j *job.Job, text []byte, more []string) (
	content []byte, messages string, err error) {
	b.keep("rewritten.ptx", text)
	file := filepath.Join(b.Folder, fmt.Sprint(b.count.Add(1)))
	in, out := file+"-in.ptx", file+"-out.cubin"
	if err := os.WriteFile(in, text, 0o600); err != nil {
		return nil, "", fmt.Errorf("write PTX: %w", err)
	}
	defer os.Remove(in)
	defer os.Remove(out)
	argv := slices.Concat([]string{j.Tool}, j.Call.With(in, out), more)
	if messages, err = b.tool(ctx, "", b.Env.Tool(), argv...); err != nil {
		return nil, messages, err
	}
	if content, err = os.ReadFile(out); err != nil {
		return nil, "", fmt.Errorf("read what ptxas gave: %w", err)
	}
	b.keep("rewritten.cubin", content)
	return content, messages, nil
}

func (b *Workbench) keep(name string, content []byte) {
	if b.Kept != nil {
		b.Kept(name, content)
	}
}
