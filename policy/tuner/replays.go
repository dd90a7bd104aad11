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
	"gnvcc/policy/check"
	"gnvcc/policy/search"
	"gnvcc/profile"
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
	mostFull = 8
	mostAnew = 3 // searches after varied data refused a winner
)

// A ReplaySearch searches on captured launches. Its exported fields are for who makes it.
type ReplaySearch struct {
	Captures *capture.Store
	Run      *search.Run
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

	varyFor  time.Duration // what a configuration has for more than one draw of varied data
	memory   memoryFolder
	standing *standings                 // what is not searched again; nil: all is
	counted  bool                       // the run knows how often things were launched
	entered  map[*capture.Manifest]bool // those of which it knows since they were replayed
	launch   *profile.Launch            // that was visited last
	account  account
	standby  *replay.Standby // for the next replay; nil: none
	rest     []Job           // that come next, as far as it is known
}

// config is what is known of a capture's configuration, nil: nothing.
func (w *ReplaySearch) config(m *capture.Manifest) *search.Config {
	return w.Run.Config(configuration(m))
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
	ctx, begun, cancel := w.limited(ctx)
	defer cancel()
	a := w.newAgenda(list, func() time.Duration { return w.Budget - time.Since(begun) })
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
			break
		}
		if now.late = a.left() < needs(now.Capture); now.late { // a smaller one may have time
			continue
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
		r := w.account.row(now.Capture)
		r.Unpacking += there.Sub(asked).Seconds()
		r.Replaying += time.Since(there).Seconds()
		if r.Cut = now.cut && now.leads(); r.Cut {
			r.Left = now.open
		}
		now.visits++
		a.spread(now)
	}
	if a.left() < least || late(ctx) || slices.ContainsFunc(a.items, func(x *item) bool { return x.late }) {
		a.tell()
	}
}

// search does a job whose file is there.
func (w *ReplaySearch) search(ctx context.Context, a *agenda, now *item, f file) {
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
	w.varyFor = max(part, least) / 5
	visit, draws := beside(now.Capture)
	plan := &search.Plan{Budget: max(min(part*4/5, part-visit-draws), least), Grace: min(spare, left/5),
		Check: now.Leader != nil, ManyGrids: manyGrids(now.Capture)}
	if now.visits > 0 {
		plan.Resume = true
	} else if plan.Look = a.look(now); plan.Look != nil {
		plan.Budget = max(min(left*4/5, left-visit-draws), least)
	}
	w.ahead()
	if f.err != nil {
		w.Say("%s: %v", policy.ShortName(now.Capture.Kernel), f.err)
		w.account.replayed(now.Capture, false, "", f.err)
		return
	}
	w.one(ctx, now.Capture, f.u, plan)
}

// settled tells whether a capture has nothing more to tell: there is nothing that could be checked
// on it, and another one leads it, or another launch of its configuration was replayed and searched
// on (now: is at this moment). In a search without the program each capture brings counts.
func (w *ReplaySearch) settled(j Job, now *capture.Manifest) bool {
	if w.config(j.Capture).Decided() {
		return false
	}
	return j.Leader != nil ||
		j.Before != nil && w.counted && (j.Before == now || w.account.row(j.Before).Same)
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
			w.Run.Ahead(configuration(j.Capture), &search.Plan{ManyGrids: manyGrids(j.Capture)})
			return
		}
	}
}

func (w *ReplaySearch) replayOptions() replay.Options {
	return replay.Options{Program: w.Replayer, Agent: w.Agent, Log: w.Say,
		Scratch: w.Scratch, Unsteady: true}
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

// classify tells a capture which of what the kernel reads may be other numbers. Where a pointer's use
// isn't known, content decides.
func (w *ReplaySearch) classify(m *capture.Manifest) {
	k, err := w.Kernel(m.Cubin, m.Kernel)
	if err != nil {
		return // the search will say so
	}
	m.Scalars, m.Texels = nil, k.Texels
	for p, n := range k.Scalars {
		if n == rewrite.Floats || n == rewrite.Doubles {
			m.Scalars = append(m.Scalars, capture.Scalar{Index: p.Index, Offset: p.Offset, Numbers: string(n)})
		}
	}
	for i, v := range m.Variables {
		m.Variables[i].Numbers = ""
		if n := k.Variables[v.Name]; n.Free() {
			m.Variables[i].Numbers = string(n)
		}
	}
	m.Judge(k.Direct, func(yield func(index, offset int, kind string)) {
		for p, n := range k.Through {
			if n.Free() {
				yield(p.Index, p.Offset, string(n))
			} else if n == rewrite.Integers {
				yield(p.Index, p.Offset, "")
			}
		}
	})
}

// arrays counts those that the launch reads, and in how many of them variations put other numbers.
func (w *ReplaySearch) arrays(m *capture.Manifest) (out [2]int) {
	if k, err := w.Kernel(m.Cubin, m.Kernel); err == nil {
		var pointers [][2]int
		for p := range k.Through {
			pointers = append(pointers, [2]int{p.Index, p.Offset})
		}
		out[0], out[1] = m.Varying(pointers)
	}
	return out
}

// one searches on one capture, and checks what won on varied data.
func (w *ReplaySearch) one(ctx context.Context, m *capture.Manifest, u *replay.Unpacked,
	p *search.Plan) {
	for anew := 0; anew < mostAnew; anew++ {
		if !w.replay(ctx, m, u, p) {
			return
		}
		if c := w.config(m); !c.Decided() || !c.Anew() {
			return
		}
	}
}

// replay searches on a capture, and then checks the winners on varied data, all in one process if
// nothing crashes. A variation under which the original does not end costs its process, and does
// not count. False: it could not be replayed.
func (w *ReplaySearch) replay(ctx context.Context, m *capture.Manifest, u *replay.Unpacked,
	p *search.Plan) bool {
	o := w.replayOptions()
	prepare := func() {
		if Roomy(m) {
			w.prepare(ctx, m)
		}
	}
	o.Running = prepare
	draws, due := check.Draws(m.Grid[0] * m.Grid[1] * m.Grid[2] * m.Block[0] * m.Block[1] * m.Block[2])
	x := visits{w: w, m: m, plan: p, due: due, prepare: prepare}
	captured := true // it is searched on
	next := 1
	endless := map[int]bool{} // kinds of data on which the original does not end
	for runs := 1; ctx.Err() == nil; runs++ {
		var variations []int
		for v := next; v <= check.Kinds*draws; v++ {
			if m.Changed(v) && !endless[v%check.Kinds] {
				variations = append(variations, v)
			}
		}
		if !captured && len(variations) == 0 {
			return true
		}
		o.Standby, w.standby = w.standby, nil
		at := replay.Open(func(v replay.Visit) (replay.Outcome, error) {
			return w.gpu().Replay(ctx, o, u, v)
		}, captured, variations)
		for stop := at.Next(); stop != nil && x.at(stop); stop = at.Next() {
		}
		out, err := at.Close()
		w.saw(m)
		if c := w.config(m); c != nil && c.Launch != nil {
			c.Launch.Arrays = w.arrays(m)
		}
		r := w.account.row(m)
		r.spend(out.Spent)
		// launches that waited for others, or do more than the captured one, get shorter by this part
		// of what is gained alone
		r.Own = cmp.Or(out.Own, r.Own)
		if late(ctx) {
			w.account.replayed(m, out.Stands(), w.config(m).Unsearched(), errOvertime)
			w.Run.CutShort(configuration(m), required(m, due))
			return false
		}
		if err != nil {
			if !errors.Is(err, replay.ErrRefused) {
				err = fmt.Errorf("the replay failed: %w", err)
			}
			w.Say("%s: %v", policy.ShortName(m.Kernel), err)
			w.account.replayed(m, out.Stands(), "", err)
			return false
		}
		w.account.replayed(m, out.Stands(), w.config(m).Unsearched(), nil)
		switch {
		case out.Whole:
			return true
		case out.Failed > 0 || !captured: // the search was done
			captured, next = false, max(out.Failed, next)+1
			if out.Failed > 0 {
				endless[out.Failed%check.Kinds] = true
			} else if next > check.Kinds*due {
				return true // no process gets as far as a variation
			}
		case runs == mostRuns:
			return false
		default:
			w.Say("%s: the replay process ended (%s); a new one continues", policy.ShortName(m.Kernel),
				out.Reason)
		}
	}
	return false
}

// required is how many draws of varied data a winner has to stand.
func required(m *capture.Manifest, due int) (n int) {
	for v := range check.Kinds * due {
		if m.Changed(v + 1) {
			n++
		}
	}
	return n
}

// visits are those of one capture.
type visits struct {
	w       *ReplaySearch
	m       *capture.Manifest
	plan    *search.Plan
	prepare func()
	due     int       // draws of varied data that are checked in any case (check.Draws)
	varying time.Time // since when
}

// at searches at a launch as it was captured, and checks at one with varied data; false: no more of
// these are wanted.
func (x *visits) at(s *replay.Stop) bool {
	switch {
	case s.Alone != "":
		x.w.launch = s.Launch
		x.w.Run.LeaveAlone(s.Launch, s.Alone)
		x.prepare()
		return true
	case s.Variation == 0:
		x.w.launch = s.Launch
		_ = x.w.Run.Search(s.Context, s.Launch, s, x.plan) // that the process is lost its end says
		x.prepare()                                        // once more, when it is known what won
		return x.w.config(x.m).Varies()
	}
	if x.varying.IsZero() {
		x.varying = time.Now()
	}
	if s.Variation > check.Kinds*x.due && time.Since(x.varying) > x.w.varyFor {
		return false
	}
	return x.w.Run.Vary(s.Context, s.Variation, s.Launch, s, x.plan)
}

// saw enters, once for a capture, how often its launch was seen in the program, where the program
// did not run just now.
func (w *ReplaySearch) saw(m *capture.Manifest) {
	l := w.launch
	if w.launch = nil; l == nil || w.counted || w.entered[m] {
		return
	}
	if w.entered == nil {
		w.entered = map[*capture.Manifest]bool{}
	}
	w.entered[m] = true
	w.Run.Saw([]profile.Seen{{Launch: l, Varied: m.Use.Varied / max(m.Use.Sets, 1),
		Seconds: m.Weight(), Sampled: m.Use.Sampled, Classes: m.Use.Classes}})
}
