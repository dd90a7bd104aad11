package replay

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"gnvcc/profile"
	"gnvcc/profile/capture"
)

// A host decides about the launches of a replayer's process: the captured kernel's second launch is
// searched (the first is the replayer's own check), those after it are varied.
type host struct {
	ready chan struct{} // closed when what follows is set: a process may start before that

	visit    Visit
	m        *capture.Manifest
	launches int    // to be searched, 0 or 1
	enough   string // a file that has the replayer begin no other variation
	running  func()
	say      func(string, ...any)

	unsteady string      // Outcome's
	n        int         // launches of the kernel so far
	own      float64     // Outcome's
	varying  atomic.Bool // nothing but variations is left
}

func newHost() *host { return &host{ready: make(chan struct{})} }

// log reports trouble.
func (w *host) log(format string, args ...any) {
	if w.say != nil {
		w.say(format, args...)
	}
}

// trouble reports the agent's. What goes wrong with varied data is expected, and what a process
// says that has no task yet the next one says, too.
func (w *host) trouble(format string, args ...any) {
	select {
	case <-w.ready:
		if !w.varying.Load() {
			w.log(format, args...)
		}
	default:
	}
}

// checked reports whether the replayer's check is over, and takes down what it found; before, the
// launch is done once more for it.
func (w *host) checked() bool {
	status := strings.TrimSuffix(w.enough, ".enough")
	if _, err := os.Stat(status); err != nil {
		return true
	}
	out := read(status, time.Now())
	w.unsteady = out.Unsteady
	return out.Stands()
}

// launch is called at each launch of the process.
func (w *host) launch(ctx context.Context, l *profile.Launch, h profile.Held) (again int) {
	<-w.ready
	if l.Kernel != w.m.Kernel || l.Cubin != w.m.Cubin {
		return 0
	}
	if w.n == 1 && !w.checked() {
		return 1
	}
	w.m.Use.Apply(l)
	l.Unsteady = w.unsteady
	l.Part, l.Capture, l.Took = w.m.Part, w.m.ID, w.m.Took
	more := true // is to follow
	switch variation := w.n - 1 - w.launches; {
	case w.n == 0: // the replayer's own check
		if w.running != nil {
			w.running()
		}
	case variation < 0:
		more = false
		if err := h.Session(0, func(s profile.Session) {
			more = w.visit.Search(ctx, l, w.timed(l, s))
		}); err != nil && !errors.Is(err, profile.ErrGone) {
			w.visit.Alone(l, err.Error())
		}
		w.varying.Store(true)
	case variation < len(w.visit.Variations):
		_ = h.Session(varied, func(s profile.Session) { // without one it is not checked
			more = w.visit.Vary(ctx, w.visit.Variations[variation], l, s)
		})
	}
	if w.n++; !more { // if this fails it costs time only
		_ = os.WriteFile(w.enough, nil, 0o600)
	}
	return 1
}
