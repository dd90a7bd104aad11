package profile

// Running an application with the agent in it.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Options say what to run and how.
type Options struct {
	Argv  []string // the application and its arguments
	Dir   string   // working directory, "" for ours
	Env   []string // its environment; nil for ours
	Agent string   // the built agent (profile/agent.Build)
	// Scratch is a folder for the socket and for what the agent brings; "": one of its own, in the
	// system's temporary folder.
	Scratch string
	// Signals are passed on to the application while it runs.
	Signals <-chan os.Signal

	Quiet bool // it reads nothing, and what it prints is dropped

	Files []*os.File // its descriptors from 3 on, besides the usual three

	Observe bool // time some of the launches: Seen.Seconds
	// For is how long the application is looked at; then its agents are let go, Gone is called, and it
	// runs on as it would without them. 0: as long as it runs.
	For  time.Duration
	Gone func()

	Log func(format string, args ...any) // trouble with the agent, and what it notes; nil: dropped

	// Replay: the application is a replayer, a process of our own, in which sessions may be held, and
	// which is killed when we are
	Replay bool
	Limit  time.Duration // longest time for one run of the kernel in a session (default 60 s)
}

// An Exit is how the application ended.
type Exit struct {
	Code   int            // exit code; 128+n where a signal ended it
	Signal syscall.Signal // 0: none
	Killed string         // why Run ended it ("" when it ended by itself)
}

const (
	injection  = "CUDA_INJECTION64_PATH" // the driver loads the library that it names
	socketEnv  = "GNVCC_AGENT_SOCKET"    // where the agent connects to
	observeEnv = "GNVCC_AGENT_OBSERVE"   // it times launches
)

// The longest path that fits into a socket's address (sockaddr_un, Linux), with its zero.
const maxSocketPath = 108

// linger is how long processes that outlive the application itself are listened to.
const linger = 2 * time.Second

// Run runs an application with the agent in it, and returns when it has ended. Its stdin, stdout
// and stderr are ours. An error means that it could not be run as asked; whatever the agent has to
// complain about goes to the log, and the application runs on untouched. When ctx ends, the
// application gets a SIGTERM; it takes the time that it needs.
func Run(ctx context.Context, o Options, h Host) (Exit, error) {
	if len(o.Argv) == 0 {
		return Exit{}, errors.New("no program to run")
	}
	env, err := o.environment()
	if err != nil {
		return Exit{}, err
	}
	dir := o.Scratch
	if dir == "" {
		if dir, err = os.MkdirTemp("", "gnvcc-run-"); err != nil {
			return Exit{}, fmt.Errorf("making a folder for the agent's socket: %w", err)
		}
		defer os.RemoveAll(dir)
	}
	path := filepath.Join(dir, "agent")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return Exit{}, fmt.Errorf("opening a socket for the agent: %w", err)
	}
	defer listener.Close()

	if o.Limit <= 0 {
		o.Limit = time.Minute
	}
	r := &run{options: o, host: h, dir: dir, conns: map[*net.UnixConn]bool{}}
	if r.options.Log == nil {
		r.options.Log = func(string, ...any) {}
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()

	cmd := exec.CommandContext(ctx, o.Argv[0], o.Argv[1:]...)
	cmd.Dir = o.Dir
	cmd.Env = append(env, socketEnv+"="+path)
	if !o.Quiet {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	}
	cmd.ExtraFiles = o.Files
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if o.Replay {
		runtime.LockOSThread() // Pdeathsig watches the thread that starts the application
		defer runtime.UnlockOSThread()
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	}
	if err := cmd.Start(); err != nil {
		return Exit{}, fmt.Errorf("start the program: %w", err)
	}
	over := make(chan struct{})
	go relay(cmd.Process, o.Signals, over)
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		r.accept(inner, listener)
	}()

	if o.For > 0 {
		letting := time.AfterFunc(o.For, r.letGo)
		defer letting.Stop()
	}
	err = cmd.Wait()
	close(over)
	exit := exitOf(cmd.ProcessState)
	r.acceptRest(listener, accepting)
	r.wait(linger)
	cancel()
	r.drop()
	r.sessions.Wait()
	r.mu.Lock()
	exit.Killed = r.killed
	r.mu.Unlock()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) && ctx.Err() == nil {
		return exit, fmt.Errorf("wait for the program: %w", err)
	}
	return exit, nil
}

// relay sends a process the signals that come, until it is over; after its end they are dropped.
func relay(p *os.Process, signals <-chan os.Signal, over <-chan struct{}) {
	for {
		select {
		case s := <-signals:
			p.Signal(s)
		case <-over:
			return
		}
	}
}

// environment is the program's, with what loads the agent.
func (o *Options) environment() ([]string, error) {
	env := o.Env
	if env == nil {
		env = os.Environ()
	}
	for _, v := range env {
		if name, value, _ := strings.Cut(v, "="); name == injection && value != "" {
			return nil, fmt.Errorf("%s is set (%s): another tool uses it; unset it", injection, value)
		}
	}
	agent, err := filepath.Abs(o.Agent)
	if err != nil {
		return nil, fmt.Errorf("finding the agent %s: %w", o.Agent, err)
	}
	if _, err := os.Stat(agent); err != nil {
		return nil, fmt.Errorf("finding the agent: %w", err)
	}
	env = append(slices.Clip(env), injection+"="+agent)
	if o.Observe {
		env = append(env, observeEnv+"=1")
	}
	return env, nil
}

func exitOf(state *os.ProcessState) Exit {
	if s, ok := state.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return Exit{Signal: s.Signal(), Code: 128 + int(s.Signal())}
	}
	return Exit{Code: state.ExitCode()}
}

// FitsSocket reports whether a folder's path is short enough for a socket in it.
func FitsSocket(dir string) bool { return len(dir)+len("/agent") < maxSocketPath }

// run is the state of one Run.
type run struct {
	options  Options
	host     Host
	dir      string
	sessions sync.WaitGroup

	mu     sync.Mutex
	conns  map[*net.UnixConn]bool
	killed string
	gone   bool // the agents were let go
}

func (r *run) accept(ctx context.Context, l *net.UnixListener) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			// Closed: the application has ended. Or there are too many processes for our descriptors: those
			// that are still in the queue would wait for us for ever.
			if l.Close() == nil {
				r.options.Log("no further processes are looked at: %v", err)
			}
			return
		}
		if c.RemoteAddr().String() == last(l) {
			c.Close()
			return // acceptRest's: whoever came before it has been accepted
		}
		r.mu.Lock()
		gone := r.gone
		if !gone {
			r.conns[c] = true
		}
		r.mu.Unlock()
		if gone { // its agent is off when it finds no one here
			c.Close()
			continue
		}
		r.sessions.Go(func() {
			r.serve(ctx, c)
			c.Close()
			r.mu.Lock()
			delete(r.conns, c)
			r.mu.Unlock()
		})
	}
}

// acceptRest ends accepting. A program that ends at once may have connected, said all that it had
// to say, and be gone before its connection was accepted: so we get into the queue behind it.
func (r *run) acceptRest(l *net.UnixListener, accepting <-chan struct{}) {
	if c, err := net.DialUnix("unix", &net.UnixAddr{Name: last(l), Net: "unix"},
		l.Addr().(*net.UnixAddr)); err == nil {
		<-accepting
		c.Close()
	}
	l.Close()
	<-accepting
}

// last is the address (no file has it) of the last connection that is accepted.
func last(l *net.UnixListener) string { return "@" + l.Addr().String() }

// wait waits until all connections have ended, for a time: a process that the application left
// behind keeps its own.
func (r *run) wait(limit time.Duration) {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		r.mu.Lock()
		n := len(r.conns)
		r.mu.Unlock()
		if n == 0 {
			return
		}
	}
}

// drop closes the connections that are left; their agents let their processes run on untouched.
func (r *run) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		c.Close()
	}
}

// letGo ends all connections while the application runs on. Nothing is held in it then: an agent
// that asks gets no answer, and is off.
func (r *run) letGo() {
	r.mu.Lock()
	r.gone = true
	r.mu.Unlock()
	r.drop()
	r.wait(linger)
	if r.options.Gone != nil {
		r.options.Gone()
	}
}

func (r *run) isGone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.gone
}

// kill ends a process, for a reason that the caller of Run learns.
func (r *run) kill(pid int, why string) {
	r.mu.Lock()
	if r.killed == "" {
		r.killed = why
	}
	r.mu.Unlock()
	if pid > 1 {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// peer gives the process at the other end, and refuses anybody else's.
func peer(c *net.UnixConn) (pid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *syscall.Ucred
	if e := raw.Control(func(fd uintptr) {
		cred, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); e != nil {
		return 0, e
	}
	if err != nil {
		return 0, err
	}
	if int(cred.Uid) != os.Getuid() {
		return 0, fmt.Errorf("user %d connected to the agent's socket", cred.Uid)
	}
	return int(cred.Pid), nil
}
