package replay

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
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
	// the decider gets the launches' counts when the process ends: once for a capture
	Count bool
	// Vary holds a session on a launch with varied data (its number from 1), after the ordinary ones;
	// nil: none is asked for. False: no other variation is wanted.
	Vary func(ctx context.Context, variation int, l *profile.Launch, s profile.Session) bool
	// Worth tells, after the ordinary launches, whether there is anything to vary for; nil: there is.
	Worth func() bool
	// Running is called once, when the process has its context: where a GPU gives one process at a
	// time a context, another one can't take it now; nil: nobody wants to know.
	Running func()
	// Heap: the decider sees to it that a launch takes no memory from the device's heap, and Tune is
	// asked of kernels that may; else they are left alone.
	Heap bool
	// Untimed is called once, when nothing is measured any more, and all is known about the ordinary
	// launches; nil: nobody wants to know.
	Untimed func()
	// Standby is used, and closed; nil: a process is started.
	Standby *Standby
	// Scratch is a folder for what a process needs while it runs; "": the usual place, where nobody
	// looks for what a kill leaves.
	Scratch string
}

// process gives how profile runs a replayer whose own folder is dir.
func (o Options) process(dir string, argv ...string) profile.Options {
	p := profile.Options{Argv: append([]string{o.Program}, argv...), Agent: o.Agent, Limit: o.Limit,
		Dies: true}
	if profile.FitsSocket(dir) {
		p.Scratch = dir
	}
	return p
}

// varied is the longest time for one run of the kernel on varied data: there a loop need not end.
const varied = 2 * time.Second

// An Outcome is how far a replay came.
type Outcome struct {
	Same    bool   // the original left what it had left in the program
	Whole   bool   // everything that was asked for was done
	Varied  []int  // the variations under which the launch ended
	Failed  int    // the variation under which it did not, 0: none
	Reason  string // why it is not the same, or not whole
	Tries   int    // processes that were begun until the addresses could be had
	Elapsed time.Duration
	// Spent is seconds by step, in the replayer's words (source/replay.c); "end" is from its last one
	// until its process was gone.
	Spent map[string]float64
	// Own is the part of what a launch took in the program that it takes in the replay; the rest it
	// waited, for other streams' blocks, say, or had more to do. 0: all of it, or nearly.
	Own float64
}

// ErrRefused says that a capture can't be replayed here; the outcome has the reason.
var ErrRefused = errors.New("the capture can't be replayed")

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

// Run replays a capture: once to see that it leaves the same bits, then launches times for the
// decider, then with varied data. The decider sees the captured kernel's launches alone, with the
// counts and the constant bytes of the program's own.
func Run(ctx context.Context, o Options, u *Unpacked, h profile.Decider, launches int,
	variations []int) (Outcome, error) {
	begun := time.Now()
	w := &only{decider: h, m: u.m, launches: launches, variations: variations, vary: o.Vary,
		worth: o.Worth, heap: o.Heap, running: o.Running, untimed: o.Untimed, count: o.Count, say: o.Log}
	w.varying.Store(launches == 0)
	args := []string{strconv.Itoa(launches)}
	for _, v := range variations {
		args = append(args, strconv.Itoa(v))
	}
	if s := o.Standby; s != nil {
		w.enough = s.status() + ".enough"
		ends := context.AfterFunc(ctx, s.cancel) // it was begun for longer than this
		out, ok := s.play(w, u.file(), args, begun)
		if ends(); ok && ctx.Err() == nil {
			out.Own = w.own
			return out.judged(begun)
		}
	}
	dir, err := os.MkdirTemp(o.Scratch, "gnvcc-replay-")
	if err != nil {
		return Outcome{}, fmt.Errorf("making a folder for a replay: %w", err)
	}
	defer os.RemoveAll(dir)
	status := filepath.Join(dir, "status")
	w.enough = status + ".enough"
	p := o.process(dir, append([]string{u.file(), status}, args...)...)
	p.Log = w.trouble
	exit, err := profile.Run(ctx, p, w)
	if err != nil {
		return Outcome{}, err
	}
	out := read(status, begun)
	out.Own = w.own
	return out.ended(exit).judged(begun)
}

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
	if !out.Same {
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

// only lets a decider see one kernel's launches, from the second on: the first is the check.
type only struct {
	decider    profile.Decider
	m          *capture.Manifest
	launches   int
	variations []int
	vary       func(context.Context, int, *profile.Launch, profile.Session) bool
	enough     string // a file that tells the replayer to begin no other variation
	worth      func() bool
	running    func()
	untimed    func()
	count      bool
	heap       bool
	say        func(string, ...any)
	own        float64     // Outcome's
	n          int         // launches of the kernel so far
	varying    atomic.Bool // all that were asked for but the variations are done
}

// log tells of trouble.
func (w *only) log(format string, args ...any) {
	if w.say != nil {
		w.say(format, args...)
	}
}

// trouble is the agent's; what goes wrong with data of ours is expected.
func (w *only) trouble(format string, args ...any) {
	if !w.varying.Load() {
		w.log(format, args...)
	}
}

func (w *only) Start(p *profile.Process) { w.decider.Start(p) }

func (w *only) is(l *profile.Launch) bool { return l.Kernel == w.m.Kernel && l.Cubin == w.m.Cubin }

func (w *only) Launch(l *profile.Launch) profile.Verdict {
	if !w.is(l) {
		return profile.Verdict{}
	}
	if w.n++; !w.heap {
		l.LeaveAlone = cmp.Or(l.LeaveAlone, l.Allocates)
	}
	if w.n == 1 {
		if w.running != nil {
			w.running()
		}
		return profile.Verdict{Again: 1}
	}
	if w.n > 1+w.launches {
		return profile.Verdict{Tune: w.vary != nil, Long: varied, Again: 1}
	}
	w.apply(l)
	v := w.decider.Launch(l)
	if v.Capture, v.Again = "", 1; !v.Tune {
		w.ends()
	}
	return v
}

// ends looks, at the end of an ordinary launch's business, whether it was the last one.
func (w *only) ends() {
	if w.n < 1+w.launches {
		return
	}
	w.varying.Store(true)
	if w.untimed != nil {
		w.untimed()
		w.untimed = nil
	}
	if w.n == 1+w.launches && w.worth != nil && !w.worth() {
		w.stop()
	}
}

func (w *only) Tune(ctx context.Context, l *profile.Launch, s profile.Session) profile.Verdict {
	if i := w.n - 2 - w.launches; i >= 0 {
		if i < len(w.variations) {
			w.m.Use.Apply(l)
			if !w.vary(ctx, w.variations[i], l, s) {
				w.stop()
			}
		}
	} else {
		w.apply(l)
		w.decider.Tune(ctx, l, w.timed(l, s))
	}
	w.ends()
	return profile.Verdict{Again: 1}
}

// apply tells of a launch what is known of the captured one.
func (w *only) apply(l *profile.Launch) {
	w.m.Use.Apply(l)
	l.Part, l.Capture = w.m.Part, w.m.ID
}

// stop keeps the replayer from another variation. If that fails it costs time only.
func (w *only) stop() { _ = os.WriteFile(w.enough, nil, 0o600) }

func (w *only) LeftAlone(l *profile.Launch, reason string) profile.Verdict {
	if w.n <= 1+w.launches {
		w.decider.LeftAlone(l, reason)
		w.ends()
	}
	return profile.Verdict{Again: 1}
}

// End tells the decider of its kernel alone, with the program's own counts.
func (w *only) End(p *profile.Process, s profile.Summary) {
	var out profile.Summary
	for _, k := range s.Kernels {
		if !w.is(k.Launch) || !w.count {
			continue
		}
		w.m.Use.Apply(k.Launch)
		k.Varied, k.Seconds, k.Sampled = w.m.Use.Varied/max(w.m.Use.Sets, 1), w.m.Weight(),
			w.m.Use.Sampled
		out.Kernels = append(out.Kernels, k)
	}
	out.Whole = true
	w.decider.End(p, out)
}
