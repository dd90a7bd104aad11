package tuner

import (
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
	"gnvcc/driver/environment"
	"gnvcc/driver/scratch"
	"gnvcc/driver/toolkit"
	"gnvcc/policy"
	"gnvcc/profile"
	"gnvcc/profile/agent"
	"gnvcc/profile/capture"
	"gnvcc/profile/replay"
)

// A program's run, observed: its launches are counted and timed, and some captured.

// An Observation is what a program is run for.
type Observation struct {
	Program  profile.Options // its Agent by BuildAgent
	Captures *capture.Store
	Limits   capture.Limits
	// Folder gives a fast place for a file of so many bytes, "": none; nil: there never is one
	Folder func(bytes int64) string
	For    time.Duration // how long the program is looked at; 0: as long as it runs
	// Wanted says why launches of a kernel are not captured, nil where they are.
	Wanted func(*profile.Launch) error
	// Stands says of launches of a kernel that is wanted that none of this size is; it may be nil, and
	// must not take time
	Stands  func(*profile.Launch) bool
	Context context.Context // with which it is ended; nil: never
	// called with the captures' number when the time is over and the program runs on; may be nil
	Gone func(captured int)
}

// AgentFolder is where the agent and the replayer of a store are built. The tests' stores share one.
var AgentFolder = func(store *cache.Store) string { return filepath.Join(store.Path(), "agent") }

// BuildAgent builds the library that runs inside the program, where it is not built yet.
func BuildAgent(ctx context.Context, store *cache.Store, toolkit string) (string, error) {
	library, err := agent.Build(ctx, toolkit, AgentFolder(store))
	if err != nil {
		return "", fmt.Errorf("can't build the agent that runs inside the program: %w", err)
	}
	return library, nil
}

// Tools builds the agent and the replayer, where they are not built yet.
func Tools(ctx context.Context, store *cache.Store) (agent, replayer string, err error) {
	self, _ := os.Executable()
	kit, err := toolkit.Find(self, environment.Read())
	if err != nil {
		return "", "", err
	}
	if agent, err = BuildAgent(ctx, store, kit.Dir()); err == nil {
		replayer, err = BuildReplayer(ctx, store, kit.Dir())
	}
	return agent, replayer, err
}

// BuildReplayer builds the program that does captured launches again, where it is not built yet.
func BuildReplayer(ctx context.Context, store *cache.Store, toolkit string) (string, error) {
	program, err := replay.Build(ctx, toolkit, AgentFolder(store))
	if err != nil {
		return "", fmt.Errorf("can't build the program that replays launches: %w", err)
	}
	return program, nil
}

// Observed is what a program's run gave.
type Observed struct {
	profile.Exit
	capture.Run
	Program string        // whose profile has most of it
	Took    time.Duration // from its start to its end
	Ended   time.Time
	Kept    time.Time // when all captures were in the store
}

// Observe runs the program, and keeps what it does in the captures' profile of it.
func (o Observation) Observe() (Observed, error) {
	run := o.Program
	dir, err := os.MkdirTemp(run.Scratch, "captures")
	if err != nil {
		return Observed{}, fmt.Errorf("making a folder for captures: %w", err)
	}
	name := Absolute(run.Argv[0])
	known, _ := o.Captures.Profile(name) // none is no trouble
	c := capture.NewCollector(o.Captures, o.Limits, dir, o.Wanted, known)
	c.Fast, c.Stands = o.Folder, o.Stands
	run.Observe, run.For = true, o.For
	heaviest := name
	finish := sync.OnceValue(func() capture.Run {
		seen := c.Finish()
		for _, n := range seen.Notes {
			run.Log("%s", n)
		}
		if len(seen.Seen)+len(seen.Unseen) > 0 {
			var err error
			if heaviest, err = o.Captures.ObservedAll(name, seen); err != nil {
				run.Log("%v", err)
			}
		}
		return seen
	})
	run.Gone = func() {
		n := 0
		for _, s := range finish().Seen {
			n += len(s.Captures)
		}
		if o.Gone != nil {
			o.Gone(n)
		}
	}
	begun := time.Now()
	ctx := o.Context
	if ctx == nil {
		ctx = context.Background()
	}
	exit, err := profile.Run(ctx, run, c.Host())
	out := Observed{Exit: exit, Ended: time.Now()}
	out.Took = out.Ended.Sub(begun)
	out.Run = finish()
	out.Program = heaviest
	out.Kept = time.Now()
	return out, err
}

// Absolute is the name under which a program's profile is kept.
func Absolute(program string) string {
	if path, err := filepath.Abs(program); err == nil {
		program = path
	}
	if path, err := filepath.EvalSymlinks(program); err == nil {
		program = path
	}
	return program
}

// observed runs the program, searches on what was captured, and leaves the decisions to the
// tuner's Finish.
func (w *ReplaySearch) observed(r *run, wanted func(*profile.Launch) error) (profile.Exit, error) {
	run, err := Observation{Program: r.program, Captures: w.Captures, Limits: w.Limits,
		Folder: w.memory.For, For: r.Observe, Wanted: wanted, Stands: w.stands(),
		Gone: func(captured int) {
			w.Say(
				"observed for %v: %d launches are captured; the program continues unobserved (gnvcc tune searches on them)", r.Observe, captured)
		}}.Observe()
	a := &w.account
	a.ran, a.ended, a.kept, a.cost, a.times = run.Took, run.Ended, run.Kept, run.Cost, run.Times
	r.Signals.ProgramEnded()
	if len(run.Seen)+len(run.Unseen) > 0 {
		r.observed = run.Program
	}
	if err != nil {
		return run.Exit, err
	}
	r.compare(run)
	if w.standing != nil {
		w.standing.by.Clear() // it may have been taken back
	}
	return w.searchSeen(r, run)
}

// searchSeen searches on what a run has left.
func (w *ReplaySearch) searchSeen(r *run, run Observed) (profile.Exit, error) {
	exit, signals := run.Exit, r.Signals
	var total float64
	var list []*capture.Manifest
	var all []profile.Seen
	for _, s := range run.Seen {
		total += s.Use.Seconds
	}
	floor := floorOf(run.Seen, total)
	open, stand := w.standing.split(run.Seen)
	missing := func(s capture.Seen) string {
		share := s.Use.Seconds / max(total, 1e-12)
		if s.Why != "" || share < floor {
			return s.Why
		}
		if share < smallest {
			return manyMissing
		}
		return fmt.Sprintf(
			"no launch was captured, although it takes %.0f %% of the time: run gnvcc tune again",
			100*share)
	}
	for _, s := range open {
		list = append(list, s.Captures...)
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Weight() > list[j].Weight() })
	w.account.enter(open, missing)
	w.account.stand(stand, w.standing)
	w.account.graphs(run.Unseen)
	jobs := w.Jobs(list, total)
	elsewhere := w.elsewhere(jobs)
	for _, s := range open {
		if elsewhere(s.Launch) {
			continue
		}
		p := s.Profile()
		all = append(all, p)
		if len(s.Captures) > 0 {
			continue
		}
		if why := missing(s); why != "" && why != manyMissing { // that is said once, at the end
			w.Run.LeaveAlone(p.Launch, why)
		}
	}
	// counts of all launches, also of those that were not captured
	w.Run.Saw(all)
	if len(run.Seen)+len(run.Unseen) > 0 {
		w.Say("%s%s%s", observed(run.Seen, total), inGraphs(run.Unseen), held(run.Cost))
	}
	if part := secondsOf(stand) / max(total, 1e-12); part >= smallest {
		w.Say("%.0f %% of that stands as it was decided before, and is not searched again", 100*part)
	}
	if signals.Asked() != 0 {
		w.Say("interrupted: %d launches are captured, gnvcc tune searches on them", len(list))
		return exit, nil
	}
	if r.Look {
		w.Say("%d launches are captured: gnvcc tune searches on them", len(list))
		return exit, w.Captures.Trim(w.Limits)
	}
	w.counted = w.spread == nil
	w.Search(signals.Rest(), jobs)
	return exit, w.Captures.Trim(w.Limits)
}

func secondsOf(list []capture.Seen) (sum float64) {
	for _, s := range list {
		sum += s.Use.Seconds
	}
	return sum
}

// stands says of what is observed that its decision stands, as far as that is known by then.
func (w *ReplaySearch) stands() func(*profile.Launch) bool {
	if w.standing == nil {
		return nil
	}
	return func(l *profile.Launch) bool { return w.standing.known(l).on(l) }
}

// manyMissing is why a kernel of very many has no capture: each takes next to nothing, and all of
// them together most of the time.
const manyMissing = "too many kernels to capture each: a second run captures the heaviest"

// floorOf is the share of a run's time below which nothing is looked at.
func floorOf(seen []capture.Seen, total float64) float64 {
	var shares []float64
	for _, s := range seen {
		shares = append(shares, s.Use.Seconds/max(total, 1e-12))
	}
	return capture.Floor(shares)
}

// again searches on the captures that there are.
func (w *ReplaySearch) again(ctx context.Context, o policy.Options) error {
	all, skipped := w.Captures.List()
	if skipped > 0 {
		w.Say("%d captures can't be used on this machine and are skipped", skipped)
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
			"no captured launches of such a kernel: gnvcc tune -- ./app captures some (gnvcc doctor --captures lists them)")
	}
	w.account.ended = time.Now()
	w.account.captured(list)
	jobs := w.Jobs(list, total)
	if w.spread != nil {
		jobs = w.queue(list)
	}
	w.Search(ctx, jobs)
	return nil
}

// queue are the jobs of several programs, each with the same part of the budget: next to a program
// that runs for an hour the kernels of the others would be worth nothing.
func (w *ReplaySearch) queue(list []*capture.Manifest) (jobs []Job) {
	by := map[string][]*capture.Manifest{}
	for _, m := range list {
		by[m.Program] = append(by[m.Program], m)
	}
	for _, program := range slices.Sorted(maps.Keys(by)) {
		var total float64
		for _, m := range by[program] {
			total += m.Weight()
		}
		for _, j := range w.Jobs(by[program], total) {
			j.Share /= float64(len(by))
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// elsewhere says of which kernels others decide: of those that they search on, where they do. The
// run here hears nothing of these, and so decides nothing: a decision without a measurement
// would take the place of theirs.
func (w *ReplaySearch) elsewhere(jobs []Job) func(*profile.Launch) bool {
	theirs := map[string]bool{}
	identity := func(cubin, kernel string) string {
		if k, err := w.Kernel(cubin, kernel); err == nil {
			return k.Identity
		}
		return ""
	}
	if w.spread != nil {
		for _, j := range jobs {
			theirs[identity(j.Capture.Cubin, j.Capture.Kernel)] = true
		}
		delete(theirs, "")
	}
	return func(l *profile.Launch) bool {
		return len(theirs) > 0 && theirs[identity(l.Cubin, l.Kernel)]
	}
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

// inGraphs says what graphs took besides, "" where it is nothing.
func inGraphs(unseen []profile.Unseen) string {
	var sum float64
	for _, g := range unseen {
		sum += g.Seconds
	}
	if sum <= 0 {
		return ""
	}
	return fmt.Sprintf(", and CUDA graphs, whose kernels can't be timed one by one, %.3g s more", sum)
}

// SocketScratch makes a folder for the program's run whose path is short enough for a socket in it.
func SocketScratch() (*scratch.Folder, error) {
	var first error
	for _, dir := range []string{os.TempDir(), "/tmp"} {
		s, err := scratch.NewIn(dir)
		if err == nil && profile.FitsSocket(s.Path) {
			return s, nil
		}
		if err == nil {
			s.Remove()
			err = fmt.Errorf("the path %s is too long for a socket", dir)
		}
		if first == nil {
			first = err
		}
	}
	return nil, fmt.Errorf("a scratch folder for the program's run: %w; set TMPDIR to a folder that can be written", first)
}
