package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gnvcc/cache"
	"gnvcc/policy"
	"gnvcc/policy/decide"
	"gnvcc/policy/lever"
	"gnvcc/profile"
	"gnvcc/sim"
)

// The tuner: profile's Decider. It knows the kernels and configurations of a run, decides at each
// launch that it is asked about whether to tune, to look again, or to leave alone, and at the end
// what is believed of each kernel.

// A Tuner serves one run of an application, its child processes included.
type Tuner struct {
	o        policy.Options
	compiler policy.Compiler
	sink     policy.Sink
	memory   policy.Memory
	progress policy.Progress
	pool     *pool
	now      func() time.Time
	ctx      context.Context // when it ends, so does tuning: the program runs on
	grace    time.Duration   // SetBudget's
	brief    *Look           // of the next search; nil: it takes the whole budget at once

	// held during Tune too: two processes must not disturb each other's clocks
	mu      sync.Mutex
	kernels map[string]*kernel // by identity and device
	byName  map[string]*kernel // by Captured.id
	order   []*kernel
	checks  map[Captured]bool // on which winners are checked, and none looked for
	grids   map[Captured]bool // ManyGrids
	spentOn map[Captured]map[step]time.Duration
	notes   []string
	ended   bool
}

var _ profile.Decider = (*Tuner)(nil)

// NewTuner makes a tuner; Finish ends it. Where ctx ends before, no launch is looked at any more.
// progress may be nil.
func NewTuner(ctx context.Context, o policy.Options, c policy.Compiler, s policy.Sink,
	m policy.Memory, p policy.Progress) *Tuner {
	if p == nil {
		p = policy.Silent{}
	}
	t := &Tuner{o: o, compiler: c, sink: s, memory: m, progress: p, now: time.Now, ctx: ctx,
		kernels: map[string]*kernel{}, byName: map[string]*kernel{}, checks: map[Captured]bool{},
		grids:   map[Captured]bool{},
		spentOn: map[Captured]map[step]time.Duration{}}
	t.pool = newPool(ctx, c, o.Jobs)
	return t
}

// Start is profile's: a process of the application uses the GPU.
func (t *Tuner) Start(p *profile.Process) {}

// Launch is profile's: what to do with this launch.
func (t *Tuner) Launch(l *profile.Launch) profile.Verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.kernel(l)
	if k == nil {
		return profile.Verdict{}
	}
	c := k.config(l, t)
	if k.Alone != "" || k.Lost != "" {
		return profile.Verdict{}
	}
	if !c.Open() || t.ctx.Err() != nil {
		return profile.Verdict{}
	}
	if l.LeaveAlone != "" {
		if !c.Searched() && c.Alone == "" {
			c.Alone = l.LeaveAlone
			t.progress.Alone(&k.Kernel, c.Shape, c.Alone)
		}
		return c.later() // another launch of the same configuration may be an ordinary one
	}
	if c.Searched() {
		if k.pending(c, l, &t.o, t.pool) {
			c.asked = t.now()
			return profile.Verdict{Tune: true}
		}
		return c.later()
	}
	full := k.Searched()
	if verified := full - t.o.Full; full >= t.o.Full && (len(k.Winners()) == 0 ||
		verified >= t.o.Verify) {
		c.Alone = fmt.Sprintf("more than %d configurations of this kernel", full)
		c.Close()
		return profile.Verdict{}
	}
	c.asked = t.now()
	return profile.Verdict{Tune: true}
}

// Tune is profile's: the program stands still at this launch.
func (t *Tuner) Tune(ctx context.Context, l *profile.Launch, s profile.Session) profile.Verdict {
	entered := t.now() // waiting for another process' search is none of this one's time
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.kernel(l)
	if k == nil || t.ended || t.ctx.Err() != nil {
		return profile.Verdict{}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()
	c := k.config(l, t)
	c.Alone = ""
	begun := t.now()
	if saved := entered.Sub(c.asked); !c.asked.IsZero() && saved > 0 {
		begun = begun.Add(-saved)
	}
	defer func() { c.used += t.now().Sub(begun) }()
	left := c.left(&t.o)
	if c.Searched() && !c.searchable(&t.o) {
		left = t.o.Budget - c.used
	}
	x := t.search(ctx, k, c, l, s, begun.Add(left))
	first := !c.Searched()
	err := t.look(k, c, l, x)
	c.Notebook.Cost = x.cost()
	t.metered(x)
	var stop errStop
	switch {
	case errors.As(err, &stop):
		if c.winner == nil && len(c.fresh) == 0 {
			c.Alone = stop.reason
			c.Close()
		}
	case err != nil && k.crashed(c, &t.o, first):
		return profile.Verdict{}
	case err != nil:
		k.Lost = policy.FirstLine(err)
		t.progress.Lost(&k.Kernel, c.Shape, err)
		return profile.Verdict{}
	}
	t.progress.Tuned(&k.Kernel, c.Shape, c.outcome(&k.Kernel))
	if !c.Open() {
		return profile.Verdict{}
	}
	return c.later()
}

// look does at a launch what its configuration's phase asks for.
func (t *Tuner) look(k *kernel, c *config, l *profile.Launch, x *search) error {
	switch {
	case !c.Searched():
		c.Phase = decide.Searched
		if k.Searched() > t.o.Full || t.checks[capturedOf(l, c.Shape)] {
			return x.revisit() // only what won elsewhere
		}
		c.Own = true
		return x.run()
	case c.goOn:
		c.goOn = false
		return x.run()
	case c.winner != nil && k.Broken(c.winner.Recipe, l) && c.searchable(&t.o):
		// The values that the winner was made for are not those of all launches: search again without
		// them.
		c.retuned++
		c.Notebook.Done = false
		return x.run()
	case c.Phase == decide.Resumable && c.resumed < maxResumed && t.pool.idle(&k.Kernel) &&
		c.searchable(&t.o):
		// The budget had ended before all was compiled, and the program ran on: now it is.
		c.resumed++
		c.Phase = decide.Searched
		return x.run()
	}
	return x.revisit()
}

// search prepares a search that ends by a time.
func (t *Tuner) search(ctx context.Context, k *kernel, c *config, l *profile.Launch,
	s profile.Session, end time.Time) *search {
	d, known := sim.Lookup(l.Device.Major*10 + l.Device.Minor)
	sit := &lever.Situation{Kernel: &k.Kernel, Shape: c.Shape, Device: d, Known: known,
		Values: policy.Values(&k.Kernel, l), Options: &t.o, Trial: c.Trial, Largest: l.MaxThreads}
	sit.Device.SMs = l.Device.Multiprocessors
	sit.ManyGrids = t.grids[capturedOf(l, c.Shape)]
	for _, other := range k.Configs {
		sit.Shapes = append(sit.Shapes, other.Shape)
	}
	// Of the budget, a quarter is kept for measuring what was compiled.
	by := t.now().Add(end.Sub(t.now()) * 3 / 4)
	return &search{t: t, k: k, c: c, l: l, s: s, ctx: ctx, sit: sit,
		meter: meter{since: time.Now()}, end: end, deadline: end, moment: 100 * time.Millisecond,
		compileBy: by,
		begun:     t.now(), before: c.Notebook.Cost, spent: t.spent()}
}

// LeftAlone is profile's: a launch that was to be tuned could not be.
func (t *Tuner) LeftAlone(l *profile.Launch, reason string) profile.Verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.kernel(l)
	if k == nil {
		return profile.Verdict{}
	}
	c := k.config(l, t)
	if !c.Searched() && c.Alone == "" {
		c.Alone = reason
		t.progress.Alone(&k.Kernel, c.Shape, reason)
	}
	v := c.later()
	if v.Again > 64 { // what was busy a few times will be busy the next time
		c.Close()
		return profile.Verdict{}
	}
	return v
}

// End is profile's: counts and what varied, over a process' life.
func (t *Tuner) End(p *profile.Process, s profile.Summary) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, seen := range s.Kernels {
		k := t.kernel(seen.Launch)
		if k == nil {
			continue
		}
		c := k.config(seen.Launch, t)
		c.Count += seen.Launch.Count
		c.Varied += seen.Varied
		c.Seconds += seen.Seconds
		l := *seen.Launch
		l.Others = l.Together() || c.Launch != nil && c.Launch.Together()
		c.Launch = &l
	}
	if s.Graphs > 0 {
		t.notes = append(t.notes, fmt.Sprintf("%d launches of graphs: their kernels are not tuned there",
			s.Graphs))
	}
	if !s.Whole {
		t.notes = append(t.notes,
			fmt.Sprintf("process %d ended abruptly: its launch counts may be too low", p.PID))
	}
	t.notes = append(t.notes, s.Notes...)
}

// kernel returns what a launch's kernel is, nil if the user did not ask for it.
func (t *Tuner) kernel(l *profile.Launch) *kernel {
	id, device := capturedOf(l, policy.Shape{}).id(), l.Model()
	if k, ok := t.byName[id]; ok {
		return k
	}
	var k *kernel
	known, err := (*policy.Kernel)(nil), error(nil)
	if l.Cubin == "" {
		err = errors.New("its module is not known")
	} else {
		known, err = t.compiler.Kernel(l.Cubin, l.Kernel)
	}
	switch {
	case err != nil:
		k = &kernel{Findings: decide.Findings{Kernel: policy.Kernel{Name: l.Kernel}, Device: device,
			Alone: policy.FirstLine(err)}}
		k.Default.Registers = l.Registers
	case t.kernels[known.Identity+device] != nil: // the same kernel in another module
		k = t.kernels[known.Identity+device]
		k.For = slices.Compact(slices.Sorted(slices.Values(append(k.For, known.For...))))
	default:
		k = &kernel{Findings: decide.Findings{Kernel: *known, Device: device, Alone: known.Alone}}
		if k.Bounds != "" && t.o.Keep && k.Alone == "" {
			t.progress.Note(fmt.Sprintf("%s: %s is kept", k.Label(), k.Bounds))
		}
		t.kernels[known.Identity+device] = k
		k.remember(t, device)
	}
	if k.configs == nil {
		k.configs = map[policy.Shape]*config{}
		if t.o.Only != nil && !t.o.Only.MatchString(k.Name) && !t.o.Only.MatchString(k.Short) {
			k = nil
		} else {
			t.order = append(t.order, k)
			if k.Alone != "" {
				t.progress.Alone(&k.Kernel, policy.ShapeOf(l), k.Alone)
			}
		}
	}
	t.byName[id] = k
	return k
}

// Finish ends the run: it settles every kernel and hands the decisions to the sink. Results come in
// order of first launch.
func (t *Tuner) Finish() ([]decide.Result, error) {
	t.pool.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	last := decide.Run{Options: &t.o, Memory: t.memory, Now: t.now}
	for _, k := range t.order {
		last.Kernels = append(last.Kernels, &k.Findings)
	}
	results := last.Settle()
	var failed error
	for _, r := range results {
		if r.Unheld != "" {
			t.notes = append(t.notes, fmt.Sprintf("%s: %s", r.Kernel.Label(), r.Unheld))
		}
		if r.Decision != nil && t.sink != nil {
			if err := t.sink.Decide(*r.Decision); err != nil && failed == nil {
				failed = fmt.Errorf("keep what was decided for %s: %w", r.Kernel.Label(), err)
			}
		}
	}
	return results, failed
}

// Notes are what the run has to say beside its results.
func (t *Tuner) Notes() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.notes...)
}

// outcome sums up what tuning a configuration gave.
func (c *config) outcome(k *policy.Kernel) policy.Outcome {
	o := policy.Outcome{Before: c.Before, Alone: c.Alone, Tried: len(c.Notebook.Trials)}
	for _, tr := range c.Notebook.Trials {
		if tr.N > 0 {
			o.Run++
		}
		if tr.Refused != "" {
			o.Refused++
			if tr.Because == cache.OtherBits {
				o.Other++
			}
		}
	}
	if c.winner != nil && c.winner.Confirmed != nil {
		o.Recipe, o.Words = c.winner.Text, lever.Words(k, c.winner.Recipe)
		o.Ratio, o.Before, o.After = c.winner.Confirmed.Ratio, c.winner.Confirmed.Before,
			c.winner.Confirmed.After
		o.Ratio.Estimate = c.winner.Confirmed.Careful()
	}
	if best := policy.Rank(c.Notebook.Trials); len(best) > 0 && best[0].Open != "" {
		o.Open = fmt.Sprintf("%s took %.2f of the time, but %s", best[0].Text, best[0].Ratio,
			best[0].Open)
	}
	return o
}
