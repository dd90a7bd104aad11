package replay

import (
	"context"

	"gnvcc/profile"
)

// A replay as something that its caller goes through, stop by stop: a search is then a function that
// is called with a session, and not one that is called back.

// A Stop is a point at which the captured launch stands still in the replaying process.
type Stop struct {
	profile.Session                 // nil where the launch can't be repeated
	Context         context.Context // ends with the process
	Launch          *profile.Launch
	Variation       int    // of the data; 0: as captured
	Alone           string // why it can't be repeated
}

// An Opened replay is gone through with Next, up to Close.
type Opened struct {
	stops  chan *Stop
	onward chan bool
	at     bool // at a stop
	over   chan struct{}
	out    Outcome
	err    error
}

// Open begins a replay. play is Run, or what stands for it, with all but the visit; the launch stops as
// captured, where that is asked for, and then with each variation of its data.
func Open(play func(Visit) (Outcome, error), captured bool, variations []int) *Opened {
	o := &Opened{stops: make(chan *Stop), onward: make(chan bool), over: make(chan struct{})}
	stop := func(s *Stop) (more bool) {
		o.stops <- s
		return <-o.onward
	}
	v := Visit{Variations: variations,
		Vary: func(ctx context.Context, n int, l *profile.Launch, s profile.Session) bool {
			return stop(&Stop{Session: s, Context: ctx, Launch: l, Variation: n})
		},
		Alone: func(l *profile.Launch, reason string) { stop(&Stop{Launch: l, Alone: reason}) }}
	if captured {
		v.Search = func(ctx context.Context, l *profile.Launch, s profile.Session) bool {
			return stop(&Stop{Session: s, Context: ctx, Launch: l})
		}
	}
	go func() {
		defer close(o.over)
		o.out, o.err = play(v)
	}()
	return o
}

// Next goes on to the next stop; nil: there is none.
func (o *Opened) Next() *Stop {
	if o.at {
		o.onward <- true
	}
	select {
	case s := <-o.stops:
		o.at = true
		return s
	case <-o.over:
		o.at = false
		return nil
	}
}

// Close wants no more stops, and gives how far the replay came.
func (o *Opened) Close() (Outcome, error) {
	if o.at {
		o.at = false
		o.onward <- false
	}
	for {
		select {
		case <-o.stops:
			o.onward <- false
		case <-o.over:
			return o.out, o.err
		}
	}
}
