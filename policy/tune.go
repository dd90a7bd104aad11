package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gnvcc/cache"
	"gnvcc/profile"
	"gnvcc/rewrite"
	"gnvcc/rewrite/recipe"
	"gnvcc/sim"
)

// The tuner: profile's Host. It knows the kernels and configurations of a run, decides at each launch that it is asked
// about whether to tune, to look again, or to leave alone, and at the end what is believed of each kernel.

// A Tuner serves one run of an application, its child processes included.
type Tuner struct {
	o        Options
	compiler Compiler
	sink     Sink
	memory   Memory
	progress Progress
	pool     *pool
	now      func() time.Time
	ctx      context.Context // when it ends, so does tuning: the program runs on
	begun    time.Time

	mu      sync.Mutex // held during Tune too: two processes must not disturb each other's clocks
	kernels map[string]*kernel
	byName  map[string]*kernel // by cubin and name
	order   []*kernel
	notes   []string
	ended   bool
}

var _ profile.Host = (*Tuner)(nil)

// A kernel is a Kernel with what the run found.
type kernel struct {
	Kernel
	alone   string // why it is left alone altogether
	crashes int    // of candidates, that cost a process of our own
	lost    string // what ended a process while this kernel was tuned: nothing is adopted
	configs map[Shape]*config
	order   []*config
	won     []recipe.Recipe
	device  string
	past    *cache.Decision // of an earlier run

	withheld string // a recipe that nobody measured on enough of the launches, and why it is not adopted
}

// A config is one configuration of a kernel.
type config struct {
	shape    Shape
	key      string // of its notebook
	book     notebook
	fresh    map[string]bool // recipes compared in this run
	launch   *profile.Launch
	before   cache.Time
	alone    string // why there was no search; "" if there was, or will be
	closed   bool   // and there will be none
	searched bool
	count    int
	varied   int
	checks   int // later launches looked at
	again    int // the last distance asked for
	winner   *Trial
	asked    time.Time         // when the launch was taken that is to be looked at: copying memory aside is the budget's, too
	used     time.Duration     // of the budget in this run
	retuned  int               // searches because values changed
	resumed  int               // searches because more was compiled meanwhile
	waits    bool              // for such
	note     string            // for people
	random   Error             // by which the kernel's own results differ from run to run
	untried  map[string]string // levers with nothing to try, and why
}

// NewTuner makes a tuner; Finish ends it. Where ctx ends before, no launch is looked at any more. progress may be nil.
func NewTuner(ctx context.Context, o Options, c Compiler, s Sink, m Memory, p Progress) *Tuner {
	if p == nil {
		p = silent{}
	}
	t := &Tuner{o: o, compiler: c, sink: s, memory: m, progress: p, now: time.Now, ctx: ctx,
		kernels: map[string]*kernel{}, byName: map[string]*kernel{}}
	t.pool = newPool(ctx, c, o.Jobs)
	t.begun = t.now()
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
	if k.alone != "" || k.lost != "" {
		return profile.Verdict{}
	}
	if c.closed || t.ctx.Err() != nil {
		return profile.Verdict{}
	}
	if l.LeaveAlone != "" {
		if !c.searched && c.alone == "" {
			c.alone = l.LeaveAlone
			t.progress.Alone(&k.Kernel, c.shape, c.alone)
		}
		return c.later() // another launch of the same configuration may be an ordinary one
	}
	if t.o.Total > 0 && t.now().Sub(t.begun) > t.o.Total {
		if !c.searched {
			c.alone, c.closed = fmt.Sprintf("the budget of %v for the run was used up", t.o.Total), true
		}
		return profile.Verdict{}
	}
	if c.searched {
		if k.pending(c, l, &t.o, t.pool) {
			c.asked = t.now()
			return profile.Verdict{Tune: true}
		}
		return c.later()
	}
	full, verified := 0, 0
	for _, other := range k.order {
		if other.searched {
			full++
		}
	}
	verified = full - t.o.Full
	if full >= t.o.Full && (len(k.winners()) == 0 || verified >= t.o.Verify) {
		c.alone, c.closed = fmt.Sprintf("more than %d configurations of this kernel", full), true
		return profile.Verdict{}
	}
	c.asked = t.now()
	return profile.Verdict{Tune: true}
}

const maxResumed = 3 // each may take a budget

// later asks for a launch later on: after 1, 2, 4, ... more launches.
func (c *config) later() profile.Verdict {
	c.again = max(1, 2*c.again)
	return profile.Verdict{Again: c.again}
}

// pending tells whether a searched configuration has something to be looked at at this launch.
func (k *kernel) pending(c *config, l *profile.Launch, o *Options, p *pool) bool {
	const look = 10 // launches that it takes to check a winner
	if c.used+time.Duration(look*c.before.Median) >= o.Budget {
		return false
	}
	if c.winner != nil && c.retuned < 2 && broken(&k.Kernel, c.winner.Recipe, l) && c.searchable(o) {
		return true
	}
	if c.waits && c.resumed < maxResumed && p.Idle(&k.Kernel) && c.searchable(o) {
		return true
	}
	for _, r := range k.winners() {
		tr := c.trial(r.String())
		if tr == nil || tr.Refused == "" && tr.Confirmed == nil {
			return true
		}
		if tr.Refused == "" && rewrite.ExactnessOf(tr.Recipe) > rewrite.ByConstruction && c.checks < o.Checks {
			return true
		}
	}
	return false
}

// looks is the part of a budget that is kept for later launches, on which what won is checked again.
const looks = 8

// left is what a search may use of the budget.
func (c *config) left(o *Options) time.Duration { return o.Budget - o.Budget/looks - c.used }

// searchable tells whether that is enough to begin one.
func (c *config) searchable(o *Options) bool { return c.left(o) > o.Budget/(2*looks) }

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
	c.alone = ""
	begun := t.now()
	if saved := entered.Sub(c.asked); !c.asked.IsZero() && saved > 0 {
		begun = begun.Add(-saved)
	}
	defer func() { c.used += t.now().Sub(begun) }()
	left := c.left(&t.o)
	if c.searched && !c.searchable(&t.o) {
		left = t.o.Budget - c.used
	}
	x := t.search(ctx, k, c, l, s, begun.Add(left))
	var err error
	first := !c.searched
	switch {
	case !c.searched:
		c.searched = true
		full := 0
		for _, other := range k.order {
			if other.searched {
				full++
			}
		}
		if full > t.o.Full {
			err = x.revisit() // only what won elsewhere
		} else {
			err = x.run()
		}
	case c.winner != nil && broken(&k.Kernel, c.winner.Recipe, l) && c.searchable(&t.o):
		// The values that the winner was made for are not those of all launches: search again without them.
		c.retuned++
		c.book.Done = false
		err = x.run()
	case c.waits && c.resumed < maxResumed && t.pool.Idle(&k.Kernel) && c.searchable(&t.o):
		// The budget had ended before all was compiled, and the program ran on: now it is.
		c.resumed++
		c.waits = false
		err = x.run()
	default:
		err = x.revisit()
	}
	c.book.Cost = x.cost()
	var stop errStop
	switch {
	case errors.As(err, &stop):
		if c.winner == nil && len(c.fresh) == 0 {
			c.alone, c.closed = stop.reason, true
		}
	case err != nil && k.crashed(c, &t.o, first):
		return profile.Verdict{}
	case err != nil:
		k.lost = firstLine(err)
		t.progress.Lost(&k.Kernel, c.shape, err)
		return profile.Verdict{}
	}
	t.progress.Tuned(&k.Kernel, c.shape, c.outcome(&k.Kernel))
	if c.closed {
		return profile.Verdict{}
	}
	return c.later()
}

// search prepares a search that ends by a time.
func (t *Tuner) search(ctx context.Context, k *kernel, c *config, l *profile.Launch, s profile.Session, end time.Time) *search {
	d, known := sim.Lookup(l.Device.Major*10 + l.Device.Minor)
	sit := &Situation{Kernel: &k.Kernel, Shape: c.shape, Device: d, Known: known, Values: Values(&k.Kernel, l), Options: &t.o, Trial: c.trial, Largest: l.MaxThreads}
	sit.Device.SMs = l.Device.Multiprocessors
	for _, other := range k.order {
		sit.Shapes = append(sit.Shapes, other.shape)
	}
	if t.o.Total > 0 {
		if last := t.begun.Add(t.o.Total); last.Before(end) {
			end = last
		}
	}
	// Of the budget, a quarter is kept for measuring what was compiled.
	by := t.now().Add(end.Sub(t.now()) * 3 / 4)
	return &search{t: t, k: k, c: c, l: l, s: s, ctx: ctx, sit: sit, end: end, deadline: end, compileBy: by,
		begun: t.now(), before: c.book.Cost, spent: t.spent()}
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
	if !c.searched && c.alone == "" {
		c.alone = reason
		t.progress.Alone(&k.Kernel, c.shape, reason)
	}
	v := c.later()
	if v.Again > 64 { // what was busy a few times will be busy the next time
		c.closed = true
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
		c.count += seen.Launch.Count
		c.varied += seen.Varied
		c.launch = seen.Launch
	}
	if s.Graphs > 0 {
		t.notes = append(t.notes, fmt.Sprintf("%d launches of graphs: their kernels are not tuned there", s.Graphs))
	}
	if !s.Whole {
		t.notes = append(t.notes, fmt.Sprintf("process %d ended without a word: counts of its launches may be too low", p.PID))
	}
	t.notes = append(t.notes, s.Notes...)
}

// kernel returns what a launch's kernel is, nil if the user did not ask for it.
func (t *Tuner) kernel(l *profile.Launch) *kernel {
	id := l.Cubin + " " + l.Kernel
	if k, ok := t.byName[id]; ok {
		return k
	}
	var k *kernel
	known, err := (*Kernel)(nil), error(nil)
	if l.Cubin == "" {
		err = errors.New("it can't be told which module it comes from")
	} else {
		known, err = t.compiler.Kernel(l.Cubin, l.Kernel)
	}
	switch {
	case err != nil:
		k = &kernel{Kernel: Kernel{Name: l.Kernel}, alone: firstLine(err)}
		k.Default.Registers = l.Registers
	case t.kernels[known.Identity] != nil: // the same kernel in another module
		k = t.kernels[known.Identity]
		k.For = slices.Compact(slices.Sorted(slices.Values(append(k.For, known.For...))))
	default:
		k = &kernel{Kernel: *known, alone: known.Alone}
		if k.Bounds != "" && !t.o.Over && k.alone == "" {
			t.progress.Note(fmt.Sprintf("%s: %s is kept", k.label(), k.Bounds))
		}
		t.kernels[known.Identity] = k
		k.remember(t, deviceOfLaunch(l))
	}
	if k.configs == nil {
		k.configs = map[Shape]*config{}
		if t.o.Only != nil && !t.o.Only.MatchString(k.Name) && !t.o.Only.MatchString(k.Short) {
			k = nil
		} else {
			t.order = append(t.order, k)
			if k.alone != "" {
				t.progress.Alone(&k.Kernel, shapeOf(l), k.alone)
			}
		}
	}
	t.byName[id] = k
	return k
}

// deviceOfLaunch names the GPU that a launch is for, "" where that is not known.
func deviceOfLaunch(l *profile.Launch) string {
	if l.Device == nil {
		return ""
	}
	return l.Device.Name
}

func shapeOf(l *profile.Launch) Shape {
	return Shape{Grid: l.Grid, Block: l.Block, Dynamic: l.Dynamic}
}

// config returns the configuration of a launch.
func (k *kernel) config(l *profile.Launch, t *Tuner) *config {
	shape := shapeOf(l)
	if c := k.configs[shape]; c != nil {
		return c
	}
	device := deviceOfLaunch(l)
	k.device = device
	c := &config{shape: shape, launch: l, fresh: map[string]bool{}, key: notebookKey(k.Identity, device, shape, t.o.leave())}
	if k.Identity != "" {
		c.book = readNotebook(t.memory, c.key, k.Identity)
	}
	k.configs[shape] = c
	k.order = append(k.order, c)
	return c
}

// trial returns what is known of a recipe, nil if nothing.
func (c *config) trial(text string) *Trial {
	for _, tr := range c.book.Trials {
		if tr.Text == text {
			return tr
		}
	}
	return nil
}

// forget takes a trial out of the notebook.
func (c *config) forget(tr *Trial) {
	for i, other := range c.book.Trials {
		if other == tr {
			c.book.Trials = append(c.book.Trials[:i:i], c.book.Trials[i+1:]...)
			return
		}
	}
}

// win notes a recipe that is better somewhere.
func (k *kernel) win(r recipe.Recipe) {
	for _, old := range k.won {
		if old.String() == r.String() {
			return
		}
	}
	k.won = append(k.won, r)
}

// winners returns the recipes that won on any configuration and were refused on none.
func (k *kernel) winners() []recipe.Recipe {
	var out []recipe.Recipe
	for _, r := range k.won {
		if k.refused(r.String()) == "" {
			out = append(out, r)
		}
	}
	return out
}

// refused says why a recipe was refused on any configuration, "" if on none.
func (k *kernel) refused(text string) string {
	for _, c := range k.order {
		if tr := c.trial(text); tr != nil && tr.Refused != "" {
			return tr.Refused
		}
	}
	return ""
}

func (k *Kernel) label() string {
	if k.Short != "" {
		return k.Short
	}
	return k.Name
}
