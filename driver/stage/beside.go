package stage

import (
	"sync"

	"gnvcc/driver/child"
)

// Work while the tool runs. No build waits for gnvcc as long as the tool is at work: whatever does not
// depend on what it writes is done meanwhile, and little is left for the end.

// beside does some work in a goroutine; wait gives its error, as often as it is asked. A panic is
// an error, too: out of reach of who called guarded it would end the build.
func (s *stage) beside(work func() error) (wait func() error) {
	done := make(chan error, 1)
	go func() { done <- s.guarded(work) }()
	return sync.OnceValue(func() error { return <-done })
}

// An atWork is the user's own step while it runs.
type atWork struct {
	heard *child.Tee // what it has said
	wait  func() (child.Ending, error)
}

// begin starts the user's own step. Who begins it must wait for it: two of them would write one
// file.
func (s *stage) begin() *atWork {
	w := &atWork{heard: child.NewTee()}
	to := w.heard
	if child.Unread() {
		to, w.heard.Whole = nil, false
	}
	var end child.Ending
	done := s.beside(func() (err error) {
		end, err = s.run(to)
		return err
	})
	w.wait = func() (child.Ending, error) {
		err := done()
		return end, err
	}
	return w
}
