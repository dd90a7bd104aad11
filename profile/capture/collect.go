package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"gnvcc/profile"
)

// A Collector is the host of a run that is observed and captured. It serves one run.
type Collector struct {
	// Fast gives a folder for a file of so many bytes that is faster than dir, "": there is none; nil:
	// there never is.
	Fast func(bytes int64) string

	// Stands says of launches of a kernel that is of use that none of this size is captured; it must not
	// take time. nil: all are.
	Stands func(*profile.Launch) bool

	store  *Store
	limits Limits
	wanted func(*profile.Launch) error // why a kernel is of no use; nil: all are
	dir    string                      // of the agent's files
	now    func() time.Time

	mu        sync.Mutex
	stored    []*Manifest // captures of earlier runs of the programs that were started
	shapes    map[string]*shape
	kernels   map[string]*ofKernel
	judging   sync.Mutex // one kernel at a time
	families  map[string]*family
	order     []*shape
	underWay  map[*taken]bool   // one of each process at the most
	unwritten map[string]*taken // captures whose files are not complete yet, by path
	bytes     int64             // that were captured
	stood     time.Duration     // that the program stood still for captures, of which
	made      int               // are there
	begun     time.Time
	times     Times
	known     map[string]weight // of earlier runs, by configuration
	begins    map[string]bool   // programs of which a process was started
	floor     float64           // share of the time below which nothing is captured, by them
	unseen    []profile.Unseen
	calls     []profile.Call
	follows   []profile.Follow
	peak      int64
	waited    time.Duration // that launches waited for judgements about kernels
	stopped   bool          // no launch is captured any more
	notes     []string
	last      chan struct{} // closed when the last capture so far is packed; nil: there is none
	pack      sync.WaitGroup
	have      kept // the packers', which come one after the other
}

// A shape is a configuration of a kernel: grid, block and dynamic shared memory, on one model of
// GPU: where a program uses several, each has times of its own.
type shape struct {
	launch   *profile.Launch
	kernel   *ofKernel
	family   *family
	why      string // not captured so far, because
	captures []*taken
	tries    int
	vain     int                // captures that were made and not kept, since the launch took something else
	slow     time.Duration      // so much was not enough for one
	courses  map[string]*course // of sets, by their values
	seconds  float64            // on the device, of processes that live, as of the last question
	launches int                // at that one
	asked    time.Duration      // when that was, in running time, and
	first    time.Duration      // the first one
	use      Use                // of processes that have ended
	params   []profile.Param    // of the first one
	sets     profile.Sets
	watched  float64
	beside   float64
}

// ofKernel is what all configurations of a kernel have together.
type ofKernel struct {
	captures int
	tries    int    // that were given up
	waits    bool   // it was asked about, and may have a capture
	why      string // the last one
	judgement
}

func (c *Collector) kernel(l *profile.Launch) *ofKernel {
	key := l.Cubin + " " + l.Kernel
	if c.kernels[key] == nil {
		c.kernels[key] = &ofKernel{}
	}
	return c.kernels[key]
}

// taken is a capture, or one that is on its way.
type taken struct {
	shape   *shape
	asked   time.Time
	room    int64 // bytes that it is expected to take, at the most
	order   profile.Order
	m       *Manifest
	values  []byte  // of its launch, as sets have them
	nth     int     // launch of its configuration
	of      int     // and of its set
	took    float64 // seconds of such launches, then or soon after; 0: not known
	process *profile.Process
	file    chan error // what became of its file, once
}

// NewCollector makes a collector; dir is a folder for files that are on their way into the store.
// known is what earlier runs of the program have shown, nil: nothing.
func NewCollector(s *Store, l Limits, dir string, wanted func(*profile.Launch) error,
	known *Profile) *Collector {
	c := &Collector{store: s, limits: l, wanted: wanted, dir: dir, now: time.Now,
		begins: map[string]bool{}, shapes: map[string]*shape{}, kernels: map[string]*ofKernel{},
		families: map[string]*family{}, underWay: map[*taken]bool{}, unwritten: map[string]*taken{}, have: kept{}}
	c.begun = c.now()
	c.knows(known)
	return c
}

// knows takes over what earlier runs have shown of a program.
func (c *Collector) knows(p *Profile) {
	var shares []float64
	for key, w := range p.weights() {
		if c.known == nil {
			c.known = map[string]weight{}
		}
		if old, ok := c.known[key]; !ok || w.share > old.share {
			c.known[key] = w
		}
		shares = append(shares, w.share)
	}
	c.floor = min(cmp.Or(c.floor, runShare), Floor(shares))
}

// Host is what a run of the program is given.
func (c *Collector) Host() profile.Host {
	return profile.Host{Start: c.start, Launch: c.launch, Written: c.written, End: c.end}
}

func (c *Collector) shape(l *profile.Launch) *shape {
	key := fmt.Sprint(l.Cubin, l.Kernel, l.Shape, l.Model())
	s := c.shapes[key]
	if s == nil {
		s = &shape{launch: l, kernel: c.kernel(l), family: c.family(l)}
		c.shapes[key] = s
		c.order = append(c.order, s)
		c.recall(s)
	}
	return s
}

// recall takes over what the store has of a configuration, by earlier runs of the program: it stands
// for this one's launches, which need not be held up for it again.
func (c *Collector) recall(s *shape) {
	l := s.launch
	mask := c.known[fmt.Sprint(l.Kernel, l.Shape)].sets.Mask
	for _, m := range c.stored {
		_, _, args, err := settingsOf(m.Settings)
		if err != nil || m.Cubin != l.Cubin || m.Kernel != l.Kernel || m.Shape != l.Shape || m.Device != l.Model() {
			continue
		}
		m.Part = 0 // of that run
		s.captures = append(s.captures, &taken{shape: s, m: m, values: profile.Normal(mask, args), nth: m.Nth,
			of: m.Nth, took: m.Took})
		s.kernel.captures++
	}
	if len(s.captures) > 0 {
		s.family.sizes = append(s.family.sizes, sizeOf(l.Shape))
	}
}

// start is called with each process of the run.
func (c *Collector) start(p *profile.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.Program != "" && !c.begins[p.Program] {
		if known, err := c.store.Profile(p.Program); err == nil {
			c.knows(known)
		}
		list, _ := c.store.List()
		for _, m := range list {
			if m.Program == p.Program {
				c.stored = append(c.stored, m)
			}
		}
		c.begins[p.Program] = true
	}
	c.times.Driver = cmp.Or(c.times.Driver, c.now().Sub(c.begun))
}

// launch captures the launch where that is due.
func (c *Collector) launch(_ context.Context, l *profile.Launch, h profile.Held) (again int) {
	x, again := c.begin(l)
	if x == nil {
		return again
	}
	got, err := h.Capture(x.order)
	return c.taken(l, x, got, err)
}

// begin decides whether to capture a launch; nil: not now.
func (c *Collector) begin(l *profile.Launch) (x *taken, again int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.shape(l)
	s.launch = l
	c.times.Launch = cmp.Or(c.times.Launch, c.now().Sub(c.begun))
	if err := c.unwanted(l, patience); err != nil {
		s.why = err.Error()
		return nil, 0
	}
	if c.Stands != nil && c.Stands(l) {
		return nil, 0
	}
	if l.SoFar != nil {
		s.seconds = l.SoFar.Seconds
	}
	s.asked, s.launches = c.running(), l.Count
	if s.first == 0 {
		s.first = s.asked
	}
	if l.LeaveAlone != "" {
		s.refuse(l.LeaveAlone)
		return nil, later(l)
	}
	k := s.kernel
	if len(s.captures) >= mostCaptures || s.tries >= mostTries || k.tries >= mostRefused || c.stopped {
		s.refuse(k.why)
		k.waits = false
		return nil, 0
	}
	part, want := c.due(s, k, l)
	k.waits = true
	if part == 0 {
		return nil, later(l)
	}
	left := c.limits.Run - c.bytes
	for x := range c.underWay { // other processes'
		if left -= x.room; x.shape == s || left <= 0 {
			return nil, later(l)
		}
	}
	kept, each := c.keptFrom(k)
	wait := c.left(part) - kept
	if part < allOfIt {
		wait = min(wait, time.Duration(onceOf*float64(c.left(1))))
	}
	if wait < leastStand || wait < 2*s.slow || kept > 0 && wait < each {
		if k.captures == 0 { // else another one of the kernel may stand for it
			s.refuse(c.nextRun())
		}
		return nil, later(l)
	}
	if left <= 0 {
		s.refuse(fmt.Sprintf("the captures of this run have %d MiB already, as many as they may "+
			"(--capture-limit, or half of what the store's disk has free)", c.bytes>>20))
		return nil, 0
	}
	if s.tries+len(s.captures) == 0 {
		s.family.sizes = append(s.family.sizes, sizeOf(l.Shape))
	}
	n, _ := setOf(l)
	x = &taken{shape: s, room: min(left, c.limits.Launch, max(l.Bytes, 1)), of: n,
		took: s.course(l).took, values: l.Values, nth: l.Count}
	dir := c.dir
	if c.Fast != nil {
		dir = cmp.Or(c.Fast(x.room), dir)
	}
	now := c.now()
	path := filepath.Join(dir, fmt.Sprintf("%d-%d-%d", l.Process.PID, len(c.order), now.UnixNano()))
	x.asked, x.order = now, profile.Order{Path: path, Limit: c.limits.Launch, Room: left, Stand: wait,
		Patience: c.allowance(), Want: want}
	c.underWay[x] = true
	return x, 0
}

// refuse notes why there is no capture, unless there is one.
func (s *shape) refuse(why string) {
	if len(s.captures) == 0 {
		s.why = why
	}
}

// later is when there were twice as many launches with these values.
func later(l *profile.Launch) (again int) {
	n, _ := setOf(l)
	return max(1, n)
}

// taken enters how a capture ended.
func (c *Collector) taken(l *profile.Launch, x *taken, got profile.Captured, err error) (again int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.underWay, x)
	s, k := x.shape, x.shape.kernel
	if err != nil {
		c.stood += min(max(0, c.now().Sub(x.asked)), x.order.Stand) // what was read until then
	}
	switch {
	case errors.Is(err, profile.ErrGone): // killed, or let go, in the midst of it
		os.Remove(x.order.Path)
		s.refuse("the process ended, or was let go, while it was captured")
		return 0
	case err != nil:
		s.tries++
		k.tries++
		k.why = c.reason(x, err)
		s.refuse(k.why)
		return later(l)
	}
	c.stood += got.Before + got.After
	if got.Why == profile.Unwanted {
		s.vain++
		c.stood += max(0, c.now().Sub(x.asked)-got.Before-got.After) // also the program's own work that was waited for
		return 1
	}
	// while the launch ran, or behind it: not again, it may wait for this very thread
	if got.Why != "" {
		k.tries++
		s.tries = mostTries
		s.refuse(got.Why)
		return 0
	}
	k.captures++
	c.made++
	c.bytes += got.Bytes
	x.m = &Manifest{Made: c.now(), Program: l.Process.Program, Driver: l.Process.Driver,
		Device: l.Device.Name, UUID: l.Device.UUID,
		Major: l.Device.Major, Minor: l.Device.Minor, Kernel: l.Kernel, Cubin: l.Cubin, Shape: l.Shape,
		Nth: x.nth, Prior: l.Prior, Stood: (got.Before + got.After).Seconds(), Took: got.Took.Seconds()}
	x.process, x.file = l.Process, make(chan error, 1)
	c.unwritten[x.order.Path] = x
	s.captures = append(s.captures, x)
	s.why = ""
	c.pack.Add(1)
	code, err := os.ReadFile(l.CubinPath) // now: it goes with the run
	before := c.last
	c.last = make(chan struct{})
	go c.keep(s, x, code, err, before, c.last)
	return later(l)
}

// reason is why the agent did not capture a launch. What would be no other the next time is not
// tried again.
func (c *Collector) reason(x *taken, err error) string {
	reason := err.Error()
	switch {
	case reason == profile.TooLarge:
		reason = fmt.Sprintf("%s: %d MiB (--capture-limit, or what memory and disk bear)", reason,
			c.limits.Launch>>20)
	case reason == profile.NoRoom:
		reason = fmt.Sprintf("%s: %d MiB of %d (--capture-limit)", reason, c.bytes>>20, c.limits.Run>>20)
	case reason == profile.TooSlow:
		x.shape.slow = x.order.Stand
		return c.nextRun()
	default:
		return reason
	}
	x.shape.tries = mostTries
	return reason
}

// keep packs a file into the store, while the program runs on; before is closed when those that it
// may have content in common with are there, and then done is.
func (c *Collector) keep(s *shape, x *taken, code []byte, err error, before, done chan struct{}) {
	defer c.pack.Done()
	defer close(done)
	if before != nil {
		<-before
	}
	err = cmp.Or(<-x.file, err)
	defer os.Remove(x.order.Path)
	var packed *Manifest
	if err == nil {
		var f *os.File
		if f, err = os.Open(x.order.Path); err == nil {
			packed, err = c.store.pack(f, code, *x.m, c.have)
			f.Close()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		x.m = packed
		return
	}
	s.captures = slices.DeleteFunc(s.captures, func(o *taken) bool { return o == x })
	s.refuse(fmt.Sprintf("can't keep the capture: %v", err))
}

// written enters what became of a capture's file.
func (c *Collector) written(_ *profile.Process, path string, _ int64, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x := c.unwritten[path]; x != nil && why != "" {
		x.file <- errors.New(why)
	} else if x != nil {
		x.file <- nil
	}
	delete(c.unwritten, path)
}

// end enters counts and times of a process.
func (c *Collector) end(p *profile.Process, sum profile.Summary) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for path, x := range c.unwritten {
		if x.process == p {
			x.file <- errors.New("the program ended before it was written")
			delete(c.unwritten, path)
		}
	}
	c.times.End = c.now().Sub(c.begun)
	if p.Trouble != "" {
		c.notes = append(c.notes, p.Trouble)
	}
	for _, seen := range sum.Kernels {
		s := c.shape(seen.Launch)
		u := useOf(seen)
		together := s.use.Together || u.Together // also of what became nodes
		switch {
		case s.use.Count > 0 && u.Count == 0: // here it became nodes of graphs alone
			s.use.Together = together
			continue
		case s.use.Count > 0: // another process launched it too
			u = s.use.join(u)
			u.differ(s.params, seen.Launch.Params)
		}
		if s.use.Count == 0 {
			s.params = seen.Launch.Params
		}
		s.use = u
		s.use.Together = together
		s.seconds = 0
		s.sets = s.sets.Join(seen.Sets)
		s.watched, s.beside = s.watched+seen.Watched, s.beside+seen.Beside
	}
	c.peak = max(c.peak, sum.Peak)
	c.calls = profile.AddCalls(c.calls, sum.Calls)
	for _, f := range sum.Follows {
		c.follows = profile.AddFollow(c.follows, f)
	}
	for _, u := range sum.Unseen {
		u.Program = p.Program
		c.unseen = addUnseen(c.unseen, u)
	}
	if sum.Graphs > 0 {
		c.notes = append(c.notes,
			fmt.Sprintf("%d launches of graphs: their kernels are not seen one by one", sum.Graphs))
	}
	if !sum.Whole {
		c.notes = append(c.notes,
			fmt.Sprintf("process %d ended abruptly: its launch counts may be too low", p.PID))
	}
	c.notes = append(c.notes, sum.Notes...)
}

// differ notes which bytes of arguments are others in another process' first launch.
func (u *Use) differ(a, b []profile.Param) {
	for i := range u.Params {
		if i >= len(a) || i >= len(b) {
			break
		}
		same, x, y := u.Params[i].Same, a[i].Value, b[i].Value
		for k := range same {
			if k >= len(x) || k >= len(y) || x[k] != y[k] {
				same[k] = 0
			}
		}
	}
}

// join adds up what two processes did with one configuration.
func (u Use) join(o Use) Use {
	u.Count += o.Count
	u.Varied += o.Varied
	u.Seconds += o.Seconds
	u.Sampled += o.Sampled
	u.Classes = profile.JoinClasses(u.Classes, o.Classes)
	u.Asked, u.passed = u.Asked || o.Asked, u.passed+o.passed
	u.Past = profile.ComesPast(u.passed, u.Count)
	u.Row = u.Row && o.Row
	for i := range u.Params {
		if i >= len(o.Params) {
			break
		}
		u.Params[i].Align = min(u.Params[i].Align, o.Params[i].Align)
		same := slices.Clone(u.Params[i].Same)
		for k := range same {
			if k < len(o.Params[i].Same) {
				same[k] &= o.Params[i].Same[k]
			}
		}
		u.Params[i].Same = same
	}
	return u
}
