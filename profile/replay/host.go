package replay

import (
	"cmp"
	"context"
	"os"
	"sync/atomic"

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
	enough   string // a file that tells the replayer to begin no other variation
	heap     bool
	running  func()
	say      func(string, ...any)

	n       int         // launches of the kernel so far
	own     float64     // Outcome's
	varying atomic.Bool // nothing but variations is left
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

func (w *host) Start(*profile.Process)                {}
func (w *host) End(*profile.Process, profile.Summary) {}

// Launch is asked at each launch of the process.
func (w *host) Launch(l *profile.Launch) profile.Verdict {
	<-w.ready
	if l.Kernel != w.m.Kernel || l.Cubin != w.m.Cubin {
		return profile.Verdict{}
	}
	if w.n++; !w.heap {
		l.LeaveAlone = cmp.Or(l.LeaveAlone, l.Allocates)
	}
	switch {
	case w.n == 1:
		if w.running != nil {
			w.running()
		}
		return profile.Verdict{Again: 1}
	case w.n > 1+w.launches:
		return profile.Verdict{Tune: w.visit.Vary != nil, Long: varied, Again: 1}
	case l.LeaveAlone != "":
		return w.LeftAlone(l, l.LeaveAlone)
	}
	return profile.Verdict{Tune: true, Again: 1}
}

// Tune holds the session.
func (w *host) Tune(ctx context.Context, l *profile.Launch,
	s profile.Session) profile.Verdict {
	if i := w.n - 2 - w.launches; i < 0 {
		w.apply(l)
		w.searched(w.visit.Search(ctx, l, w.timed(l, s)))
	} else if i < len(w.visit.Variations) {
		w.m.Use.Apply(l)
		if !w.visit.Vary(ctx, w.visit.Variations[i], l, s) {
			w.stop()
		}
	}
	return profile.Verdict{Again: 1}
}

// LeftAlone is told why a launch can't be repeated.
func (w *host) LeftAlone(l *profile.Launch, reason string) profile.Verdict {
	if w.n == 1+w.launches {
		w.apply(l)
		w.visit.Alone(l, reason)
		w.searched(false)
	}
	return profile.Verdict{Again: 1}
}

// apply enters what is known of the captured launch.
func (w *host) apply(l *profile.Launch) {
	w.m.Use.Apply(l)
	l.Part, l.Capture = w.m.Part, w.m.ID
}

// searched ends the search; what follows is varied.
func (w *host) searched(vary bool) {
	if w.varying.Store(true); !vary {
		w.stop()
	}
}

// stop keeps the replayer from another variation. If that fails it costs time only.
func (w *host) stop() { _ = os.WriteFile(w.enough, nil, 0o600) }
