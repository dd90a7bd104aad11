package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"sync"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/search"
	"gnvcc/profile"
	"gnvcc/profile/capture"
	"gnvcc/profile/replay"
	"gnvcc/rewrite"
)

// The twin: a run is observed and some of its launches captured, the program ends, and the search
// goes on in processes of our own that do these launches again.

const (
	smallest = 0.01            // share of the run's time below which a kernel is not searched
	least    = 2 * time.Second // what a search gets at least
	spare    = 5 * time.Second // by which one may be longer, to end what it has begun
	mostRuns = 6               // processes for one capture: each crash of a candidate takes one
	// configurations of one kernel that are searched in full, if the budget reaches
	mostFull  = 8
	mostAnew  = 3 // searches after varied data refused a winner
	variation = 8 // kinds of varied data (profile/replay/source/vary.c)
)

// A twin is one tuning by captures.
type twin struct {
	memory    memoryFolder
	store     *capture.Store
	tuner     *search.Tuner
	kernel    func(cubin, name string) (*policy.Kernel, error)
	replayer  string
	run       profile.Options // of the program
	limits    capture.Limits
	budget    time.Duration // for the run
	observing time.Duration // how long the program is looked at; 0: as long as it runs
	say       func(format string, args ...any)
	at        func(n, of int, end time.Time) // is told how far the search is; may be nil
	by        *profiled                      // whose shares of the time count, nil: those of the run
	counted   bool                           // the tuner knows how often things were launched
	account   account
	standby   *replay.Standby // for the next replay; nil: none
	rest      []job           // that come after this one
}

// These are variables for tests, which have a simulated GPU in their place.
var (
	replays  = replay.Run
	prepares = replay.Prepare
)

// captures opens the captures in the user's store.
func captures(store *cache.Store) (*capture.Store, error) {
	return capture.Open(filepath.Join(store.Path(), "captures"))
}

// newTwin builds what is needed beside the agent.
func newTwin(ctx context.Context, store *cache.Store, root string, run profile.Options,
	then ending) (*twin, error) {
	s, err := captures(store)
	if err != nil {
		return nil, err
	}
	program, err := replay.Build(ctx, root, filepath.Join(store.Path(), "agent"))
	if err != nil {
		return nil, fmt.Errorf("can't build the program that replays launches: %w", err)
	}
	return &twin{store: s, replayer: program, run: run, limits: capture.Usual.Within(store.Path(),
		then.most), budget: then.budget, observing: then.observing, say: func(string, ...any) {}}, nil
}

// observe runs the program, with captures where wanted allows.
func (w *twin) observe(wanted func(*profile.Launch) error) (profile.Exit, capture.Run, error) {
	run := w.run
	dir, err := os.MkdirTemp(cmp.Or(w.memory.For(w.limits.Launch), run.Scratch), "captures")
	if err != nil {
		return profile.Exit{}, capture.Run{}, fmt.Errorf("making a folder for captures: %w", err)
	}
	known, _ := w.store.Profile(absolute(run.Argv[0])) // none is no trouble
	c := capture.NewCollector(w.store, w.limits, dir, wanted, known)
	run.Observe, run.For = true, w.observing
	finish := sync.OnceValue(func() capture.Run { return w.keep(c.Finish()) })
	run.Gone = func() {
		n := 0
		for _, s := range finish().Seen {
			n += len(s.Captures)
		}
		w.say(
			"observed for %v: %d launches are captured; the program runs on by itself, and the search begins when it ends (gnvcc replay searches before)", w.observing, n)
	}
	begun := time.Now()
	exit, err := profile.Run(context.Background(), run, c)
	w.account.ended = time.Now()
	w.account.ran = w.account.ended.Sub(begun)
	seen := finish()
	w.account.kept, w.account.cost, w.account.times = time.Now(), seen.Cost, seen.Times
	return exit, seen, err
}

// keep adds what was seen to the program's profile.
func (w *twin) keep(seen capture.Run) capture.Run {
	for _, n := range seen.Notes {
		w.run.Log("%s", n)
	}
	if len(seen.Seen) > 0 {
		if _, err := w.store.Observed(absolute(w.run.Argv[0]), seen); err != nil {
			w.run.Log("%v", err)
		}
	}
	return seen
}

// tune does all of it, or only searches again, and leaves the decisions to the tuner's Finish.
func (w *twin) tune(signals *relay, o policy.Options, again bool,
	wanted func(*profile.Launch) error) (profile.Exit, error) {
	if again {
		signals.programEnded()
		return profile.Exit{}, w.again(signals.rest, o)
	}
	exit, run, err := w.observe(wanted)
	signals.programEnded()
	if err != nil {
		return exit, err
	}
	var total float64
	var list []*capture.Manifest
	all := profile.Summary{Whole: true}
	for _, s := range run.Seen {
		total += s.Use.Seconds
	}
	missing := func(s capture.Seen) string {
		share := s.Use.Seconds / max(total, 1e-12)
		if s.Why != "" || share < smallest || w.by != nil {
			return s.Why
		}
		return fmt.Sprintf(
			"no launch of it was captured, though it takes %.0f %% of the time: a second run is needed",
			100*share)
	}
	for _, s := range run.Seen {
		p := s.Profile()
		all.Kernels = append(all.Kernels, p)
		list = append(list, s.Captures...)
		if len(s.Captures) > 0 {
			continue
		}
		if why := missing(s); why != "" {
			w.tuner.LeftAlone(p.Launch, why)
		}
	}
	w.account.enter(run.Seen, missing)
	if err := w.by.tell(launched(run.Seen), deviceOf(list), w.say); err != nil {
		return exit, err
	}
	// counts of all launches, also of those that were not captured
	w.tuner.End(&profile.Process{}, all)
	sort.SliceStable(list, func(i, j int) bool { return list[i].Weight() > list[j].Weight() })
	jobs := w.heaviest(list, total)
	if len(run.Seen) > 0 {
		w.say("%s%s", observed(run.Seen, total), held(run.Cost))
	}
	if signals.asked() != 0 {
		w.say("interrupted: %d launches are captured, gnvcc replay searches on them", len(list))
		return exit, nil
	}
	w.counted = true
	w.search(signals.rest, jobs)
	return exit, w.store.Trim(w.limits)
}

// again searches on the captures that there are.
func (w *twin) again(ctx context.Context, o policy.Options) error {
	all, skipped := w.store.List()
	if skipped > 0 {
		w.run.Log("%d captures can't be read, and are left out", skipped)
	}
	var list []*capture.Manifest
	var total float64
	for _, m := range all {
		if o.Only == nil || o.Only.MatchString(m.Kernel) ||
			o.Only.MatchString(policy.ShortName(m.Kernel)) {
			list = append(list, m)
			total += m.Weight()
		}
	}
	if len(list) == 0 {
		return errors.New(
			"no captured launches of such a kernel: gnvcc tune -- ./app captures some (gnvcc captures lists them)")
	}
	var names []string
	for _, m := range list {
		names = append(names, m.Kernel)
	}
	if err := w.by.tell(names, deviceOf(list), w.say); err != nil {
		return err
	}
	w.account.ended = time.Now()
	w.account.captured(list)
	w.search(ctx, w.heaviest(list, total))
	return nil
}

// launched are the kernels of a run.
func launched(seen []capture.Seen) (names []string) {
	for _, s := range seen {
		names = append(names, s.Launch.Kernel)
	}
	return names
}

// deviceOf is the GPU that captures are from, "" without any.
func deviceOf(list []*capture.Manifest) string {
	if len(list) == 0 {
		return ""
	}
	return list[0].Device
}

// observed sums a run up: how many kernels take nearly all of the time.
func observed(seen []capture.Seen, total float64) string {
	by := map[string]float64{}
	for _, s := range seen {
		by[s.Launch.Kernel] += s.Use.Seconds
	}
	times := slices.Sorted(maps.Values(by))
	var sum float64
	n := 0
	for i := len(times) - 1; i >= 0 && sum < 0.9*total; i-- {
		sum += times[i]
		n++
	}
	return fmt.Sprintf("observed: %d of %d kernels take %.0f %% of %.3g s on the GPU", n, len(by),
		100*sum/max(total, 1e-12), total)
}

// search replays captures, the heaviest first, each with its share of the budget; and again those
// on which what won later, on another launch, was not compared.
func (w *twin) search(ctx context.Context, list []job) {
	for _, j := range list {
		w.judge(j.m)
	}
	w.account.wanted(list)
	begun := time.Now()
	w.pass(ctx, list, w.budget)
	left := w.budget - time.Since(begun)
	if missed := w.missed(list); left > least && ctx.Err() == nil {
		w.pass(ctx, missed, left)
	}
}

// missed are the captures that were replayed, but not with what won on their configuration.
func (w *twin) missed(list []job) []job {
	return slices.DeleteFunc(slices.Clone(list), func(j job) bool {
		return !w.account.same(j.m) || !w.tuner.Missed(configuration(j.m), j.m.ID)
	})
}

// pass goes through a list once, for a time. The next capture is unpacked meanwhile.
func (w *twin) pass(ctx context.Context, list []job, budget time.Duration) {
	var sum float64
	for _, j := range list {
		sum += j.share
		if amongGrids(j.m) {
			w.tuner.AmongGrids(configuration(j.m))
		}
	}
	done := make(chan struct{})
	files := w.unpack(list, done)
	defer func() {
		close(done)
		for f := range files { // one that is on its way
			f.close()
		}
	}()
	begun := time.Now()
	defer func() { w.standby.Close() }()
	for i, j := range list {
		left := budget - time.Since(begun)
		part := time.Duration(float64(left) * j.share / max(sum, 1e-12))
		sum -= j.share
		if ctx.Err() != nil {
			return
		}
		if left < least {
			w.say("the budget of %v is used up: %d of %d captures were not searched; the next run continues",
				budget, len(list)-i, len(list))
			return
		}
		w.rest = list[i:]
		w.prepare(ctx, nil)
		if i == 0 {
			w.ahead()
		}
		w.rest = list[i+1:]
		asked := time.Now()
		f := <-files
		there := time.Now()
		if w.settled(j, nil) {
			w.account.stands(cmp.Or(j.leader, j.before), j.m)
			f.close()
			continue
		}
		if j.leader != nil {
			w.tuner.CheckOnly(configuration(j.m))
		}
		w.say("replaying %s (%.0f %%): %d of %d captures, at most %.0f s", policy.ShortName(j.m.Kernel),
			100*j.share, i+1, len(list), max(part, least).Seconds())
		if w.at != nil {
			w.at(i+1, len(list), begun.Add(w.budget))
		}
		// the rest is for the process' start, and for varied data
		w.tuner.SetBudget(max(part*4/5, least), min(spare, left/5))
		w.ahead()
		if f.err != nil {
			w.run.Log("%s: %v", policy.ShortName(j.m.Kernel), f.err)
			w.account.replayed(j.m, false, f.err)
		} else {
			w.one(ctx, j.m, f.u)
		}
		f.close()
		w.account.took(j.m, there.Sub(asked), time.Since(there))
	}
}

// settled tells whether a capture has nothing more to tell: there is nothing that could be checked
// on it, and another one leads it, or another launch of its configuration was replayed and searched
// on (now: is at this moment). In a search without the program each capture brings counts.
func (w *twin) settled(j job, now *capture.Manifest) bool {
	if w.tuner.Decided(configuration(j.m)) {
		return false
	}
	return j.leader != nil ||
		j.before != nil && w.counted && (j.before == now || w.account.same(j.before))
}

// roomy is how much memory a launch may reach while another process gets a context beside it,
// bytes: that takes some hundred MiB, and a replay has its launch's memory twice.
const roomy = 2 << 30

// prepare starts a process for the next replay, unless there is one or no replay will follow; now
// is what is replayed at this moment. Launches beside it take as long as ever (docs/facts.md).
func (w *twin) prepare(ctx context.Context, now *capture.Manifest) {
	i := slices.IndexFunc(w.rest, func(j job) bool { return !w.settled(j, now) })
	if w.standby == nil && i >= 0 && ctx.Err() == nil {
		w.standby = prepares(ctx, w.replayOptions(), w.rest[i].m.UUID)
	}
}

// ahead lets candidates for the next search be compiled.
func (w *twin) ahead() {
	for _, j := range w.rest {
		if j.leader == nil && j.before == nil {
			w.tuner.Ahead(configuration(j.m))
			return
		}
	}
}

func (w *twin) replayOptions() replay.Options {
	return replay.Options{Program: w.replayer, Agent: w.run.Agent, Log: w.run.Log,
		Scratch: w.run.Scratch}
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

// unpack unpacks captures one after the other, one ahead of the reader, until done is closed.
func (w *twin) unpack(list []job, done <-chan struct{}) <-chan file {
	files := make(chan file)
	go func() {
		defer close(files)
		for _, j := range list {
			u, err := replay.Unpack(w.store, j.m, cmp.Or(w.memory.For(j.m.Filled), w.run.Scratch))
			select {
			case files <- file{u, err}:
			case <-done:
				file{u, err}.close()
				return
			}
		}
	}()
	return files
}

// judge tells a capture which of its ranges the kernel reads as floating point alone. Where a
// pointer's use can't be told, content decides.
func (w *twin) judge(m *capture.Manifest) {
	k, err := w.kernel(m.Cubin, m.Kernel)
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
func (w *twin) one(ctx context.Context, m *capture.Manifest, u *replay.Unpacked) {
	is := configuration(m)
	for anew := 0; anew < mostAnew; anew++ {
		if !w.replay(ctx, m, u, anew == 0) || !w.tuner.Decided(is) || !w.tuner.Again(is) {
			return
		}
	}
}

// replay lets the tuner search on a capture, and then check the winners on varied data, all in one
// process if nothing crashes. A variation under which the original does not end costs its process,
// and does not count. False: it could not be replayed.
func (w *twin) replay(ctx context.Context, m *capture.Manifest, u *replay.Unpacked,
	first bool) bool {
	is := configuration(m)
	o := w.replayOptions()
	o.Vary = w.tuner.Vary
	o.Worth = func() bool { return w.tuner.Decided(is) }
	var reached int64
	for _, r := range m.Ranges {
		reached += r.Size
	}
	prepare := func() {
		if reached <= roomy {
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
		out, err := replays(ctx, o, u, w.tuner, launches, list)
		w.account.spent(m, out.Spent, w.tuner.Spent(is))
		if err != nil {
			if !errors.Is(err, replay.ErrRefused) {
				err = fmt.Errorf("replaying %s: %w", m.Kernel, err)
			}
			w.run.Log("%s: %v", policy.ShortName(m.Kernel), err)
			w.account.replayed(m, out.Same, err)
			return false
		}
		w.account.replayed(m, out.Same, nil)
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
			w.run.Log("%s: a search process ended (%s); another one continues", policy.ShortName(m.Kernel),
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
