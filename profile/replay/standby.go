package replay

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gnvcc/profile"
)

// A Standby is a replayer's process that has the driver running and a context, and waits to be told
// what to replay: that start takes a third of a second, more than many a search. It is used once.
// Whatever goes wrong with it, the replay is done by a process that is started then.
type Standby struct {
	dir    string
	gate   *os.File // its arguments go here; closed without any, it ends
	host   *host
	cancel context.CancelFunc
	ended  chan struct{}
	exit   profile.Exit // when it has ended
}

// Prepare starts one, for the GPU of a UUID (32 hexadecimal digits). It uses that GPU's memory: no
// program that could need it may run. nil: it can't be.
func Prepare(ctx context.Context, o Options, uuid string) *Standby {
	dir, err := os.MkdirTemp(o.Scratch, "gnvcc-replay-")
	if err != nil {
		return nil
	}
	theirs, gate, err := os.Pipe()
	if err != nil {
		os.RemoveAll(dir)
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &Standby{dir: dir, gate: gate, host: newHost(), cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		defer theirs.Close()
		p := o.process(dir, "--wait", "3", s.status(), uuid)
		p.Files, p.Log = []*os.File{theirs}, s.host.trouble
		s.exit, _ = profile.Run(ctx, p, profile.Host{Launch: s.host.launch}) // without a word in the status it was never there
	}()
	return s
}

func (s *Standby) status() string { return filepath.Join(s.dir, "status") }

// play gives the process its task, and waits for its end. False: it came to no launch, for a reason
// of its own.
func (s *Standby) play(set func(w *host, enough string), file string, args []string,
	begun time.Time) (Outcome, bool) {
	defer s.Close()
	select {
	case <-s.ended:
		return Outcome{}, false
	default:
	}
	set(s.host, s.status()+".enough")
	var text bytes.Buffer
	for _, a := range append([]string{file}, args...) {
		fmt.Fprintf(&text, "%s\x00", a)
	}
	if _, err := s.gate.Write(text.Bytes()); err != nil {
		return Outcome{}, false
	}
	s.gate.Close()
	<-s.ended
	out := read(s.status(), begun)
	out.Own = s.host.own
	_, ok := out.Spent["read"]
	return out.ended(s.exit), ok
}

// Close ends the process, if it still runs, and waits until it is gone.
func (s *Standby) Close() {
	if s == nil {
		return
	}
	s.gate.Close()
	s.cancel()
	<-s.ended
	os.RemoveAll(s.dir)
}
