package capture

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"gnvcc/profile"
)

// A Collector is the host of a run that is observed and captured: no session is ever held, and memory only read. It serves one run.
type Collector struct {
	store  *Store
	limits Limits
	wanted func(*profile.Launch) error // why a kernel is of no use; nil: all are
	log    func(string)
	dir    string // of the agent's files
	now    func() time.Time

	mu     sync.Mutex
	shapes map[string]*shape
	order  []*shape
	taken  int64 // bytes
	notes  []string
	room   chan struct{} // of packers
	pack   sync.WaitGroup
}

// A shape is a configuration of a kernel: grid, block and dynamic shared memory.
type shape struct {
	launch   *profile.Launch
	why      string // not captured so far, because
	captures []*Manifest
	values   [][]byte // the arguments of what was captured
	again    int
	tries    int
	next     *pending
	use      Use
}

type pending struct {
	path   string
	values []byte
	nth    int
}

const (
	mostSets  = 3  // captures of one configuration: an early one, and others with other values
	late      = 32 // the last of them is not taken before this launch
	mostTries = 6  // captures that were given up, after which a configuration is let be
)

// NewCollector makes a collector; dir is a folder for files that are on their way into the store.
func NewCollector(s *Store, l Limits, dir string, wanted func(*profile.Launch) error, log func(string)) *Collector {
	if log == nil {
		log = func(string) {}
	}
	return &Collector{store: s, limits: l, wanted: wanted, log: log, dir: dir, now: time.Now, shapes: map[string]*shape{}, room: make(chan struct{}, 2)}
}

var _ profile.Capturer = (*Collector)(nil)

func (c *Collector) shape(l *profile.Launch) *shape {
	key := fmt.Sprint(l.Cubin, l.Kernel, l.Grid, l.Block, l.Dynamic)
	s := c.shapes[key]
	if s == nil {
		s = &shape{launch: l}
		c.shapes[key] = s
		c.order = append(c.order, s)
	}
	return s
}

// arguments are a launch's, without what differs from process to process: addresses.
func arguments(l *profile.Launch) []byte {
	var out []byte
	for _, p := range l.Params {
		if p.Size != 8 {
			out = append(out, p.Value...)
		}
	}
	return out
}

// Start is profile's.
func (c *Collector) Start(*profile.Process) {}

// Launch is profile's: whether to capture this launch.
func (c *Collector) Launch(l *profile.Launch) profile.Verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.shape(l)
	s.launch = l
	if c.wanted != nil && l.Cubin != "" {
		if err := c.wanted(l); err != nil {
			s.why = err.Error()
			return profile.Verdict{}
		}
	}
	if l.NotElsewhere != "" {
		s.refuse(l.NotElsewhere)
		return s.later()
	}
	if len(s.captures) >= mostSets || s.tries >= mostTries {
		return profile.Verdict{}
	}
	if len(s.captures) == mostSets-1 && l.Count < late {
		return s.later()
	}
	values := arguments(l)
	if slices.ContainsFunc(s.values, func(v []byte) bool { return slices.Equal(v, values) }) {
		return s.later()
	}
	left := min(c.limits.Launch, c.limits.Run-c.taken)
	if left <= 0 {
		s.refuse(fmt.Sprintf("captures of this run have %d MiB already", c.taken>>20))
		return profile.Verdict{}
	}
	s.next = &pending{path: filepath.Join(c.dir, fmt.Sprintf("%d-%d-%d", l.Process.PID, len(c.order), c.now().UnixNano())), values: values, nth: l.Count}
	return profile.Verdict{Capture: s.next.path, Limit: left}
}

// refuse notes why there is no capture, unless there is one.
func (s *shape) refuse(why string) {
	if len(s.captures) == 0 {
		s.why = why
	}
}

// later asks again after 1, 2, 4, ... more launches.
func (s *shape) later() profile.Verdict {
	s.again = max(1, 2*s.again)
	return profile.Verdict{Again: s.again}
}

// Tune is profile's; a collector never asks for a session.
func (c *Collector) Tune(context.Context, *profile.Launch, profile.Session) profile.Verdict {
	return profile.Verdict{}
}

// LeftAlone is profile's: the launch could not be captured now.
func (c *Collector) LeftAlone(l *profile.Launch, reason string) profile.Verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.shape(l)
	s.tries++
	s.refuse(reason)
	return s.later()
}

// Captured is profile's: the agent has written the file.
func (c *Collector) Captured(l *profile.Launch, got profile.Captured) profile.Verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.shape(l)
	next := s.next
	if s.next = nil; next == nil {
		return profile.Verdict{}
	}
	if got.Why != "" { // while the launch ran, for a second at most: not again, it may wait for this very thread
		s.tries = mostTries
		s.refuse(got.Why)
		return profile.Verdict{}
	}
	c.taken += got.Bytes
	s.values = append(s.values, next.values)
	m := &Manifest{Made: c.now(), Program: l.Process.Program, Driver: l.Process.Driver, Device: l.Device.Name, UUID: l.Device.UUID,
		Major: l.Device.Major, Minor: l.Device.Minor, Kernel: l.Kernel, Cubin: l.Cubin, Grid: l.Grid, Block: l.Block, Dynamic: l.Dynamic,
		Nth: next.nth, Stood: (got.Before + got.After).Seconds()}
	s.captures = append(s.captures, m)
	s.why = ""
	c.pack.Add(1)
	code, err := os.ReadFile(l.CubinPath) // now: it goes with the run
	go c.keep(s, m, next.path, code, err)
	return s.later()
}

// keep packs a file into the store, while the program runs on.
func (c *Collector) keep(s *shape, m *Manifest, path string, code []byte, err error) {
	defer c.pack.Done()
	c.room <- struct{}{}
	defer func() { <-c.room }()
	defer os.Remove(path)
	var packed *Manifest
	if err == nil {
		var f *os.File
		if f, err = os.Open(path); err == nil {
			packed, err = c.store.Pack(f, code, *m)
			f.Close()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		*m = *packed
		return
	}
	s.captures = slices.DeleteFunc(s.captures, func(o *Manifest) bool { return o == m })
	s.refuse(fmt.Sprintf("the capture could not be kept: %v", err))
}

// End is profile's: counts and times of a process.
func (c *Collector) End(p *profile.Process, sum profile.Summary) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.Trouble != "" {
		c.notes = append(c.notes, p.Trouble)
	}
	for _, seen := range sum.Kernels {
		s := c.shape(seen.Launch)
		u := useOf(seen)
		if s.use.Count > 0 { // another process launched it too
			u = s.use.join(u)
		}
		s.use = u
	}
	if sum.Graphs > 0 {
		c.notes = append(c.notes, fmt.Sprintf("%d launches of graphs: their kernels are not seen one by one", sum.Graphs))
	}
	if !sum.Whole {
		c.notes = append(c.notes, fmt.Sprintf("process %d ended without a word: counts of its launches may be too low", p.PID))
	}
	c.notes = append(c.notes, sum.Notes...)
}

// join adds up what two processes did with one configuration.
func (u Use) join(o Use) Use {
	u.Count += o.Count
	u.Varied += o.Varied
	u.Seconds += o.Seconds
	u.Sampled += o.Sampled
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

// A Seen is a configuration of the run: what it took, and its captures or why there are none.
type Seen struct {
	Launch   *profile.Launch // the last one that was asked about
	Use      Use
	Captures []*Manifest
	Why      string
}

// Profile gives it as the agent's end would have told it.
func (s Seen) Profile() profile.Seen {
	l := *s.Launch
	l.Params = slices.Clone(l.Params)
	all := s.Use
	all.Sets = 1
	all.Apply(&l)
	return profile.Seen{Launch: &l, Varied: s.Use.Varied, Seconds: s.Use.Seconds, Sampled: s.Use.Sampled}
}

// Finish waits until everything is in the store, and gives what was seen, the heaviest first.
func (c *Collector) Finish() ([]Seen, []string) {
	c.pack.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Seen
	for _, s := range c.order {
		l := s.launch
		s.use.Sets = len(s.captures)
		for _, m := range s.captures {
			m.Use = s.use
			if err := c.store.Keep(m); err != nil {
				c.notes = append(c.notes, err.Error())
			}
		}
		out = append(out, Seen{l, s.use, slices.Clone(s.captures), s.why})
	}
	slices.SortStableFunc(out, func(a, b Seen) int {
		switch {
		case a.Use.Seconds > b.Use.Seconds:
			return -1
		case a.Use.Seconds < b.Use.Seconds:
			return 1
		}
		return b.Use.Count - a.Use.Count
	})
	return out, c.notes
}
