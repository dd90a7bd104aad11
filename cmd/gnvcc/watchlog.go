package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/rs/zerolog"

	"gnvcc/policy"
	"gnvcc/policy/edits"
	"gnvcc/policy/watch"
)

// What gnvcc watch writes down, and how it learns of builds.

// A watchLog is the log file, one JSON object a line, and lines for people.
type watchLog struct {
	log    zerolog.Logger
	mu     sync.Mutex
	people io.Writer
}

// maxLog is how large the log may be when a watch begins, bytes; then it is put aside, in place of
// the one before.
const maxLog = 1 << 20

func (p watchPlace) logger(quiet bool) *watchLog {
	l := &watchLog{log: zerolog.Nop(), people: os.Stderr}
	if quiet {
		l.people = io.Discard
	}
	path := p.file("log")
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		_ = os.Rename(path, path+".1")
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(l.people, "gnvcc watch: there is no log:", err)
		return l
	}
	zerolog.ErrorHandler = func(error) {} // a full disk
	l.log = zerolog.New(f).With().Timestamp().Int("pid", os.Getpid()).Logger()
	return l
}

func (l *watchLog) debug(text string) { l.log.Debug().Msg(text) }

// event writes one down.
func (l *watchLog) event(e watch.Event) {
	line := l.log.Info()
	if e.Err != nil {
		line = l.log.Warn().Err(e.Err)
	}
	if e.Kernel != "" {
		line = line.Str("kernel", e.Kernel)
	}
	if e.Command != "" {
		line = line.Str("command", e.Command)
	}
	if e.Took > 0 {
		line = line.Dur("took", e.Took)
	}
	line.Int("files", e.Files).Int("commands", e.Commands).Int("candidates", e.Candidates).Str("text",
		e.Text).Msg(e.What)
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.people, "gnvcc watch: %s %s\n", time.Now().Format(time.TimeOnly), sentence(e))
}

// sentence is an event for people.
func sentence(e watch.Event) string {
	name := policy.ShortName(e.Kernel)
	switch e.What {
	case "watching":
		switch {
		case e.Commands == 0:
			return "no builds known here: build with gnvcc in nvcc's place, then gnvcc tune -- ./app; what is built is watched from then on"
		case e.Candidates == 0:
			return fmt.Sprintf(
				"watching %d files; no launches captured yet: gnvcc tune -- ./app captures some", e.Files)
		}
		return fmt.Sprintf("watching %d files, %d launches of their kernels are captured", e.Files,
			e.Candidates)
	case "edited":
		if e.Files == 1 {
			return fmt.Sprintf("%s was edited; compile commands that read it: %d", e.Text, e.Commands)
		}
		return fmt.Sprintf("%d files were edited (%s, ...); compile commands that read them: %d", e.Files,
			e.Text, e.Commands)
	case "known":
		return e.Command + ": as it was before"
	case "tried":
		return fmt.Sprintf("%s: run again (%.1f s)", e.Command, e.Took.Seconds())
	case "tuned":
		if e.Err != nil {
			return fmt.Sprintf("%s: %v", name, e.Err)
		}
		return fmt.Sprintf("%s: %s (%d candidates, %.1f s)", name, e.Text, e.Candidates, e.Took.Seconds())
	case "waits":
		return fmt.Sprintf("%s waits: %s", name, e.Text)
	case "foretold":
		return fmt.Sprintf("%s: %s", name, e.Text)
	case "paused":
		return "resting: " + e.Text
	case "run":
		if e.Err != nil {
			return fmt.Sprintf("the program was run for %s: %v", e.Text, e.Err)
		}
		return fmt.Sprintf("the program was run for %s (%.1f s)", e.Text, e.Took.Seconds())
	}
	if e.Err != nil {
		return fmt.Sprintf("%s%s: %v", e.Command, e.Text, e.Err)
	}
	return e.What + ": " + e.Command + e.Text
}

// noteEvery is how often folders are looked at that inotify does not tell of.
const noteEvery = 10 * time.Second

// noteChanges tells when something is written into one of the store's folders: what builds and runs
// leave there, whole. Into the folder theirs others write, and a file may grow there.
func noteChanges(ctx context.Context, polls bool, theirs string, dirs ...string) <-chan struct{} {
	dirs = append(dirs, theirs)
	out := make(chan struct{}, 1)
	tell := func() {
		select {
		case out <- struct{}{}:
		default:
		}
	}
	for _, dir := range dirs {
		_ = os.MkdirAll(dir, 0o700) // as the store makes them
	}
	n, err := fsnotify.NewWatcher()
	for _, dir := range dirs {
		if err == nil {
			err = n.Add(dir)
		}
	}
	if err == nil && !polls {
		go func() {
			defer n.Close()
			for {
				select {
				case <-ctx.Done():
					return
				case e := <-n.Events:
					if e.Has(fsnotify.Create) || // what is merged goes away: that is our own doing
						e.Has(fsnotify.Write) && filepath.Dir(e.Name) == theirs {
						tell()
					}
				case <-n.Errors:
					tell()
				}
			}
		}()
		return out
	}
	if n != nil {
		n.Close()
	}
	go func() {
		stamp := func() (s string) {
			for _, dir := range dirs {
				if info, err := os.Stat(dir); err == nil {
					s += info.ModTime().String()
				}
			}
			files, _ := os.ReadDir(theirs)
			for _, f := range files {
				if info, err := f.Info(); err == nil {
					s += fmt.Sprint(info.Size(), info.ModTime())
				}
			}
			return s
		}
		for last := stamp(); ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(noteEvery):
			}
			if now := stamp(); now != last {
				last = now
				tell()
			}
		}
	}()
	return out
}

// A teller writes the status file, the newest status alone.
type teller struct {
	place watchPlace
	files *edits.Watcher
	mu    sync.Mutex
	next  *watch.Status
	last  time.Time
	poke  chan struct{}
	done  chan struct{}
}

// tellEvery is how often the status file is written at most.
const tellEvery = 100 * time.Millisecond

func newTeller(p watchPlace, files *edits.Watcher) *teller {
	t := &teller{place: p, files: files, poke: make(chan struct{}, 1), done: make(chan struct{})}
	go func() {
		defer close(t.done)
		for range t.poke {
			t.write()
			time.Sleep(tellEvery)
		}
		t.write()
	}()
	return t
}

func (t *teller) tell(s watch.Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !s.At.After(t.last) {
		return // an older one came later
	}
	t.next, t.last = &s, s.At
	select {
	case t.poke <- struct{}{}:
	default:
	}
}

func (t *teller) write() {
	t.mu.Lock()
	s := t.next
	t.next = nil
	t.mu.Unlock()
	if s == nil {
		return
	}
	state := t.files.State()
	s.Files, s.Watched, s.Swept, s.WhySwept = state.Files, state.Folders, state.Swept, state.Why
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return
	}
	path := t.place.file("status.json")
	if os.WriteFile(path+".new", text, 0o600) == nil { // a full disk: the status stays an old one
		_ = os.Rename(path+".new", path)
	}
}

func (t *teller) close() {
	close(t.poke)
	<-t.done
}
