package tuner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"gnvcc/policy"
	"gnvcc/policy/search"
	"gnvcc/profile/capture"
	"gnvcc/profile/replay"
	"gnvcc/rewrite"
)

// The search on captured launches: the program has ended, and processes of our own do some of its
// launches again.

// MostCrashes is how many candidates may crash in the search on one capture.
const MostCrashes = 5

const (
	// share of the run's time below which a kernel is not searched, where those above are nearly all
	smallest = 0.01
	least    = 2 * time.Second // what a search gets at least
	spare    = 5 * time.Second // by which one may be longer, to end what it has begun
	mostRuns = MostCrashes + 1 // processes for one capture: each crash of a candidate takes one
	// configurations of one kernel that are searched in full, if the budget reaches
	mostFull  = 8
	mostAnew  = 3 // searches after varied data refused a winner
	variation = 8 // kinds of varied data (profile/replay/source/vary.c)
)

// A ReplaySearch searches on captured launches. Its exported fields are for who makes it.
type ReplaySearch struct {
	Captures *capture.Store
	Tuner    *search.Tuner
	Kernel   func(cubin, name string) (*policy.Kernel, error)
	Replayer string // the program (BuildReplayer)
	Agent    string // its library (BuildAgent)
	Scratch  string // folder
	GPU      GPU    // nil: this machine's
	Limits   capture.Limits
	Budget   time.Duration // for all of it
	Say      func(format string, args ...any)
	At       func(n, of int, end time.Time) // called with how far the search is; may be nil

	// has others search in its place; nil: nobody
	spread func(ctx context.Context, w *ReplaySearch, list []Job)

	memory  memoryFolder
	counted bool // the tuner knows how often things were launched
	account account
	standby *replay.Standby // for the next replay; nil: none
	rest    []Job           // that come next, as far as it is known
}

// gpu is where launches are replayed.
func (w *ReplaySearch) gpu() GPU { return ThisGPU(w.GPU) }

// Search replays captures, those that promise most first (agenda.go), each with its share of the
// budget; and again those on which what won later, on another launch, was not compared.
func (w *ReplaySearch) Search(ctx context.Context, list []Job) {
	if w.spread != nil {
		w.spread(ctx, w, list)
		return
	}
	for _, j := range list {
		w.classify(j.Capture)
	}
	w.account.wanted(list)
	w.pass(ctx, list)
}

// pass does jobs until the budget is used up. The next capture is unpacked meanwhile.
func (w *ReplaySearch) pass(ctx context.Context, list []Job) {
	begun := time.Now()
	a := w.newAgenda(list, func() time.Duration { return w.Budget - time.Since(begun) })
	for _, j := range list {
		if manyGrids(j.Capture) {
			w.Tuner.ManyGrids(configuration(j.Capture))
		}
	}
	files := map[*item]<-chan file{} // those that are on their way, or there
	var dropped sync.WaitGroup
	defer dropped.Wait()
	fetch := func(wanted ...*item) {
		for x, c := range files {
			if !slices.Contains(wanted, x) {
				dropped.Go(func() { (<-c).close() })
				delete(files, x)
			}
		}
		for _, x := range wanted {
			if x != nil && files[x] == nil {
				files[x] = w.unpack(x)
			}
		}
	}
	defer fetch()
	defer func() { w.standby.Close() }()
	for now := a.next(nil); now != nil && ctx.Err() == nil; now = a.next(files) {
		if w.settled(now.Job, nil) {
			w.account.stands(cmp.Or(now.Leader, now.Before), now.Capture)
			now.visits++
			continue
		}
		if a.left() < least {
			a.tell()
			return
		}
		w.rest = []Job{now.Job}
		w.prepare(ctx, nil)
		if a.visited() == 0 {
			w.ahead()
		}
		asked := time.Now()
		fetch(append(slices.Collect(maps.Keys(files)), now)...)
		f := <-files[now]
		delete(files, now)
		there := time.Now()
		next, other := a.after(now)
		fetch(next, other)
		if w.rest = nil; next != nil {
			w.rest = []Job{next.Job}
		}
		w.search(ctx, a, now, f)
		f.close()
		a.learn(now)
		w.account.took(now.Capture, there.Sub(asked), time.Since(there), now.cut && now.leads())
		now.visits++
		a.spread(now)
	}
}

// search does a job whose file is there.
func (w *ReplaySearch) search(ctx context.Context, a *agenda, now *item, f file) {
	is := configuration(now.Capture)
	if now.Leader != nil {
		w.Tuner.CheckOnly(is)
	}
	left := a.left()
	part := a.part(now)
	n, again := a.visited()+1, ""
	if now.visits > 0 {
		n, again = n-1, "again: "
	}
	w.Say("replaying %s (%.0f %%): %s%d of %d captures, at most %.0f s",
		policy.ShortName(now.Capture.Kernel), 100*now.Share, again, n, len(a.items),
		max(part, least).Seconds())
	if w.At != nil {
		w.At(n, len(a.items), time.Now().Add(left))
	}
	// the rest is for the process' start, and for varied data
	w.Tuner.SetBudget(max(part*4/5, least), min(spare, left/5))
	if now.visits > 0 {
		w.Tuner.GoOn(is)
	} else if look := a.look(now); look != nil {
		w.Tuner.SetBudget(max(left*4/5, least), min(spare, left/5))
		w.Tuner.SetLook(*look)
	}
	w.ahead()
	if f.err != nil {
		w.Say("%s: %v", policy.ShortName(now.Capture.Kernel), f.err)
		w.account.replayed(now.Capture, false, "", f.err)
		return
	}
	w.one(ctx, now.Capture, f.u)
}

// settled tells whether a capture has nothing more to tell: there is nothing that could be checked
// on it, and another one leads it, or another launch of its configuration was replayed and searched
// on (now: is at this moment). In a search without the program each capture brings counts.
func (w *ReplaySearch) settled(j Job, now *capture.Manifest) bool {
	if w.Tuner.Decided(configuration(j.Capture)) {
		return false
	}
	return j.Leader != nil ||
		j.Before != nil && w.counted && (j.Before == now || w.account.same(j.Before))
}

// roomy is how much memory a launch may reach while another process gets a context beside it,
// bytes: that takes some hundred MiB, and a replay has its launch's memory twice.
const roomy = 2 << 30

// Roomy tells of a launch that reaches no more.
func Roomy(m *capture.Manifest) bool { return m.Bytes <= roomy }

// prepare starts a process for the next replay, unless there is one or no replay will follow; now
// is what is replayed at this moment. Launches beside it take as long as ever (docs/facts.md).
func (w *ReplaySearch) prepare(ctx context.Context, now *capture.Manifest) {
	i := slices.IndexFunc(w.rest, func(j Job) bool { return !w.settled(j, now) })
	if w.standby == nil && i >= 0 && ctx.Err() == nil {
		w.standby = w.gpu().Prepare(ctx, w.replayOptions(), w.rest[i].Capture.UUID)
	}
}

// ahead lets candidates for the next search be compiled.
func (w *ReplaySearch) ahead() {
	for _, j := range w.rest {
		if j.Leader == nil && j.Before == nil {
			w.Tuner.Ahead(configuration(j.Capture))
			return
		}
	}
}

func (w *ReplaySearch) replayOptions() replay.Options {
	return replay.Options{Program: w.Replayer, Agent: w.Agent, Log: w.Say,
		Heap: true, Scratch: w.Scratch}
}

// A file is a capture's, or why there is none.
type file struct {
	u   *replay.Unpacked
	err error
}

func (f file) close() {
	if f.u != nil {
		f.u.Close()
	}
}

// unpack unpacks a capture beside what is done meanwhile; nil: there is none.
func (w *ReplaySearch) unpack(j *item) <-chan file {
	c := make(chan file, 1)
	if j == nil {
		close(c)
		return c
	}
	go func() {
		u, err := replay.Unpack(w.Captures, j.Capture, cmp.Or(w.memory.For(j.Capture.Filled), w.Scratch))
		c <- file{u, err}
		close(c)
	}()
	return c
}

// classify tells a capture which of its ranges the kernel reads as floating point alone. Where a
// pointer's use isn't known, content decides.
func (w *ReplaySearch) classify(m *capture.Manifest) {
	k, err := w.Kernel(m.Cubin, m.Kernel)
	if err != nil {
		return // the search will say so
	}
	m.Judge(func(yield func(index, offset int, kind string)) {
		for p, n := range k.Through {
			switch n {
			case rewrite.Floats:
				yield(p.Index, p.Offset, "float")
			case rewrite.Doubles:
				yield(p.Index, p.Offset, "double")
			case rewrite.Integers:
				yield(p.Index, p.Offset, "")
			}
		}
	})
}

// one searches on one capture, and checks what won on varied data.
func (w *ReplaySearch) one(ctx context.Context, m *capture.Manifest, u *replay.Unpacked) {
	is := configuration(m)
	for anew := 0; anew < mostAnew; anew++ {
		if !w.replay(ctx, m, u, anew == 0) || !w.Tuner.Decided(is) || !w.Tuner.Again(is) {
			return
		}
	}
}

// replay lets the tuner search on a capture, and then check the winners on varied data, all in one
// process if nothing crashes. A variation under which the original does not end costs its process,
// and does not count. False: it could not be replayed.
func (w *ReplaySearch) replay(ctx context.Context, m *capture.Manifest, u *replay.Unpacked,
	first bool) bool {
	is := configuration(m)
	o := w.replayOptions()
	o.Vary = w.Tuner.Vary
	o.Worth = func() bool { return w.Tuner.Decided(is) }
	prepare := func() {
		if Roomy(m) {
			w.prepare(ctx, m)
		}
	}
	o.Running, o.Untimed = prepare, prepare // once more, when it is known what won
	launches, next := 1, 1
	for runs := 1; ctx.Err() == nil; runs++ {
		o.Count = first && runs == 1 && !w.counted
		var list []int
		for v := next; v <= variation && numbers(m); v++ {
			list = append(list, v)
		}
		o.Standby, w.standby = w.standby, nil
		out, err := w.gpu().Replay(ctx, o, u, w.Tuner, launches, list)
		w.account.spent(m, out.Spent, w.Tuner.Spent(is))
		w.account.owns(m, out.Own)
		if err != nil {
			if !errors.Is(err, replay.ErrRefused) {
				err = fmt.Errorf("replaying %s: %w", m.Kernel, err)
			}
			w.Say("%s: %v", policy.ShortName(m.Kernel), err)
			w.account.replayed(m, out.Same, "", err)
			return false
		}
		w.account.replayed(m, out.Same, w.Tuner.Unsearched(is), nil)
		switch {
		case out.Whole:
			return true
		case out.Failed > 0 || launches == 0: // the search was done
			if launches, next = 0, max(out.Failed, next)+1; next > variation {
				return true
			}
		case runs == mostRuns:
			return false
		default:
			w.Say("%s: a search process ended (%s); another one continues", policy.ShortName(m.Kernel),
				out.Reason)
		}
	}
	return false
}

// numbers tells whether a launch reads anything that can be varied.
func numbers(m *capture.Manifest) bool {
	return slices.ContainsFunc(m.Ranges, func(r capture.Range) bool {
		return r.Numbers == "float" || r.Numbers == "double"
	})
}
