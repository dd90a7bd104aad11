package replay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gnvcc/profile"
	"gnvcc/profile/capture"
)

// Options say with what, and how.
type Options struct {
	Program string                           // the built replayer
	Agent   string                           // the built agent
	Limit   time.Duration                    // longest time for one run of the kernel
	Log     func(format string, args ...any) // trouble; nil: dropped
	// Running is called once, when the process has its context: where a GPU gives one process at a
	// time a context, another one can't take it now; nil: not called.
	Running func()
	// Unsteady goes on with a launch that leaves something else each time it is done: the launch that
	// is visited has that (profile.Launch). Else it is refused.
	Unsteady bool
	// Standby is used, and closed; nil: a process is started.
	Standby *Standby
	// Scratch is a folder for what a process needs while it runs; "": the usual place, where no one
	// looks for what a kill leaves.
	Scratch string
}

// process gives how profile runs a replayer whose own folder is dir.
func (o Options) process(dir string, argv ...string) profile.Options {
	p := profile.Options{Argv: append([]string{o.Program}, argv...), Agent: o.Agent, Limit: o.Limit,
		Replay: true}
	if profile.FitsSocket(dir) {
		p.Scratch = dir
	}
	return p
}

// varied is the longest time for one run of the kernel on varied data: there a loop need not end.
const varied = 2 * time.Second

// An Outcome is how far a replay came.
type Outcome struct {
	Same bool // the original left what it had left in the program
	// what the original leaves differs from one time to the next, and how; "": it was not seen to, or
	// Options.Unsteady was not set
	Unsteady string
	Whole    bool   // everything that was asked for was done
	Varied   []int  // the variations under which the launch ended
	Failed   int    // the variation under which it did not, 0: none
	Reason   string // why it is not the same, or not whole
	Tries    int    // processes that were begun until the addresses could be had
	Elapsed  time.Duration
	// Spent is seconds by step, in the replayer's words (source/replay.c); "end" is from its last one
	// until its process was gone.
	Spent map[string]float64
	// Own is the part of what a launch took in the program that it takes in the replay; the rest it
	// waited, for other streams' blocks, say, or had more to do. 0: all of it, or nearly.
	Own    float64
	unlike bool // the reason is ErrUnlike's
}

// ErrRefused says that a capture can't be replayed here; the outcome has the reason.
var ErrRefused = errors.New("the capture can't be replayed")

// ErrUnlike is an ErrRefused of ours: the original leaves the same each time that it is replayed, and
// something else than in the program. Memory was not captured, say, or not put back.
var ErrUnlike = fmt.Errorf("%w: gnvcc's replay is not what ran in the program, a fault of gnvcc's", ErrRefused)

// Unpacked is a capture as a file, for any number of replays. Close removes it.
type Unpacked struct {
	m   *capture.Manifest
	dir string
}

// Unpack writes a capture's file into a folder of its own; in is where that is made: a folder that
// is removed when we were killed.
func Unpack(s *capture.Store, m *capture.Manifest, in string) (*Unpacked, error) {
	dir, err := os.MkdirTemp(in, "gnvcc-replay-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for a replay: %w", err)
	}
	u := &Unpacked{m, dir}
	if err := capture.RoomFor(dir, m.Filled); err != nil {
		u.Close()
		return nil, fmt.Errorf("unpacking capture %s: %w", m.ID, err)
	}
	f, err := os.OpenFile(u.file(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		err = s.Write(m, &capture.File{File: f})
		if e := f.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		u.Close()
		return nil, fmt.Errorf("unpacking capture %s: %w", m.ID, err)
	}
	return u, nil
}

func (u *Unpacked) file() string { return filepath.Join(u.dir, "capture") }

// Manifest is the capture's.
func (u *Unpacked) Manifest() *capture.Manifest { return u.m }

// Close removes the file.
func (u *Unpacked) Close() { os.RemoveAll(u.dir) }

// A Visit is what is done in a replay's process while the captured launch stands still.
type Visit struct {
	// Search is called at the launch as it was captured. False: it is not varied. nil: it is only varied.
	Search func(ctx context.Context, l *profile.Launch, s profile.Session) (vary bool)
	// Vary is called at the launch with varied data, for each of Variations (from 1). False: no other
	// one is wanted.
	Vary       func(ctx context.Context, variation int, l *profile.Launch, s profile.Session) (more bool)
	Variations []int
	// Alone is called in Search's place with the reason why the launch can't be repeated.
	Alone func(l *profile.Launch, reason string)
}

// Run replays a capture: once to see that it leaves the same bits, then for a visit. A launch that
// is visited has the counts and the constant bytes of the program's own.
func Run(ctx context.Context, o Options, u *Unpacked, v Visit) (Outcome, error) {
	begun := time.Now()
	launches := 0
	if v.Search != nil {
		launches = 1
	}
	args := []string{strconv.Itoa(launches)}
	if o.Unsteady {
		args[0] = "+" + args[0]
	}
	for _, n := range v.Variations {
		args = append(args, strconv.Itoa(n))
	}
	set := func(w *host, enough string) {
		w.visit, w.m, w.running, w.say = v, u.m, o.Running, o.Log
		w.launches, w.enough = launches, enough
		w.varying.Store(launches == 0)
		close(w.ready)
	}
	if s := o.Standby; s != nil {
		ends := context.AfterFunc(ctx, s.cancel) // it was begun for longer than this
		out, ok := s.play(set, u.file(), args, begun)
		if ends(); ok && ctx.Err() == nil {
			return out.judged(begun)
		}
	}
	dir, err := os.MkdirTemp(o.Scratch, "gnvcc-replay-")
	if err != nil {
		return Outcome{}, fmt.Errorf("making a folder for a replay: %w", err)
	}
	defer os.RemoveAll(dir)
	status := filepath.Join(dir, "status")
	w := newHost()
	set(w, status+".enough")
	p := o.process(dir, append([]string{u.file(), status}, args...)...)
	p.Log = w.trouble
	exit, err := profile.Run(ctx, p, profile.Host{Launch: w.launch})
	if err != nil {
		return Outcome{}, err
	}
	out := read(status, begun)
	out.Own = w.own
	return out.ended(exit).judged(begun)
}

// Stands tells whether the launch could be visited: it is the program's, as far as that repeats
// itself.
func (out Outcome) Stands() bool { return out.Same || out.Unsteady != "" }

// ended is an outcome with what the process' end says.
func (out Outcome) ended(exit profile.Exit) Outcome {
	if out.Reason == "" && !out.Whole {
		out.Reason = fmt.Sprintf("the replayer ended with exit code %d", exit.Code)
		if exit.Killed != "" {
			out.Reason = exit.Killed
		}
	}
	return out
}

// judged is an outcome as Run gives it.
func (out Outcome) judged(begun time.Time) (Outcome, error) {
	out.Elapsed = time.Since(begun)
	if out.unlike {
		return out, fmt.Errorf("%w: %s", ErrUnlike, out.Reason)
	}
	if !out.Stands() {
		return out, fmt.Errorf("%w: %s", ErrRefused, out.Reason)
	}
	return out, nil
}

// read takes the lines of a replayer that was started at a time.
func read(path string, started time.Time) Outcome {
	out := Outcome{Tries: 1, Spent: map[string]float64{}}
	last := float64(started.UnixMicro()) / 1e6
	// Clocks may be set, and a process may have been there before.
	over := func(step string, now float64) {
		out.Spent[step] += max(0, now-last)
		last = max(last, now)
	}
	defer func() { over("end", float64(time.Now().UnixMicro())/1e6) }()
	f, err := os.Open(path)
	if err != nil {
		return out
	}
	defer f.Close()
	begun := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		n, _ := strconv.Atoi(rest)
		switch word {
		case "same":
			out.Same = true
		case "unlike":
			out.Reason, out.unlike = rest, true
		case "unsteady":
			out.Unsteady = rest
		case "again":
			out.Tries++
		case "variation":
			begun = n
		case "over":
			if at, step, ok := strings.Cut(rest, " "); ok {
				if t, err := strconv.ParseFloat(at, 64); err == nil {
					over(step, t)
				}
			}
		case "varied":
			out.Varied, begun = append(out.Varied, n), 0
		case "stop":
			out.Reason = rest
		case "done":
			out.Whole = true
		}
	}
	out.Failed = begun
	return out
}
