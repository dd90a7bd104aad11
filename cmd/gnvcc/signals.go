package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"unsafe"

	"gnvcc/policy/tuner"
)

// Signals, as users expect them of a command that runs theirs.

// ended gives a context that a signal ends, save for those that were ignored when we were started:
// nohup ignores SIGHUP, and a shell without job control SIGINT for what it runs in the background.
// Whoever listens to a signal gets it again.
func ended(ctx context.Context) (context.Context, context.CancelFunc) {
	// of none, os/signal would make all
	if list := heeded(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP); len(list) > 0 {
		return signal.NotifyContext(ctx, list...)
	}
	return context.WithCancel(ctx)
}

// heeded leaves out the signals that are ignored.
func heeded(list ...os.Signal) []os.Signal {
	return slices.DeleteFunc(list, signal.Ignored)
}

// A relay is what signals mean while a program runs under us. The program gets them and decides
// what to do, as without us; we stop tuning, so that it can, and keep what was measured. Once it
// has ended they are for us: what comes after it is left.
type relay struct {
	// tuning ends with the first signal that asks for an end; rest with one after the program's end
	tuning, rest context.Context
	pass         chan os.Signal // for the program

	mu      sync.Mutex
	over    bool           // the program has ended
	stopped syscall.Signal // the first one that asked for an end, 0: none
	left    syscall.Signal // the first one after the program's end, 0: none
	stop    func()
}

// newRelay begins to listen; Close ends it.
func newRelay() *relay {
	r := &relay{pass: make(chan os.Signal, 8)}
	tuning, stopTuning := context.WithCancel(context.Background())
	rest, stopRest := context.WithCancel(context.Background())
	r.tuning, r.rest = tuning, rest
	in, pipes := make(chan os.Signal, 8), make(chan os.Signal, 1)
	list := heeded(syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1,
		syscall.SIGUSR2)
	if len(list) > 0 {
		signal.Notify(in, list...)
	}
	// A closed stderr must not end us in the middle of the program's run: then writing to it fails,
	// and that is all. (Ignored, the signal would be ignored in the program as well.)
	if !signal.Ignored(syscall.SIGPIPE) {
		signal.Notify(pipes, syscall.SIGPIPE)
	}
	done := make(chan struct{})
	r.stop = sync.OnceFunc(func() {
		signal.Stop(in)
		signal.Stop(pipes)
		close(done)
		stopTuning()
		stopRest()
	})
	go func() {
		for {
			select {
			case s := <-in:
				r.take(s.(syscall.Signal), stopTuning, stopRest)
			case <-pipes:
			case <-done:
				return
			}
		}
	}()
	return r
}

func (r *relay) take(s syscall.Signal, stopTuning, stopRest func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	asks := s != syscall.SIGUSR1 && s != syscall.SIGUSR2
	if asks {
		if r.stopped == 0 {
			r.stopped = s
		}
		stopTuning()
	}
	if r.over {
		if asks {
			if r.left == 0 {
				r.left = s
			}
			stopRest()
		}
		return
	}
	if (s == syscall.SIGINT || s == syscall.SIGQUIT) && inForeground() {
		return // the terminal has sent it to the program, too; twice is more than the user's one key
	}
	select {
	case r.pass <- s:
	default: // eight are waiting already
	}
}

// A relay is package tuner's Signals.
var _ tuner.Signals = (*relay)(nil)

func (r *relay) Tuning() context.Context { return r.tuning }
func (r *relay) Rest() context.Context   { return r.rest }
func (r *relay) Pass() <-chan os.Signal  { return r.pass }

// ProgramEnded is called when signals are for us alone from now on.
func (r *relay) ProgramEnded() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
}

// Asked is the first signal that asked for an end, 0 if none did.
func (r *relay) Asked() syscall.Signal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped
}

// CutShort is the first signal that ended what comes after the program, 0 if none did.
func (r *relay) CutShort() syscall.Signal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.left
}

// Close lets signals do what they did before.
func (r *relay) Close() { r.stop() }

// inForeground reports whether our process group is the one that the terminal's keys go to.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	var group int32
	_, _, code := syscall.Syscall(syscall.SYS_IOCTL, tty.Fd(), syscall.TIOCGPGRP,
		uintptr(unsafe.Pointer(&group)))
	return code == 0 && int(group) == syscall.Getpgrp()
}

// dieBy ends us by a signal as it ended the program, so that a shell's loop around us ends, too.
func dieBy(s syscall.Signal) {
	signal.Reset(s)
	_ = syscall.Kill(os.Getpid(), s)
	select {} // it is on its way
}
