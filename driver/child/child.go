package child

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"gnvcc/driver/scratch"
)

// Running a tool as a child, so that a caller sees no difference from the tool run in our place: the same
// files, the same signals, the same death.

// An Ending is how a process ended.
type Ending struct {
	Code   int
	Signal syscall.Signal // 0: by itself
}

func (e Ending) OK() bool { return e.Code == 0 && e.Signal == 0 }

// caught are the signals that end a build from outside.
var caught = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// A Watch hands signals on to the child that runs, and takes care that nothing of ours stays
// behind. There is one in a process that is a stage.
//
// A signal from the terminal goes to all of the process group; the tool gets it twice then, which no
// tool of the toolkit minds. A signal to us alone has to reach it, as it would if we had become the
// tool.
type Watch struct {
	mu      sync.Mutex
	child   *os.Process
	own     bool            // the child is ours alone: the user's build does not wait for its result
	scratch *scratch.Folder // to be removed at the end, nil if there is none
	signals chan os.Signal
}

func NewWatch() *Watch {
	w := &Watch{signals: make(chan os.Signal, 8)}
	for _, s := range caught {
		if !signal.Ignored(s) { // what was ignored when we started stays ignored, for the child too
			signal.Notify(w.signals, s)
		}
	}
	go func() {
		for s := range w.signals {
			w.take(s.(syscall.Signal))
		}
	}()
	return w
}

func (w *Watch) take(s syscall.Signal) {
	w.mu.Lock()
	if w.child != nil && !w.own {
		w.child.Signal(s)
		w.mu.Unlock()
		return // the child's end will be ours
	}
	// The lock stays: nothing else is to be started.
	if w.child != nil {
		w.child.Kill()
	}
	w.clean()
	dieBy(s)
}

// Folder makes the scratch folder.
func (w *Watch) Folder() (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.scratch != nil {
		return w.scratch.Path, nil
	}
	s, err := scratch.New()
	if err != nil {
		return "", err
	}
	w.scratch = s
	return s.Path, nil
}

// clean removes the scratch folder. The caller has the lock, or is the only one left.
func (w *Watch) clean() {
	w.scratch.Remove()
	w.scratch = nil
}

// Run starts a program and waits for it. own says that its result is ours alone. The error is about
// starting it.
func (w *Watch) Run(cmd *exec.Cmd, own bool) (Ending, error) {
	// The child is not to outlive us: when we are killed, so is the tool, as if we had become it.
	// Linux watches the thread that made the child; Go ends no thread, but for one that a goroutine has
	// locked, and locking would cost a thread more.
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	w.mu.Lock()
	err := cmd.Start()
	if err == nil {
		w.child, w.own = cmd.Process, own
		running.Store(int32(cmd.Process.Pid))
	}
	w.mu.Unlock()
	if err != nil {
		return Ending{}, err
	}
	err = cmd.Wait()
	w.mu.Lock()
	w.child = nil
	running.Store(0)
	w.mu.Unlock()
	return endOf(cmd, err)
}

func endOf(cmd *exec.Cmd, err error) (Ending, error) {
	if cmd.ProcessState == nil {
		return Ending{}, err
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && cmd.ProcessState.Success() {
		return Ending{}, err // its output could not be passed on
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return Ending{Code: 128 + int(status.Signal()), Signal: status.Signal()}, nil
	}
	return Ending{Code: cmd.ProcessState.ExitCode()}, nil
}

// Leave ends this process as the tool ended. It returns the exit code where that is all there is to
// it.
func (w *Watch) Leave(e Ending) int {
	w.mu.Lock()
	w.clean()
	w.mu.Unlock()
	if e.Signal != 0 {
		dieBy(e.Signal)
	}
	return e.Code
}

// dieBy ends this process by a signal. Go's runtime answers some signals with a report of its own,
// so a shell in our place (same process, same parent) does it. It is the shell that nvcc has
// started us with.
func dieBy(s syscall.Signal) {
	signal.Reset()
	syscall.Exec("/bin/sh", []string{"sh", "-c", "kill -" + strconv.Itoa(int(s)) + " $$"},
		os.Environ())
	os.Exit(128 + int(s)) // no shell, or a signal that is ignored
}

// A Message is a piece of what a tool printed.
type Message struct {
	Error bool // to stderr
	Text  string
}

// maxMessages bounds what is kept of a tool's messages, bytes.
const maxMessages = 1 << 20

// A Tee passes a tool's output on as it comes and keeps it.
type Tee struct {
	mu       sync.Mutex
	Messages []Message
	size     int
	Whole    bool // nothing had to be left out
}

func NewTee() *Tee { return &Tee{Whole: true} }

type teeEnd struct {
	t     *Tee
	to    *os.File
	error bool
}

func (e *teeEnd) Write(b []byte) (int, error) {
	e.t.mu.Lock()
	if e.t.size += len(b); e.t.size > maxMessages {
		e.t.Whole = false
	} else if n := len(e.t.Messages); n > 0 && e.t.Messages[n-1].Error == e.error {
		e.t.Messages[n-1].Text += string(b)
	} else {
		e.t.Messages = append(e.t.Messages, Message{e.error, string(b)})
	}
	e.t.mu.Unlock()
	// On a broken pipe Go lets SIGPIPE end us, as it would have ended the tool. Any other failure
	// (a full disk, a closed file) is one that the tools of the toolkit pay no attention to; given
	// it, os/exec would close the tool's pipe, and end it by SIGPIPE.
	_, _ = e.to.Write(b)
	return len(b), nil
}

// Outputs gives the two ends for a command. Where stdout and stderr are one file they stay one, so
// that lines keep their order.
func (t *Tee) Outputs() (stdout, stderr io.Writer) {
	errors := &teeEnd{t, os.Stderr, true}
	a, err1 := os.Stdout.Stat()
	b, err2 := os.Stderr.Stat()
	if err1 == nil && err2 == nil && os.SameFile(a, b) {
		return errors, errors // os/exec makes one pipe of equal writers
	}
	return &teeEnd{t, os.Stdout, false}, errors
}

// Unread reports whether stdout or stderr is a pipe that its reader has closed: a tool that writes
// there itself is ended by that (ptxas 12.4 before it has written its output), and one whose
// messages we take would not be.
func Unread() bool {
	files := []unix.PollFd{{Fd: 1, Events: unix.POLLOUT}, {Fd: 2, Events: unix.POLLOUT}}
	n, err := unix.Poll(files, 0)
	return err == nil && n > 0 && (files[0].Revents|files[1].Revents)&unix.POLLERR != 0
}

// Replay prints what was kept.
func Replay(messages []Message) {
	for _, m := range messages {
		to := os.Stdout
		if m.Error {
			to = os.Stderr
		}
		io.WriteString(to, m.Text)
	}
}

// Run runs a child that ends with us.
func Run(cmd *exec.Cmd) (Ending, error) { return new(Watch).Run(cmd, true) }
